"""`penstock doctor`: checks whether this machine can run jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from penstock.cli.dev.clean import clean
from penstock.cli.dev.doctor_checks import CHECKS, CheckResult
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.config import Configuration

_STYLES = {"ok": "green", "warn": "yellow", "bad": "bold red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    clean_up: Annotated[
        bool,
        typer.Option("--clean", help="List files that earlier jobs left behind, and remove them after a question."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --clean: remove them without a question.")] = False,
    resumable: Annotated[
        bool, typer.Option("--resumable", help="With --clean: also old checkpoints of jobs that could be resumed.")
    ] = False,
) -> None:
    """Check Python, Java, Spark, jars, disks, ports and memory. The exit code is 1 if jobs cannot run."""
    with error_exit():
        configuration = Configuration()
        if clean_up:
            clean(configuration, yes=yes, resumable=resumable, as_json=as_json)
            return
    results = [check(configuration) for check in CHECKS]
    ok = all(r.verdict != "bad" for r in results)
    if as_json:
        print(json.dumps({"ok": ok, "checks": [asdict(r) for r in results]}))
    else:
        output_console().print(results_table(results))
    if not ok:
        raise typer.Exit(1)


def results_table(results: Sequence[CheckResult]) -> Table:
    """A table of the results, each with its advice below."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for result in results:
        text = Text(result.found)
        if result.advice:
            text.append(f"\n{result.advice}", style=_STYLES[result.verdict])
        table.add_row(Text(result.verdict, style=_STYLES[result.verdict]), result.name, text)
    return table
