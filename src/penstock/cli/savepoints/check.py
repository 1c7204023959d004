"""`penstock savepoints check`: whether a program can start from a savepoint, state by state."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.explain import jobs_of
from penstock.cli.failure import told
from penstock.cli.program_arguments import AsPyFlink, ProgramArgs, ProgramFile, Settings
from penstock.config import Configuration
from penstock.engine.program import Program, build
from penstock.errors import PenstockError
from penstock.plan.graph import JobGraph
from penstock.savepoints import Savepoint, open_savepoint
from penstock.savepoints.check import DROPPED, KEY_ROW, UNKNOWN, Check, StateCheck, check
from penstock.savepoints.checkpoint_folder import is_checkpoint
from penstock.savepoints.evolution import AFTER_MIGRATION, AS_IS, INCOMPATIBLE
from penstock.savepoints.values import Tried, try_keys, try_values

_STYLES = {AS_IS: "green", AFTER_MIGRATION: "cyan", INCOMPATIBLE: "red", DROPPED: "red", UNKNOWN: "yellow"}
_WIDE = 400  # columns where there is no terminal: lines are not folded


@dataclass(slots=True)
class Checked:
    """One job of the program beside the savepoint."""

    job: str
    check: Check
    tried: dict[tuple[str, str], Tried]
    shared: int  # operators that both have

    @property
    def fits(self) -> bool:
        return self.check.fits and not any(t.failed for t in self.tried.values())


def savepoint_check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A savepoint, or the checkpoint of a job that ended.")],
    job: ProgramFile,
    args: ProgramArgs = None,
    values: Annotated[
        bool, typer.Option("--values", help="Read the savepoint and try every value and key that would be rewritten.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    pyflink: AsPyFlink = False,
    settings: Settings = None,
) -> None:
    """Say what becomes of each state of a savepoint in a program that may have changed.

    The program is run up to its jobs, none of which is started; its functions are opened and closed once, to hear which
    states they ask for.

    Exit codes: 0 the job can start from it, 1 it cannot, or only with --allow-dropped-state.
    """
    found: list[Checked] = []
    refused: list[PenstockError] = []

    def look(graph: JobGraph, configuration: Configuration) -> None:
        try:
            found.append(_checked(path, graph, configuration, values))
        except PenstockError as error:  # not the program's to catch
            refused.append(error)

    with told():
        jobs_of(job, args or [], settings or [], None, pyflink, look)
        if refused:
            raise refused[0]
    best = max(found, key=lambda c: c.shared)  # a program may run several jobs: the savepoint is of one
    if as_json:
        print(json.dumps(_described(best)))
    else:
        _show(best, Console(highlight=False, width=None if Console().is_terminal else _WIDE))
    raise typer.Exit(0 if best.fits else 1)


def _checked(path: str, graph: JobGraph, configuration: Configuration, values: bool) -> Checked:
    program = build(graph)
    savepoint = _opened(path, program, configuration)
    checked = check(savepoint.manifest, program)
    tried = try_values(savepoint, checked.changes) if values else {}
    if values:
        tried |= {(uid, KEY_ROW): keys for uid, keys in try_keys(savepoint, checked.keys).items()}
    saved = {o.uid for o in savepoint.manifest.operators}
    return Checked(graph.name, checked, tried, sum(o.uid in saved for o in program.operators))


def _opened(path: str, program: Program, configuration: Configuration) -> Savepoint:
    if not is_checkpoint(path):
        return open_savepoint(path)
    from penstock.spark.retained import savepoint_of  # pyspark takes its time, and savepoints do not need it

    return savepoint_of(path, program, configuration)


def _described(checked: Checked) -> dict[str, Any]:
    tried = [
        {"operator": operator, "state": state, **asdict(found)} for (operator, state), found in checked.tried.items()
    ]
    rows = [asdict(row) for row in checked.check.rows]
    return {"job": checked.job, "fits": checked.fits, "states": rows, "values": tried}


def _show(checked: Checked, console: Console) -> None:
    console.print(check_table(checked.check.rows))
    for row in checked.check.rows:
        name = f"{row.operator}: {_state_name(row.state)}"
        for difference in row.differences:
            console.print(f"  {name}: {difference}", markup=False)
        if row.todo:
            console.print(f"  {name}: {row.todo}", style="dim", markup=False)
    for (operator, state), tried in checked.tried.items():
        what = "keys" if state == KEY_ROW else "values"
        told_values = f"  {operator}: {_state_name(state)}: {tried.values:,} {what} tried, {tried.failed:,} do not fit"
        console.print(told_values, style="red" if tried.failed else "green", markup=False)
        for reason in tried.reasons:
            console.print(f"    {reason}", markup=False)
    kept = "can start" if checked.fits else "cannot start"
    console.print(f"Job '{checked.job}' {kept} from it.", style="green" if checked.fits else "red", markup=False)


def check_table(rows: list[StateCheck]) -> Table:
    """The states, one a row."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for column in ("operator", "state", "before", "after", "verdict"):
        table.add_column(column, overflow="fold")
    for row in rows:
        verdict = Text(row.verdict, style=_STYLES.get(row.verdict, ""))
        table.add_row(*map(Text, (row.operator, _state_name(row.state), row.before, row.after)), verdict)
    return table


def _state_name(table: str) -> str:
    """The name that people gave to a state, and where it is kept if not by key.

    >>> _state_name("slot:rules"), _state_name("namespace:__contents__")
    ('rules (broadcast)', '__contents__ (by window)')
    """
    scope, _, name = table.partition(":")
    return {"slot": f"{name} (broadcast)", "namespace": f"{name} (by window)"}.get(scope, table)
