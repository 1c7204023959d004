"""`penstock replay`: writes again what a job wrote since a savepoint, so that its sinks hold what they should."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.failure import told
from penstock.cli.fork import Drain, Dropped, SavepointPath, Settings, ran
from penstock.connectors.file.system import absolute
from penstock.savepoints import open_savepoint
from penstock.whatif.plan import ForkPlan


def replay(
    savepoint: SavepointPath,
    job: Annotated[Path, typer.Argument(metavar="JOB.PY", help="The job, repaired.", exists=True)],
    append: Annotated[
        bool,
        typer.Option("--append", help="Also write to sinks that only append: what they hold must be taken out before."),
    ] = False,
    drain: Drain = False,
    allow_dropped_state: Dropped = False,
    settings: Settings = None,
) -> None:
    """Run a job from a savepoint up to now with its real sinks: what was written wrong since then is written over.

    Sinks that write a value under a key (Redis, and those that say so) end as if nothing had gone wrong.
    """
    with told(), tempfile.TemporaryDirectory(prefix="penstock-replay-") as folder:
        open_savepoint(savepoint)
        plan = ForkPlan(
            absolute(savepoint), folder, redirect=False, drain=drain, append=append, allow_dropped=allow_dropped_state
        )
        plan.write(Path(folder, "plan.json"))
        ran(job, "replay", Path(folder), settings or [])
        print(f"penstock: {job} has written again what came since {savepoint}", file=sys.stderr)
