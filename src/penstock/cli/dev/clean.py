"""`penstock doctor --clean`: lists and removes what earlier jobs left behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from penstock.cli.render.output_console import output_console
from penstock.config import Configuration
from penstock.jobs.leftovers.find import LeftoverSearch
from penstock.jobs.leftovers.leftover import Leftover, remove_leftover
from penstock.units import format_count, format_duration, format_size


def clean(configuration: Configuration, *, yes: bool, resumable: bool, as_json: bool) -> None:
    """Lists leftovers and removes them after a confirmation. Checkpoints of jobs that can be resumed only with `resumable`."""
    found = LeftoverSearch(configuration).find()
    chosen = [leftover for leftover in found if resumable or not leftover.resumable]
    if not as_json:
        _print_list(found, resumable)
        yes = bool(chosen) and (yes or (sys.stdin.isatty() and typer.confirm("Remove them?")))
    removed = [leftover for leftover in chosen if remove_leftover(leftover)] if yes else []
    freed = sum(leftover.size for leftover in removed)
    if as_json:
        paths = {leftover.path for leftover in removed}
        rows = [msgspec.to_builtins(leftover) | {"removed": leftover.path in paths} for leftover in found]
        print(json.dumps({"leftovers": rows, "bytes": sum(x.size for x in found), "freed": freed}))
    elif yes:
        print(f"Removed {format_count(len(removed), 'leftover', 'leftovers')}, {format_size(freed)}.")
    elif chosen:
        print("Nothing was removed. Remove them with: penstock doctor --clean --yes")
    if yes and len(removed) < len(chosen):
        kept = next(leftover for leftover in chosen if leftover not in removed)
        print(f"{kept.path} cannot be removed. Check who owns its files.", file=sys.stderr)
        raise typer.Exit(1)


def _print_list(found: Sequence[Leftover], resumable: bool) -> None:
    if not found:
        print("There are no leftovers.")
        return
    table = Table.grid(padding=(0, 2))
    for column in ("kind", "size", "age"):
        table.add_column(column, no_wrap=True, justify="left" if column == "kind" else "right")
    table.add_column("path", overflow="fold")
    for leftover in sorted(found, key=lambda x: (x.kind, -x.size)):
        text = Text(f"{leftover.path}\n").append(leftover.reason, style="dim")
        if leftover.resumable and not resumable:
            text.append(" (kept unless --resumable is set)", style="yellow")
        table.add_row(leftover.kind, format_size(leftover.size), format_duration(leftover.age), text)
    console = output_console()
    console.print(table)
    total = sum(leftover.size for leftover in found)
    console.print(f"{format_count(len(found), 'leftover', 'leftovers')}, {format_size(total)}")
