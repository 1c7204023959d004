"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProgramFile = Annotated[Path, typer.Argument(metavar="JOB.PY", help="The program.", exists=True, show_default=False)]
ProgramArgs = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGS", help="Arguments of the program; its options come after '--'."),
]
Settings = Annotated[
    list[str] | None, typer.Option("-D", metavar="KEY=VALUE", help="Set an option; 'penstock options' lists them.")
]
FromSavepoint = Annotated[
    str | None,
    typer.Option(
        "--from-savepoint",
        "--from",
        metavar="PATH",
        help="Start with the state of this savepoint, or of the checkpoint of another job.",
    ),
]
AllowDropped = Annotated[
    bool, typer.Option("--allow-dropped-state", help="Drop saved state that no operator of the job uses.")
]
Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild", help="Compute state of a changed query again that cannot be kept: read its tables from the start."
    ),
]
Master = Annotated[str | None, typer.Option(metavar="URL", help="The Spark master, such as local[4].")]
AsPyFlink = Annotated[
    bool,
    typer.Option("--pyflink", help="The program is written for PyFlink: its imports resolve to Penstock's classes."),
]

Job = Annotated[str, typer.Argument(metavar="JOB", help="The id of the job, the beginning of the id, or the name.")]
SavepointFolder = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FOLDER",
        help="The savepoint becomes a new folder in this one. Default: the savepoint folder of the job.",
    ),
]
