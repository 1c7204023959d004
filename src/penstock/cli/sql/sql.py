"""`penstock sql`: parses SQL scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.render.error_exit import error_exit
from penstock.cli.sql.parse_file import print_parsed
from penstock.errors import ConfigError

ScriptFile = Annotated[
    Path | None,
    typer.Option(
        "--parse",
        metavar="FILE",
        help="Parse a script without running it, and print one JSON object per statement: its kind, or the error.",
    ),
]


def sql(parse: ScriptFile = None) -> None:
    """Check a SQL script. An error in one statement does not stop the next one."""
    with error_exit():
        if parse is None:
            raise ConfigError("SQL_NO_SCRIPT", "penstock sql got no script. Pass one with --parse FILE.")
        print_parsed(parse)
