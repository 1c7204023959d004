"""`penstock run`: runs a program whose environments take their defaults from the command line."""

from __future__ import annotations

import os
import runpy
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.engine import watched_by
from penstock.cli.failure import Failure, failure_of
from penstock.cli.quiet import new_log, rest_to
from penstock.cli.watcher import JsonWatcher, TerminalWatcher, Watcher, tell
from penstock.config import MASTER, RESUME
from penstock.errors import ConfigError


def run(
    job: Annotated[Path, typer.Argument(metavar="JOB.PY", help="The program to run.", exists=True, show_default=False)],
    args: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="The program's own arguments; its options go behind '--'."),
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="PATH", help="Continue this checkpoint.")] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="Spark's master, such as local[4].")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("-D", metavar="KEY=VALUE", help="Set an option; 'penstock options' lists them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Tell of the job in JSON lines on stderr.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show Spark's own output, and errors with their stacks.")
    ] = False,
) -> None:
    """Run a Python program.

    The options given here are the defaults of every environment that the program makes; what it sets itself wins.
    Stdout belongs to the program; Penstock writes to stderr.
    """
    watcher = JsonWatcher() if as_json else TerminalWatcher()
    log = None if verbose else new_log()
    try:
        with watched_by(watcher, log, given(settings or [], resume, master)), as_main_program(job, args or []):
            runpy.run_path(str(job), run_name="__main__")
    except KeyboardInterrupt:
        _say(Failure("STOPPED", "The job was stopped from the keyboard."), watcher, job, log, as_json)
        rest_to(log)
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise
    except Exception as error:
        if verbose:
            traceback.print_exc()
        _say(failure_of(error), watcher, job, log, as_json)
        raise typer.Exit(1) from None


def given(settings: list[str], resume: str | None, master: str | None) -> dict[str, Any]:
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
    return found


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


def _say(failure: Failure, watcher: Watcher, job: Path, log: Path | None, as_json: bool) -> None:
    """Tells of a failure, where Spark's output is, and how to go on."""
    started = [j for j in watcher.jobs if j.batches]
    checkpoint = started[-1].checkpoint if started else None
    kept = str(log) if log is not None and log.exists() else None
    if as_json:
        tell(event="failed", code=failure.code, message=failure.text, log=kept, checkpoint=checkpoint)
        return
    message = failure.stack or f"penstock: [{failure.code}] {failure.text}"
    print(message, file=sys.stderr)
    if kept:
        print(f"penstock: Spark's output is in {kept}; --verbose shows it here.", file=sys.stderr)
    if checkpoint:
        print(
            f"penstock: go on with: penstock run {shlex.quote(str(job))} --resume {shlex.quote(checkpoint)}",
            file=sys.stderr,
        )
