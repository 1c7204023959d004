"""`penstock replay`: runs a repaired job from a savepoint and overwrites what the job wrote since then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.render.error_exit import error_exit
from penstock.cli.run.fork import Drain, Dropped, SavepointPath, Settings
from penstock.cli.run.program_arguments import program_arguments
from penstock.cli.run.settings import parse_settings
from penstock.connectors.file.system.file_system import absolute_path
from penstock.whatif.fork import replay_job


def replay(
    context: typer.Context,
    savepoint: SavepointPath,
    job: Annotated[Path, typer.Argument(metavar="JOB.PY", help="The repaired job.", exists=True)],
    append: Annotated[
        bool,
        typer.Option(
            "--append", help="Also write to sinks that only append; first remove what they contain since the savepoint."
        ),
    ] = False,
    drain: Drain = False,
    allow_dropped_state: Dropped = False,
    settings: Settings = None,
) -> None:
    """Run a job from a savepoint up to now with its real sinks, which overwrites wrong output since the savepoint.

    Sinks that write a value under a key (Redis, and sinks with `upserts = True`) end as if the error had not happened.
    Arguments after '--' are passed to the program.
    """
    with error_exit():
        replay_job(
            absolute_path(savepoint),
            job,
            args=program_arguments(context) or [],
            append=append,
            drain=drain,
            allow_dropped=allow_dropped_state,
            options=parse_settings(settings or []),
            output=sys.stderr,
        )
    print(f"penstock: {job} has rewritten its output since {savepoint}", file=sys.stderr)
