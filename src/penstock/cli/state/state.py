"""`penstock state`: shows the state of a job, a checkpoint or a savepoint."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.render.error_exit import error_exit
from penstock.cli.render.output_console import output_console
from penstock.errors import InvalidKeyError, StateError
from penstock.jobs.registry.registry import registry_of
from penstock.runtime.state.evolution.shape import read_state_shape
from penstock.runtime.state.keys import encode_key
from penstock.runtime.state.tables import KEY_TABLE
from penstock.savepoints import SavedOperator, SavedState
from penstock.state_processor.entries import TIMER_TABLES, split_scope
from penstock.state_processor.locate import open_state
from penstock.state_processor.state_view import StateView, read_key_rows
from penstock.state_processor.statistics import StateStatistics, compute_statistics, to_json_values
from penstock.units import format_size

state_app = typer.Typer(
    name="state", help="Show the state of a job, a checkpoint or a savepoint.", no_args_is_help=True
)
Where = Annotated[
    str,
    typer.Argument(
        metavar="JOB|PATH", help="The id or name of a job, the folder of a checkpoint, or the path of a savepoint."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
_BARS = " ▁▂▃▄▅▆▇█"
_BINS = 16
_LARGE_KEY = 4  # times the mean size of a key, from which on the largest keys are shown


@state_app.command("list")
def list_states(where: Where, as_json: Json = False) -> None:
    """List the operators with their states and types."""
    with error_exit(), open_state(where, registry_of()) as (view, source):
        rows = [_described(o, s) for o in view.operators for s in o.states if s.name != KEY_TABLE]
        if as_json:
            print(json.dumps({"source": source, "batch": view.batch, "states": rows}))
            return
        console = output_console()
        table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
        for heading in ("operator", "state", "kind", "type"):
            table.add_column(heading)
        for row in rows:
            table.add_row(row["operator"], row["state"], row["kind"], row["type"])
        console.print(table)
        console.print(Text(source, style="dim"), soft_wrap=True)


def _described(operator: SavedOperator, state: SavedState) -> dict[str, str]:
    scope, name = split_scope(state.name)
    suffix = {"key": "", "namespace": " per window", "slot": ", broadcast"}[scope]
    kind = "" if state.type is None else read_state_shape(state.type).value.text()
    name = f"{timers} timers" if (timers := TIMER_TABLES.get(name)) else name
    return {"operator": operator.uid, "state": name, "kind": f"{state.kind}{suffix}", "type": kind}


@state_app.command("get")
def get(
    where: Where,
    operator: Annotated[str, typer.Argument(metavar="OPERATOR", help="The uid or the name of the operator.")],
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Text, or JSON: 7, '[\"a\", 7]' for a tuple, '\"7\"' for the text 7.")
    ],
    state: Annotated[str | None, typer.Option(metavar="NAME", help="Only this state.")] = None,
    as_json: Json = False,
) -> None:
    """Show the state of a key after the last committed batch. A running job is not affected."""
    with error_exit(), open_state(where, registry_of()) as (view, source):
        chosen = _operator(view, operator)
        if state is not None and all(state not in (s.name, split_scope(s.name)[1]) for s in chosen.states):
            names = ", ".join(repr(split_scope(s.name)[1]) for s in chosen.states if s.name != KEY_TABLE)
            raise StateError(
                "NO_SUCH_STATE", f"Operator '{chosen.uid}' has no state '{state}'. Its states: {names or 'none'}."
            )
        found = _found(view, chosen, key)
        if state is not None:
            found = {name: rows for name, rows in found.items() if state in (name, split_scope(name)[1])}
        shown = {split_scope(name)[1]: [_without_key(row) for row in rows] for name, rows in found.items()}
        if as_json:
            result = {"source": source, "batch": view.batch, "operator": chosen.uid, "key": key, "states": shown}
            print(json.dumps(result, default=str))
        else:
            _print(shown, chosen, key, source)
        if not shown:
            raise typer.Exit(1)


def _print(shown: dict[str, list[dict[str, Any]]], operator: SavedOperator, key: str, source: str) -> None:
    console = output_console()
    if not shown:
        console.print(f"Key {key} has no state in operator '{operator.uid}'.", markup=False, soft_wrap=True)
    for name, rows in shown.items():
        console.print(Text(name, style="bold"))
        for row in rows:
            single = list(row) == ["value"]
            text = json.dumps(row["value"] if single else row, default=str, ensure_ascii=False)
            console.print(Text(f"  {text}"), soft_wrap=True)
    console.print(Text(source, style="dim"), soft_wrap=True)


def _found(view: StateView, operator: SavedOperator, text: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a key. The argument is tried as JSON first and then as text, because 7 may mean either."""
    for key in _possible_keys(text):
        try:
            encoded, _ = encode_key(key)
        except InvalidKeyError:
            continue
        if found := read_key_rows(view, operator, encoded):
            return found
    return {}


