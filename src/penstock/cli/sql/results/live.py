"""Shows a running query on the terminal, updated in place."""

from __future__ import annotations

import time
from threading import Lock

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from penstock.cli.sql import messages
from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.results.cells import closing_rows
from penstock.cli.sql.results.views import View
from penstock.table.environment.answer import Answer

_FOOTER = 2  # lines below the picture
_REFRESHES = 4  # per second


class LiveResult:
    """Draws a view several times a second until the query ends or Ctrl-C ends it. The last picture stays."""

    def __init__(self, view: View, console: Console, options: ClientOptions) -> None:
        self._view = view
        self._console = console
        self._options = options
        self._lock = Lock()  # rows are added in the main thread and drawn in another one
        self._began = time.monotonic()

    def show(self, answer: Answer) -> None:
        """Shows all rows of an answer. Raises KeyboardInterrupt after Ctrl-C, when the job has ended."""
        try:
            with (
                Live(
                    console=self._console,
                    get_renderable=self._running,
                    transient=True,
                    refresh_per_second=_REFRESHES,
                    redirect_stdout=False,
                    redirect_stderr=False,
                ),
                closing_rows(answer) as rows,
            ):
                for row in rows:
                    with self._lock:
                        self._view.add(row)
        finally:
            self._console.print(self._picture(), no_wrap=True, crop=True)
            seconds = time.monotonic() - self._began if self._options.print_time else None
            self._console.print(messages.rows_received(self._view.changes, seconds))

    def _running(self) -> RenderableType:
        seconds = time.monotonic() - self._began
        footer = f"{self._view.changes:,} changes in {seconds:.0f} s; Ctrl-C ends the query"
        return Group(self._picture(), Text(footer, style="dim", no_wrap=True))

    def _picture(self) -> RenderableType:
        width, height = self._console.width, max(self._console.height - _FOOTER - 1, 5)
        with self._lock:
            lines = self._view.lines(width, height)
            hidden = self._view.hidden(height)
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*([Text(hidden, style="dim")] if hidden else []), *lines)
