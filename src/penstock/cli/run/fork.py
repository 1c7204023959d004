"""`penstock fork`: runs versions of a job from one savepoint over the same input and compares their outputs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.cli.run.program_arguments import program_arguments
from penstock.cli.run.settings import parse_settings
from penstock.connectors.file.system.file_system import absolute_path
from penstock.whatif.comparison import Difference
from penstock.whatif.fork import Comparison, fork_job
from penstock.whatif.plan import ForkPlan

SavepointPath = Annotated[str, typer.Argument(metavar="SAVEPOINT", help="The path of a savepoint.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="Set an option of the runs; 'penstock options' lists them."),
]
Dropped = Annotated[
    bool,
    typer.Option(
        "--allow-dropped-state", help="Drop state of the savepoint if a version does not have the operator for it."
    ),
]
Drain = Annotated[
    bool, typer.Option("--drain", help="Fire all timers and windows at the end, as if the input had ended.")
]


def fork(
    context: typer.Context,
    savepoint: SavepointPath,
    jobs: Annotated[list[Path], typer.Argument(metavar="A.PY B.PY ...", help="Versions of the job.", exists=True)],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder for outputs and results; it must be empty or not exist.")
    ] = Path("fork"),
    until: Annotated[
        str | None,
        typer.Option(metavar="SAVEPOINT", help="Read up to the positions of a later savepoint. Default: up to now."),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Read at most N records per source, if the source can count them."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="The field that identifies a row: its name, or its index in a list."),
    ] = None,
    drain: Drain = False,
    allow_dropped_state: Dropped = False,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Run versions of a job from one savepoint over the same input, and compare what they write.

    All sinks write to files in the folder instead. Functions that write by themselves still do so. Arguments after '--' are passed
    to all versions. After a failure the folder is removed, so that the command can be repeated.
    """
    with error_exit():
        plan = ForkPlan(
            absolute_path(savepoint),
            absolute_path(str(out)),
            drain=drain,
            records=records,
            allow_dropped=allow_dropped_state,
            until="" if until is None else absolute_path(until),
        )
        comparison = fork_job(
            plan,
            jobs,
            args=program_arguments(context) or [],
            key=key,
            options=parse_settings(settings or []),
            output=sys.stderr,
            on_start=lambda job: print(f"penstock: running {job}", file=sys.stderr),
        )
    if as_json:
        print(msgspec.json.encode(comparison.as_dict()).decode())
    else:
        _print_comparison(comparison, plan.folder)


def _print_comparison(comparison: Comparison, folder: str) -> None:
    console = output_console()
    for uid, kind in dict.fromkeys((s.uid, s.kind) for run in comparison.runs.values() for s in run.redirected):
        console.print(Text(f"sink '{uid}' ({kind}) was redirected to files", style="dim"), soft_wrap=True)
    console.print(_differences_table(comparison.differences, comparison.first))
    for d in comparison.differences:
        for name, rows in ((comparison.first, d.examples_of_first[:2]), (d.version, d.examples_here[:2])):
            for row in rows:
                console.print(Text(f"{d.sink}: only {name}: {row}", style="dim"), soft_wrap=True)
    console.print(Text(f"Details: {folder}/comparison.json, comparison.svg", style="dim"), soft_wrap=True)


def _differences_table(differences: list[Difference], first: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("sink", "version"):
        table.add_column(heading, overflow="fold")
    keyed = any(d.keys_differ is not None for d in differences)
    for heading in ("rows", "same", f"only {first}", "only here", *(["keys differ"] if keyed else [])):
        table.add_column(heading, justify="right")
    for d in differences:
        keys = [f"{d.keys_differ:,}" if d.keys_differ is not None else ""] if keyed else []
        counts = (f"{d.rows:,}", f"{d.same:,}", f"{d.only_in_first:,}", f"{d.only_here:,}", *keys)
        table.add_row(d.sink, d.version, *counts, style="green" if d.equal else "yellow")
    return table
