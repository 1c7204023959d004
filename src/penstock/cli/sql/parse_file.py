"""Parses a script and prints one JSON line per statement."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from penstock.cli.sql.script_file import read_script


def print_parsed(file: Path) -> None:
    """Prints {"kind": ...} or {"error": {"code", "line", "column", "message"}} for each statement, in the order of the file."""
    from penstock.table.dialect import parse_script

    for found in parse_script(read_script(file)):
        if found.error is not None:
            error = found.error
            report = {"code": error.code, "line": error.line, "column": error.column, "message": error.text}
            typer.echo(json.dumps({"error": report}, ensure_ascii=False))
        elif found.statement is not None:
            typer.echo(json.dumps({"kind": found.statement.statement_kind()}))
