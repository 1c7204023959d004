"""`penstock doctor`: whether this machine can run jobs, and what to do if not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.checks import CHECKS, Finding
from penstock.cli.failure import told
from penstock.config import Configuration

_STYLES = {"ok": "green", "warn": "yellow", "bad": "bold red"}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False) -> None:
    """Check Python, Java, Spark, jars, disks, ports and memory, and say what to do. Exit code 1 if something is bad."""
    with told():
        configuration = Configuration()
    findings = [check(configuration) for check in CHECKS]
    ok = all(f.verdict != "bad" for f in findings)
    if as_json:
        print(json.dumps({"ok": ok, "checks": [asdict(f) for f in findings]}))
    else:
        Console(highlight=False).print(report(findings))
    if not ok:
        raise typer.Exit(1)


def report(findings: Sequence[Finding]) -> Table:
    """The findings, each with its advice below."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.found)
        if finding.advice:
            text.append(f"\n{finding.advice}", style=_STYLES[finding.verdict])
        table.add_row(Text(finding.verdict, style=_STYLES[finding.verdict]), finding.name, text)
    return table
