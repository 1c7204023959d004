"""`penstock run`: runs a program whose environments take their defaults from the command line."""

from __future__ import annotations

import os
import runpy
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.defaults import defaults
from penstock.cli.detached import run_detached
from penstock.cli.failure import Failure, failure_of
from penstock.cli.interrupt import interrupts
from penstock.cli.program_arguments import AsPyFlink, Master, ProgramArgs, ProgramFile, Settings
from penstock.cli.quiet import rest_to
from penstock.cli.watcher import JsonWatcher, TerminalWatcher, Watcher, logged_as_json, tell
from penstock.config import (
    ALLOW_DROPPED,
    CONSOLE,
    FROM_SAVEPOINT,
    JOB_NAME,
    MASTER,
    PRINT_STYLE,
    RESUME,
    Configuration,
)
from penstock.connectors.file.system import absolute
from penstock.errors import ConfigError, PenstockError
from penstock.jobs.listener import listening
from penstock.jobs.log import use_log
from penstock.pyflink import pyflink_modules


def run(
    job: ProgramFile,
    args: ProgramArgs = None,
    resume: Annotated[str | None, typer.Option(metavar="PATH", help="Continue this checkpoint.")] = None,
    from_savepoint: Annotated[
        str | None,
        typer.Option(
            "--from-savepoint",
            metavar="PATH",
            help="Start with the state of this savepoint, or of another job's checkpoint.",
        ),
    ] = None,
    allow_dropped_state: Annotated[
        bool, typer.Option("--allow-dropped-state", help="Drop saved state that no operator of the program takes.")
    ] = False,
    master: Master = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="The job's name, if it gives itself none.")] = None,
    settings: Settings = None,
    pyflink: AsPyFlink = False,
    detached: Annotated[
        bool, typer.Option("--detached", "-d", help="Give the job's id once it runs, and let it go on by itself.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Tell of the job in JSON lines on stderr.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show Spark's own output, and errors with their stacks.")
    ] = False,
    log: Annotated[Path | None, typer.Option(hidden=True, help="The log of a detached process.")] = None,
) -> None:
    """Run a Python program.

    The options given here are the defaults of every environment that the program makes; what it sets itself wins.
    Stdout belongs to the program; Penstock writes to stderr.

    Exit codes: 0 finished (also when 'penstock stop' asked for it), 1 failed or cancelled, 2 the command is wrong,
    130 interrupted by Ctrl-C: the first lets the running batch finish, the second cancels it.
    """
    watcher = JsonWatcher() if as_json else TerminalWatcher()
    if log is not None:
        use_log(log)
    command = Command(job, watcher, as_json, verbose)
    try:
        options = given(settings or [], resume, master, name, verbose) | restored_from(
            from_savepoint, allow_dropped_state
        )
        if detached:
            Configuration(options)
            run_detached(job, args or [], options, as_json, pyflink)
            return
        log_lines = logged_as_json() if as_json else nullcontext()
        with as_pyflink(options) if pyflink else nullcontext(), defaults(options), listening(watcher), log_lines:
            command.run(args or [])
    except PenstockError as error:
        command.tell_failure(error)
        raise typer.Exit(1) from None


