"""`penstock state`: what a job keeps, of one key or as a whole."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.failure import told
from penstock.cli.words import size_of
from penstock.errors import KeyError_, StateError
from penstock.jobs.registry import registry_of
from penstock.runtime.evolution.shape import state_shape_of
from penstock.runtime.keys import encode_key
from penstock.runtime.state.backend import KEY_TABLE
from penstock.savepoints import SavedOperator, SavedState
from penstock.state_processor.entries import TIMER_TABLES, scope_of
from penstock.state_processor.kept import Kept, rows_of_key
from penstock.state_processor.opening import opened
from penstock.state_processor.statistics import StateStatistics, plain, statistics

state_app = typer.Typer(name="state", help="Look at the state of a job or a savepoint.", no_args_is_help=True)
Where = Annotated[
    str, typer.Argument(metavar="JOB|PATH", help="A job's id or name, a checkpoint's folder, or a savepoint's path.")
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
_BARS = " ▁▂▃▄▅▆▇█"
_BINS = 16
_MUCH = 4  # times the mean key, from which on the biggest keys are told


@state_app.command("list")
def list_states(where: Where, as_json: Json = False) -> None:
    """List the operators with their states and types."""
    with told(), opened(where, registry_of()) as (kept, source):
        rows = [_described(o, s) for o in kept.operators for s in o.states if s.name != KEY_TABLE]
        if as_json:
            print(json.dumps({"source": source, "batch": kept.batch, "states": rows}))
            return
        console = Console(highlight=False)
        table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
        for heading in ("operator", "state", "kind", "type"):
            table.add_column(heading)
        for row in rows:
            table.add_row(row["operator"], row["state"], row["kind"], row["type"])
        console.print(table)
        console.print(Text(source, style="dim"), soft_wrap=True)


def _described(operator: SavedOperator, state: SavedState) -> dict[str, str]:
    scope, name = scope_of(state.name)
    words = {"key": "", "namespace": " per window", "slot": ", broadcast"}[scope]
    kind = "" if state.type is None else state_shape_of(state.type).value.text()
    name = f"{timers} timers" if (timers := TIMER_TABLES.get(name)) else name
    return {"operator": operator.uid, "state": name, "kind": f"{state.kind}{words}", "type": kind}


@state_app.command("get")
def get(
    where: Where,
    operator: Annotated[str, typer.Argument(metavar="OPERATOR", help="Its uid, or its name.")],
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="A word, or JSON: 7, '[\"a\", 7]' for a tuple, '\"7\"' for text.")
    ],
    state: Annotated[str | None, typer.Option(metavar="NAME", help="This state only.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a key has, as of the job's last committed batch; the job is not disturbed."""
    with told(), opened(where, registry_of()) as (kept, source):
        chosen = _operator(kept, operator)
        if state is not None and all(state not in (s.name, scope_of(s.name)[1]) for s in chosen.states):
            names = ", ".join(repr(scope_of(s.name)[1]) for s in chosen.states if s.name != KEY_TABLE)
            raise StateError(
                "NO_SUCH_STATE", f"Operator '{chosen.uid}' has no state '{state}'. It has: {names or 'none'}."
            )
        found = _found(kept, chosen, key)
        if state is not None:
            found = {name: rows for name, rows in found.items() if state in (name, scope_of(name)[1])}
        shown = {scope_of(name)[1]: [_without_key(row) for row in rows] for name, rows in found.items()}
        if as_json:
            told_rows = {"source": source, "batch": kept.batch, "operator": chosen.uid, "key": key, "states": shown}
            print(json.dumps(told_rows, default=str))
        else:
            _print(shown, chosen, key, source)
        if not shown:
            raise typer.Exit(1)


def _print(shown: dict[str, list[dict[str, Any]]], operator: SavedOperator, key: str, source: str) -> None:
    console = Console(highlight=False)
    if not shown:
        console.print(f"Key {key} has nothing in operator '{operator.uid}'.", markup=False, soft_wrap=True)
    for name, rows in shown.items():
        console.print(Text(name, style="bold"))
        for row in rows:
            single = list(row) == ["value"]
            text = json.dumps(row["value"] if single else row, default=str, ensure_ascii=False)
            console.print(Text(f"  {text}"), soft_wrap=True)
    console.print(Text(source, style="dim"), soft_wrap=True)


def _found(kept: Kept, operator: SavedOperator, text: str) -> dict[str, list[dict[str, Any]]]:
    """By the key as text, and as what it may be in JSON: who types 7 may mean either."""
    for key in _meant(text):
        try:
            encoded, _ = encode_key(key)
        except KeyError_:
            continue
        if found := rows_of_key(kept, operator, encoded):
            return found
    return {}


def _meant(text: str) -> list[Any]:
    try:
        value = _tuples(json.loads(text))
    except ValueError:
        return [text]
    return [value] if isinstance(value, str) else [value, text]


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _without_key(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "key"}


def _operator(kept: Kept, word: str) -> SavedOperator:
    found = [o for o in kept.operators if o.uid == word] or [o for o in kept.operators if o.name == word]
    if len(found) != 1:
        names = ", ".join(repr(o.uid) for o in kept.operators)
        told_of = "no operator" if not found else "several operators"
        raise StateError("NO_SUCH_OPERATOR", f"There is {told_of} '{word}'. There are: {names or 'none'}.")
    return found[0]


@state_app.command("stats")
def stats(
    where: Where,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="So many of the biggest keys.")] = 3,
    as_json: Json = False,
) -> None:
    """Show what state weighs: keys, entries, bytes, biggest keys, skew over key groups, what has expired."""
    with told(), opened(where, registry_of()) as (kept, source):
        found = statistics(kept.entries(), kept.max_parallelism, int(time.time() * 1000), top)
        if as_json:
            print(msgspec.json.encode({"source": source, "batch": kept.batch, "states": plain(found)}).decode())
            return
        console = Console(highlight=False)
        console.print(_figures(found))
        for figures in found:
            if figures.biggest and figures.biggest[0].bytes * figures.keys > _MUCH * figures.bytes:
                biggest = ", ".join(f"{b.key} {size_of(b.bytes)}" for b in figures.biggest)
                console.print(Text(f"{_name(figures)}: the biggest keys are {biggest}"), soft_wrap=True)
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
        figures = (f"{s.keys:,}", f"{s.entries:,}", size_of(s.bytes), skew, *expired)
        table.add_row(_name(s), *figures, bars(s.group_bytes))
    return table


def bars(sizes: list[int], width: int = _BINS) -> str:
    """Sizes as a small picture: neighbours are added up, the fullest is as high as a line.

    >>> bars([0, 1, 2, 4], 4)
    ' ▂▄█'
    """
    if not sizes or not any(sizes):
        return ""
    count = min(width, len(sizes))
    bins = [sum(sizes[i * len(sizes) // count : (i + 1) * len(sizes) // count]) for i in range(count)]
    highest = max(bins)
    return "".join(_BARS[-(-b * (len(_BARS) - 1) // highest)] for b in bins)