def _possible_keys(text: str) -> list[Any]:
    try:
        value = _to_tuples(json.loads(text))
    except ValueError:
        return [text]
    return [value] if isinstance(value, str) else [value, text]


def _to_tuples(value: Any) -> Any:
    return tuple(_to_tuples(v) for v in value) if isinstance(value, list) else value


def _without_key(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "key"}


def _operator(view: StateView, name: str) -> SavedOperator:
    found = [o for o in view.operators if o.uid == name] or [o for o in view.operators if o.name == name]
    if len(found) != 1:
        names = ", ".join(repr(o.uid) for o in view.operators)
        count = "no operator" if not found else "several operators"
        raise StateError("NO_SUCH_OPERATOR", f"There is {count} '{name}'. Operators: {names or 'none'}.")
    return found[0]


@state_app.command("stats")
def stats(
    where: Where,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Show the N largest keys.")] = 3,
    as_json: Json = False,
) -> None:
    """Show the size of state: keys, entries, bytes, largest keys, skew over key groups, expired entries."""
    with error_exit(), open_state(where, registry_of()) as (view, source):
        found = compute_statistics(view.entries(), view.max_parallelism, int(time.time() * 1000), top)
        if as_json:
            print(
                msgspec.json.encode({"source": source, "batch": view.batch, "states": to_json_values(found)}).decode()
            )
            return
        console = output_console()
        console.print(_figures(found))
        for figures in found:
            if figures.biggest and figures.biggest[0].bytes * figures.keys > _LARGE_KEY * figures.bytes:
                largest = ", ".join(f"{b.key} {format_size(b.bytes)}" for b in figures.biggest)
                console.print(Text(f"{_name(figures)}: the largest keys are {largest}"), soft_wrap=True)
        console.print(Text(source, style="dim"), soft_wrap=True)


def _name(figures: StateStatistics) -> str:
    timers = TIMER_TABLES.get(figures.state)
    return f"{figures.operator}.{figures.state}" if timers is None else f"{figures.operator}, {timers} timers"


def _figures(found: list[StateStatistics]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False, padding=(0, 0))
    table.add_column("state", overflow="fold")
    expires = any(s.expired for s in found)
    for heading in ("keys", "entries", "size", "skew", *(["expired"] if expires else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("key groups", no_wrap=True)
    for s in found:
        skew = f"{s.skew:.1f}x" if s.skew else ""
        expired = [f"{s.expired:,}" if s.expired else ""] if expires else []
        figures = (f"{s.keys:,}", f"{s.entries:,}", format_size(s.bytes), skew, *expired)
        table.add_row(_name(s), *figures, bars(s.group_bytes))
    return table


def bars(sizes: list[int], width: int = _BINS) -> str:
    """Sizes as a bar chart of one line. Adjacent sizes are added up, and the largest bar is as high as the line.

    >>> bars([0, 1, 2, 4], 4)
    ' ▂▄█'
    """
    if not sizes or not any(sizes):
        return ""
    count = min(width, len(sizes))
    bins = [sum(sizes[i * len(sizes) // count : (i + 1) * len(sizes) // count]) for i in range(count)]
    highest = max(bins)
    return "".join(_BARS[-(-b * (len(_BARS) - 1) // highest)] for b in bins)
