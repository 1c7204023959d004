"""The names of the columns of a select list, which Flink derives in the Table API in another way than in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api.queries import named
from penstock.table.binder.queries.aggregate_calls import written_call
from penstock.table.binder.types import resolve_type
from penstock.table.dialect import nodes
from penstock.types.logical.text import summary


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is the call of an aggregate function."""
    return written_call(node) is not None


def named_items(items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Names each item of a select list: by the name of a column, `_c1` for an expression, `EXPR$0` for an aggregate."""
    results = _results(items)
    shown: dict[str, int] = {}
    found: list[exp.Expr] = []
    for position, item in enumerate(items):
        name = _name(item, results) or f"_c{position}"
        found.append(named(item.this if isinstance(item, exp.Alias) else item, name))
        shown[name] = shown.get(name, 0) + 1
    for name, count in shown.items():
        if count > 1:
            raise SqlValidationError(
                "SQL_COLUMN", f"Ambiguous column name: {name}. Give one of the columns another name with alias()."
            )
    return found


def _results(items: Sequence[exp.Expr]) -> dict[exp.Expr, str]:
    """The names of all aggregates and properties of windows."""
    found: dict[exp.Expr, str] = {}
    for item in items:
        for part in _result_parts(item):
            found.setdefault(part, f"EXPR${len(found)}")
    return found


def _result_parts(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Window | exp.Subquery | exp.Query):
        return
    if is_aggregate(node) or isinstance(node, nodes.WindowProperty):
        yield node
        return
    for child in node.iter_expressions():
        yield from _result_parts(child)


def _name(node: exp.Expr, results: dict[exp.Expr, str]) -> str | None:
    match node:
        case exp.Alias():
            return str(node.alias)
        case exp.Cast() if type(node) is exp.Cast:
            inner = _inner_name(node.this, results)
            return inner and f"{inner}-{summary(resolve_type(node.args['to'].this))}"
    return _inner_name(node, results)


def _inner_name(node: exp.Expr, results: dict[exp.Expr, str]) -> str | None:
    if node in results:
        return results[node]
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Dot():
            inner = _inner_name(node.this, results)
            return inner and f"{inner}${node.expression.name}"
        case nodes.FieldAt():
            inner = _inner_name(node.this, results)
            return inner and f"{inner}$_{node.args['index']}"
    return None
