"""Columns and constants, and choices of several columns."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.errors import PlanError
from penstock.table.data_types import DataType
from penstock.table.dialect import nodes
from penstock.table.expressions.base import call_text, node_of, text_of
from penstock.table.expressions.expression import Expression
from penstock.table.expressions.function import identifier
from penstock.table.expressions.types import logical_of, type_reference
from penstock.table.expressions.values import literal_node


def col(name: str) -> Expression[Any]:
    """Returns the column with a name. "*" stands for all columns.

    >>> col("a") + 1
    plus(a, 1)
    """
    if not isinstance(name, str):
        raise PlanError(
            "TABLE_EXPRESSION", f"col takes the name of a column, found {name!r}. Constants are lit({name!r})."
        )
    return Expression(exp.Star() if name == "*" else exp.Column(this=identifier(name)), name)


def lit(v: object, data_type: DataType | None = None) -> Expression[Any]:
    """Returns a constant. Its type follows from the value, unless a type is given.

    >>> from penstock.table.data_types import DataTypes
    >>> lit(1), lit("a"), lit(1, DataTypes.BIGINT())
    (1, 'a', 1)
    """
    if isinstance(v, Expression):
        return v
    if data_type is None:
        return Expression(node_of(v), text_of(v))
    if v is None:
        return null_of(data_type)
    return Expression(literal_node(v, logical_of(data_type)), text_of(v))


def null_of(data_type: DataType) -> Expression[Any]:
    """Returns NULL with a type."""
    return Expression(exp.Cast(this=exp.Null(), to=type_reference(logical_of(data_type))), "null")


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Returns the columns from one to another, by names or by positions from 1, for `with_columns`."""
    ends = [identifier(end) if isinstance(end, str) else exp.Literal.number(end) for end in (start, end)]
    return Expression(nodes.ColumnRange(this=ends[0], expression=ends[1]), f"rangeTo({start}, {end})")


def with_columns(head: object, *tails: object) -> Expression[Any]:
    """Returns some columns: columns, positions from 1, and ranges of them.

    >>> with_columns(range_("b", "d"), col("f"))
    withColumns(rangeTo(b, d), f)
    """
    return _selection("withColumns", (head, *tails), without=False)


def without_columns(head: object, *tails: object) -> Expression[Any]:
    """Returns all columns but some."""
    return _selection("withoutColumns", (head, *tails), without=True)


def with_all_columns() -> Expression[Any]:
    """Returns all columns."""
    return Expression(exp.Star(), "*")


def _selection(text: str, parts: tuple[object, ...], without: bool) -> Expression[Any]:
    node = nodes.ColumnSelection(expressions=[node_of(part) for part in parts], without=without)
    return Expression(node, call_text(text, *parts))


def descriptor(*column_names: str) -> Expression[Any]:
    """Returns names of columns as an argument of a table function."""
    node = nodes.Descriptor(expressions=[identifier(name) for name in column_names])
    return Expression(node, f"DESCRIPTOR({', '.join(f'`{name}`' for name in column_names)})")


def row_interval(rows: int) -> Expression[Any]:
    """Returns a number of rows, as the size of a window."""
    return Expression(nodes.RowInterval(this=rows), str(rows))


UNBOUNDED_ROW: Expression[Any] = Expression(nodes.FrameBound(this="UNBOUNDED_ROW"), "UNBOUNDED_ROW")
UNBOUNDED_RANGE: Expression[Any] = Expression(nodes.FrameBound(this="UNBOUNDED_RANGE"), "UNBOUNDED_RANGE")
CURRENT_ROW: Expression[Any] = Expression(nodes.FrameBound(this="CURRENT_ROW"), "CURRENT_ROW")
CURRENT_RANGE: Expression[Any] = Expression(nodes.FrameBound(this="CURRENT_RANGE"), "CURRENT_RANGE")
