"""`penstock savepoints check`: shows for each state whether a program can restore it from a savepoint."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.arguments import AsPyFlink, ProgramArgs, ProgramFile, Settings
from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.cli.run.explain import explain_program
from penstock.config import Configuration
from penstock.engine.program.builder import build_program
from penstock.engine.program.program import Program
from penstock.errors import PenstockError
from penstock.plan.graph import JobGraph
from penstock.runtime.relational.evolution.comparison import IN_PART, KEPT, REBUILT
from penstock.savepoints import Savepoint, open_savepoint
from penstock.savepoints.check import KEY_ROW, UNKNOWN, RestoreCheck, StateCheck, check_restore
from penstock.savepoints.evolution import AFTER_MIGRATION, AS_IS, INCOMPATIBLE
from penstock.savepoints.parts import DROPPED, PartCheck
from penstock.savepoints.queries.query_match import QueryVerdict
from penstock.savepoints.savepoint import is_checkpoint
from penstock.savepoints.values import TrialResult, try_keys, try_values

_SCRIPTS = Path(__file__).parents[1] / "sql" / "program"  # run by its path, because commands of SQL use this one
_SESSION_KEYS = ("table.", "sql-client.")
_STYLES = {
    KEPT: "green",
    IN_PART: "cyan",
    REBUILT: "red",
    AS_IS: "green",
    AFTER_MIGRATION: "cyan",
    INCOMPATIBLE: "red",
    DROPPED: "red",
    UNKNOWN: "yellow",
}

_REBUILD_ADVICE = (
    "rebuilt: --rebuild computes it again from the start of its tables, --allow-dropped-state starts it empty"
)


@dataclass(slots=True)
class JobCheck:
    """The result of the check for one job of the program."""

    job: str
    check: RestoreCheck
    trials: dict[tuple[str, str], TrialResult]
    shared: int  # operators that the job and the savepoint have in common

    @property
    def fits(self) -> bool:
        return self.check.compatible and not any(trial.failed for trial in self.trials.values())


def savepoint_check(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A savepoint, or the checkpoint of a job that has ended.")
    ],
    job: ProgramFile,
    args: ProgramArgs = None,
    values: Annotated[
        bool,
        typer.Option("--values", help="Read the savepoint and convert every value and key that would be migrated."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    pyflink: AsPyFlink = False,
    settings: Settings = None,
) -> None:
    """Check for each operator, source, sink and state of a savepoint whether a changed program can restore it.

    The program may be a SQL script (a file that ends with .sql). For each operator of its queries, the check says whether the state
    is kept, kept in part, rebuilt or dropped, and why.

    The program runs, but its jobs do not. Its functions are opened and closed once, to find out which states they use.

    Exit codes: 0 the job can start from the savepoint, 1 it cannot, or only with --allow-dropped-state.
    """
    checks: list[JobCheck] = []
    errors: list[PenstockError] = []

    def inspect(graph: JobGraph, configuration: Configuration) -> None:
        try:
            checks.append(_check_job(path, graph, configuration, values))
        except PenstockError as error:  # raised later, so that the program cannot catch it
            errors.append(error)

    with error_exit():
        program, arguments, options = _program(job, args or [], settings or [])
        explain_program(program, arguments, options, None, pyflink, inspect)
        if errors:
            raise errors[0]
    if not checks:
        raise typer.Exit(1)
    best = max(checks, key=lambda c: c.shared)  # a program may run several jobs, and the savepoint is of one of them
    if as_json:
        print(json.dumps(_as_dict(best)))
    else:
        _print_check(best, output_console())
    raise typer.Exit(0 if best.fits else 1)


def _program(job: Path, args: list[str], settings: list[str]) -> tuple[Path, list[str], list[str]]:
    """The program of a job, its arguments and options. A script runs as the program of `penstock sql`."""
    if job.suffix.lower() != ".sql":
        return job, args, settings
    own = [setting for setting in settings if setting.startswith(_SESSION_KEYS)]
    options = [part for setting in own for part in ("-D", setting)]
    return _SCRIPTS, [*options, "-f", str(job.resolve())], [s for s in settings if s not in own]


def _check_job(path: str, graph: JobGraph, configuration: Configuration, values: bool) -> JobCheck:
    program = build_program(graph)
    savepoint = _open(path, program, configuration)
    check = check_restore(savepoint, program)
    trials = try_values(savepoint, check.changes) if values else {}
    if values:
        trials |= {(uid, KEY_ROW): keys for uid, keys in try_keys(savepoint, check.key_changes).items()}
    assert check.manifest is not None
    saved = {o.uid for o in check.manifest.operators} | {s.uid for s in check.manifest.sources}
    uids = [*(o.uid for o in program.operators), *(s.uid for s in program.sources)]
    return JobCheck(graph.name, check, trials, sum(uid in saved for uid in uids))


def _open(path: str, program: Program, configuration: Configuration) -> Savepoint:
    if not is_checkpoint(path):
        return open_savepoint(path)
    from penstock.spark.savepoint.retained_checkpoint import (
        savepoint_from_checkpoint,  # importing pyspark is slow, and savepoints do not need it
    )

    return savepoint_from_checkpoint(path, program, configuration)


def _as_dict(job: JobCheck) -> dict[str, Any]:
    trials = [
        {"operator": operator, "state": state, **asdict(trial)} for (operator, state), trial in job.trials.items()
    ]
    rows, parts = [asdict(row) for row in job.check.rows], [asdict(part) for part in job.check.parts]
    queries = [msgspec.to_builtins(verdict) for verdict in job.check.queries.verdicts]
    return {"job": job.job, "fits": job.fits, "parts": parts, "states": rows, "values": trials, "queries": queries}


def _print_check(job: JobCheck, console: Console) -> None:
    if job.check.queries.verdicts:
        console.print(query_table(job.check.queries.verdicts))
        _print_reasons(job.check.queries.verdicts, console)
    console.print(check_table(job.check.rows, job.check.parts))
    for part in job.check.parts:
        if part.difference:
            console.print(f"  {part.difference}", markup=False)
    for row in job.check.rows:
        name = f"{row.operator}: {_state_name(row.state)}"
        for difference in row.differences:
            console.print(f"  {name}: {difference}", markup=False)
        if row.todo:
            console.print(f"  {name}: {row.todo}", style="dim", markup=False)
    for (operator, state), trial in job.trials.items():
        noun = "keys" if state == KEY_ROW else "values"
        result = f"  {operator}: {_state_name(state)}: {trial.values:,} {noun} converted, {trial.failed:,} failed"
        console.print(result, style="red" if trial.failed else "green", markup=False)
        for reason in trial.reasons:
            console.print(f"    {reason}", markup=False)
    verdict = "can start" if job.fits else "cannot start"
    console.print(f"Job '{job.job}' {verdict} from it.", style="green" if job.fits else "red", markup=False)


def query_table(verdicts: list[QueryVerdict]) -> Table:
    """A table with one row per operator of a query."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for column in ("operator", "uid", "entries", "verdict"):
        table.add_column(column, overflow="fold", justify="right" if column == "entries" else "left")
    for one in verdicts:
        style = _STYLES.get(one.verdict, "")
        table.add_row(Text(one.name), Text(one.operator), f"{one.entries:,}", Text(one.verdict, style=style))
    return table


