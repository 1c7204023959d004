"""Relations as text, one line each, for tests of passes."""

from __future__ import annotations

from collections.abc import Callable

from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.table import relations as r
from tests.unit.table.binder.memory import MemoryCatalog

TABLES = (
    "CREATE TABLE t (a INT, b INT, c STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
    "CREATE TABLE u (a INT, x INT, y STRING)",
    "CREATE TABLE p (k STRING, v INT, pt AS PROCTIME())",
)


def bound(query: str) -> r.Relation:
    """Binds a query over the tables t, u and p."""
    return MemoryCatalog(*TABLES).query(query)


def after(query: str, *passes: Callable[[r.Relation], r.Relation]) -> list[str]:
    """Returns the relations of a query after passes."""
    relation = bound(query)
    for change in passes:
        relation = change(relation)
    return shown(relation)


def shown(relation: r.Relation, depth: int = 0) -> list[str]:
    """Returns one line per relation, indented by its depth."""
    lines = [f"{'  ' * depth}{type(relation).__name__}({_details(relation)})"]
    for child in relation.inputs():
        lines += shown(child, depth + 1)
    return lines


def _keys(order: tuple[SortKey, ...]) -> str:
    return ", ".join(f"${k.column}{'' if k.ascending else ' DESC'}" for k in order)


def _details(relation: r.Relation) -> str:
    match relation:
        case r.Scan():
            return relation.path[-1]
        case r.Calc():
            where = "" if relation.condition is None else f" WHERE {relation.condition}"
            return ", ".join(str(p) for p in relation.projections) + where
        case r.Aggregate():
            return f"{list(relation.keys)}, {', '.join(c.name for c in relation.calls)}"
        case r.WindowAggregate():
            windows = f"{relation.window} on ${relation.window.time_column}"
            if relation.start_column >= 0:
                windows = f"columns ${relation.start_column} and ${relation.end_column}"
            calls = ", ".join(c.name for c in relation.calls)
            return f"{list(relation.keys)}, {calls}, {windows}, {'/'.join(relation.properties)}" + (
                ", legacy" if relation.legacy else ""
            )
        case r.WindowAssign():
            return f"{relation.window} on ${relation.window.time_column}"
        case r.Over():
            calls = ", ".join(c.call.name for c in relation.calls)
            return f"{list(relation.partition)}, {_keys(relation.order)}, {calls}"
        case r.Rank():
            bounds = f"{relation.start} to {relation.end}{', with rank' if relation.outputs_rank else ''}"
            return f"{list(relation.partition)}, {_keys(relation.order)}, {bounds}"
        case r.WindowRank():
            bounds = f"{relation.start} to {relation.end}{', with rank' if relation.outputs_rank else ''}"
            window = f"${relation.start_column} and ${relation.end_column}"
            return f"{list(relation.partition)}, {_keys(relation.order)}, {bounds}, window {window}"
        case r.Deduplicate():
            return f"{list(relation.partition)}, {'last' if relation.keep_last else 'first'} by ${relation.time_column}"
        case r.Join():
            extra = (", null aware" if relation.null_aware else "") + (", single" if relation.single else "")
            return f"{relation.kind}, {relation.condition}{extra}"
        case r.Sort():
            return f"{_keys(relation.order)}, limit {relation.limit}"
        case r.Expand():
            return f"{list(relation.grouped)}, {[list(s) for s in relation.sets]}"
    return ""