class Command:
    """One `penstock run`: the program, and what is told of its end."""

    def __init__(self, job: Path, watcher: Watcher, as_json: bool, verbose: bool) -> None:
        self._job = job
        self._watcher = watcher
        self._as_json = as_json
        self._verbose = verbose

    def run(self, args: list[str]) -> None:
        """Runs the program as the main one; its error or interruption becomes our exit code."""
        with interrupts(self._watcher) as heard:
            try:
                with as_main_program(self._job, args):
                    runpy.run_path(str(self._job), run_name="__main__")
            except KeyboardInterrupt:
                self._interrupted()
                raise typer.Exit(heard.exit_code) from None
            except BrokenPipeError:
                raise
            except Exception as error:
                self.tell_failure(error)
                raise typer.Exit(1) from None
            if heard.signal is not None:  # the program made light of it
                raise typer.Exit(heard.exit_code)
            if self._watcher.last() is None:
                self._no_job()

    def _no_job(self) -> None:
        text = f"{self._job} ended and ran no job: nothing runs before env.execute() is called."
        if self._as_json:
            tell(event="no_job", message=text)
        else:
            print(f"penstock: {text}", file=sys.stderr)

    def _interrupted(self) -> None:
        last = self._watcher.last()
        status, error = (None, None) if last is None else (last[0].status, last[0].error)
        if status == "failed" and error is not None:
            self._say(Failure(error.code, error.text))
        elif status == "finished":
            self._say(Failure("STOPPED", "The job was stopped after its running batch."))
        else:
            self._say(Failure("CANCELLED", "The program was interrupted."))
        if last is not None:
            rest_to(last[0].log)

    def tell_failure(self, error: Exception) -> None:
        if self._verbose:
            traceback.print_exc()
        self._say(failure_of(error))

    def _say(self, failure: Failure) -> None:
        """Tells of a failure, where Spark's output is, and how to go on."""
        last = self._watcher.last()
        log = last[0].log if last is not None and not self._verbose else ""
        checkpoint = (last[0].checkpoint or None) if last is not None and last[1].batches else None
        if self._as_json:
            tell(event="failed", code=failure.code, message=failure.text, log=log or None, checkpoint=checkpoint)
            return
        if isinstance(self._watcher, TerminalWatcher):
            self._watcher.still()
        print(failure.stack or f"penstock: [{failure.code}] {failure.text}", file=sys.stderr)
        if log:
            print(f"penstock: Spark's output is in {log}; --verbose shows it here.", file=sys.stderr)
        if checkpoint:
            print(
                f"penstock: go on with: penstock run {shlex.quote(str(self._job))} --resume {shlex.quote(checkpoint)}",
                file=sys.stderr,
            )


def given(
    settings: list[str], resume: str | None, master: str | None, name: str | None = None, verbose: bool = False
) -> dict[str, Any]:
    """The options of a command line.

    >>> given(["execution.heartbeat=100"], None, "local[2]")
    {'execution.heartbeat': '100', 'spark.master': 'local[2]'}
    """
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(
                "OPTION_FORM", f"-D got '{setting}'; it takes key=value. 'penstock options' lists the keys."
            )
        found[key.strip()] = value
    if resume is not None:
        found[RESUME.key] = os.path.abspath(resume) if os.path.exists(resume) else resume
    if master is not None:
        found[MASTER.key] = master
    if name is not None:
        found[JOB_NAME.key] = name
    if verbose:
        found[CONSOLE.key] = True
    return found


def restored_from(savepoint: str | None, allow_dropped_state: bool) -> dict[str, Any]:
    """The options of a job that starts from a savepoint.

    >>> restored_from("s3://bucket/sp-1", True)
    {'execution.state-recovery.path': 's3://bucket/sp-1', 'execution.state-recovery.ignore-unclaimed-state': True}
    """
    found: dict[str, Any] = {} if savepoint is None else {FROM_SAVEPOINT.key: absolute(savepoint)}
    return found | ({ALLOW_DROPPED.key: True} if allow_dropped_state else {})


@contextmanager
def as_pyflink(options: dict[str, Any]) -> Iterator[None]:
    """Inside, PyFlink's imports give Penstock's classes; the options get what PyFlink does and Penstock does not."""
    options.setdefault(PRINT_STYLE.key, "flink")
    with pyflink_modules():
        yield


@contextmanager
def as_main_program(job: Path, args: list[str]) -> Iterator[None]:
    """Arguments and import path as `python job.py` sets them."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(job), *args]
    sys.path.insert(0, str((job if job.is_dir() else job.parent).resolve()))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path