def _print_reasons(verdicts: list[QueryVerdict], console: Console) -> None:
    for one in verdicts:
        for reason in one.reasons:
            console.print(f"  {one.name} {one.operator}: {reason}", markup=False)
    if any(one.verdict == REBUILT for one in verdicts):
        console.print(f"  {_REBUILD_ADVICE}", style="dim", markup=False)


def check_table(rows: list[StateCheck], parts: list[PartCheck]) -> Table:
    """A table with one row per source, sink and state, and per operator that has changed."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for column in ("uid", "state", "before", "after", "verdict"):
        table.add_column(column, overflow="fold")
    lines = [
        (p.uid, f"({p.part})", p.before, p.after, p.verdict)
        for p in parts
        if p.part != "operator" or not p.compatible  # the states of other operators have their own lines
    ]
    lines += [(row.operator, _state_name(row.state), row.before, row.after, row.verdict) for row in rows]
    for *cells, verdict in lines:
        table.add_row(*map(Text, cells), Text(verdict, style=_STYLES.get(verdict, "")))
    return table


def _state_name(table: str) -> str:
    """The name of a state, and its scope if it is not per key.

    >>> _state_name("slot:rules"), _state_name("namespace:__contents__")
    ('rules (broadcast)', '__contents__ (by window)')
    """
    scope, _, name = table.partition(":")
    return {"slot": f"{name} (broadcast)", "namespace": f"{name} (by window)"}.get(scope, table)
