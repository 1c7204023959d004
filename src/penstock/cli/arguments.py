"""The arguments of commands that run or read a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProgramFile = Annotated[Path, typer.Argument(metavar="JOB.PY", help="The program.", exists=True, show_default=False)]
ProgramArgs = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGS", help="The program's own arguments; its options go behind '--'."),
]
Settings = Annotated[
    list[str] | None, typer.Option("-D", metavar="KEY=VALUE", help="Set an option; 'penstock options' lists them.")
]
Master = Annotated[str | None, typer.Option(metavar="URL", help="Spark's master, such as local[4].")]
AsPyFlink = Annotated[
    bool,
    typer.Option("--pyflink", help="The program was written for PyFlink: its imports give Penstock's classes."),
]
