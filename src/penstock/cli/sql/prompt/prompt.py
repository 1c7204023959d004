"""The prompt: reads statements, executes them, and shows what they answer."""

from __future__ import annotations

import signal
import threading
import traceback
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.formatted_text import HTML
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output as TerminalOutput

import penstock
from penstock.cli.render.error_exit import describe_error
from penstock.cli.run.settings import default_options
from penstock.cli.sql import messages
from penstock.cli.sql.client import SqlClient
from penstock.cli.sql.detached_jobs import DetachedJobs
from penstock.cli.sql.prompt.complete_text import is_complete
from penstock.cli.sql.prompt.completion import SqlCompleter
from penstock.cli.sql.prompt.highlight import FlinkSqlLexer
from penstock.cli.sql.prompt.screen import Screen
from penstock.cli.sql.record import SessionRecord
from penstock.cli.sql.script_file import read_script, sql_folder
from penstock.cli.sql.session import new_session
from penstock.cli.sql.warning_lines import short_warnings
from penstock.folders import create_private
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.run.listener import Listener, add_listener
from penstock.table.dialect import parse_script

PROMPT = "penstock sql> "
_CONTINUATION = "> "


def run_prompt(init: list[Path], options: dict[str, Any], session_options: dict[str, str], verbose: bool) -> None:
    """Runs the client until QUIT or Ctrl-D."""
    record = SessionRecord(session_options)
    with default_options(options), add_listener(_Interruptible()), short_warnings():
        screen = Screen()
        session = new_session(session_options)
        client = SqlClient(session, screen, DetachedJobs(record, options), record)
        for file in init:
            client.run_script(read_script(file))
        screen.info(f"penstock {penstock.__version__}: HELP; lists the commands, QUIT; ends the client.")
        Prompt(client, screen, history_file(), verbose=verbose).run()


def history_file() -> History:
    """The history of statements, in the state folder. Without a writable folder it ends with the client."""
    try:
        return FileHistory(str(create_private(sql_folder()) / "history"))
    except OSError:
        return InMemoryHistory()


class Prompt:
    """The loop of the prompt."""

    def __init__(
        self,
        client: SqlClient,
        screen: Screen,
        history: History | None = None,
        *,
        verbose: bool = False,
        input: Input | None = None,
        output: TerminalOutput | None = None,
    ) -> None:
        self._client = client
        self._screen = screen
        self._verbose = verbose
        self._reader: PromptSession[str] = PromptSession(
            history=history or InMemoryHistory(),
            multiline=True,
            key_bindings=key_bindings(),
            lexer=PygmentsLexer(FlinkSqlLexer),
            completer=ThreadedCompleter(SqlCompleter(client.session)),
            complete_while_typing=True,
            auto_suggest=AutoSuggestFromHistory(),
            prompt_continuation=lambda width, line, wrapped: _CONTINUATION.rjust(width),
            bottom_toolbar=self._toolbar,
            input=input,
            output=output,
        )

    def run(self) -> None:
        """Reads and executes statements until QUIT or Ctrl-D."""
        while True:
            try:
                text = self._reader.prompt(PROMPT)
            except KeyboardInterrupt:
                continue  # drops the line
            except EOFError:
                return
            if not self.execute(text):
                return

    def execute(self, text: str) -> bool:
        """Executes statements. The first error ends them, but not the client. Returns False after QUIT."""
        try:
            return all(self._client.execute(found, text) for found in parse_script(text))
        except KeyboardInterrupt:
            self._screen.info(messages.CANCELLED)
        except Exception as error:
            report = describe_error(error)
            if self._verbose or self._client.options.verbose:
                self._screen.text("".join(traceback.format_exception(error)).rstrip())
            self._screen.error(f"[{report.code}] {report.message}")
        return True

    def _toolbar(self) -> HTML:
        session, options = self._client.session, self._client.options
        mode = "streaming" if session.streaming else "batch"
        place = f"{session.catalogs.current_catalog}.{session.catalogs.current_database}"
        return HTML(" {} · {} · results: {}").format(place, mode, options.result_mode)


def key_bindings() -> KeyBindings:
    """Enter executes complete statements and begins a new line otherwise. Alt-Enter always begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # takes the chosen word
        elif is_complete(buffer.text) and not buffer.document.text_after_cursor.strip():
            buffer.validate_and_handle()
        else:
            buffer.newline()

    @keys.add("escape", "enter")
    def _newline(event: KeyPressEvent) -> None:
        event.current_buffer.newline()

    return keys


class _Interruptible(Listener):
    """Ctrl-C ends the running query. A new Spark session replaces the handler, so it is installed again."""

    def on_created(self, job: JobEntry) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
