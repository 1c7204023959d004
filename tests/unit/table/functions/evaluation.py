"""Evaluates expressions over literal rows: parse, bind, compile, run; without a query planner."""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import pyarrow as pa
from sqlglot import exp

from penstock.runtime.relational.casts.to_text import text_function
from penstock.runtime.relational.expressions.compiler import Condition, Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.values import to_values
from penstock.table.binder.conversions import convert
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scope import Scope
from penstock.table.dialect import parse_expression, parse_query
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import BinaryType, CharType, FloatType, LogicalType


class Rows:
    """Columns with names."""

    def __init__(self, scope: Scope, columns: list[pa.Array], length: int) -> None:
        self.scope = scope
        self.columns = columns
        self.length = length


ONE_ROW = Rows(Scope(), [], 1)


def values_of_query(query: str, session: Session) -> Rows:
    """Evaluates SELECT expressions FROM (VALUES ...) AS t(names) WHERE condition."""
    select = parse_query(query)
    values = next(node for node in select.walk() if isinstance(node, exp.Values))
    holder: exp.Expr | None = values
    while holder is not None and holder.args.get("alias") is None:
        holder = holder.parent
    assert holder is not None
    names = [column.name for column in holder.args["alias"].columns]
    literal = ExpressionBinder(Scope())
    rows = [literal.bind_all(row.expressions) for row in values.expressions]
    types, columns = [], []
    for position in range(len(names)):
        found = common_type([row[position].type for row in rows])
        assert found is not None
        types.append(found)
        cells = [convert(row[position], found) for row in rows]
        columns.append(pa.concat_arrays([Projection([cell], session)([], 1)[0] for cell in cells]))
    binder = ExpressionBinder(Scope.of(list(zip(names, types, strict=True)), holder.args["alias"].name))
    keep = Condition(binder.condition(select.args["where"].this), session)(columns, len(rows))
    columns = [column.filter(keep) for column in columns]
    length = len(columns[0])
    outputs = [(e.alias_or_name, binder.bind(e)) for e in select.expressions]
    results = Projection([e for _, e in outputs], session)(columns, length)
    return Rows(Scope.of([(name, e.type) for name, e in outputs]), results, length)


def evaluate(expression: str, rows: Rows = ONE_ROW, session: Session | None = None) -> tuple[LogicalType, list[Any]]:
    """Returns the type and the Python values of an expression."""
    bound = ExpressionBinder(rows.scope, expression).bind(parse_expression(expression))
    (column,) = Projection([bound], session)(rows.columns, rows.length)
    return bound.type, to_values(column, bound.type)


def shown(value: Any, type_: LogicalType, session: Session) -> str | None:
    """Returns a value as the recorded cases show it."""
    if value is None:
        return None
    if isinstance(type_, FloatType):
        return repr(value)
    if isinstance(type_, BinaryType):
        return f"x'{value.hex()}'"
    return str(value) if isinstance(type_, CharType) else text_function(type_, session)(value)


def same(wanted: str | None, found: str | None, type_: str) -> bool:
    """Compares texts; floats by number, maps in any order."""
    if wanted is None or found is None:
        return wanted is found
    if type_.startswith(("MAP", "MULTISET")):
        return sorted(re.split(", ", wanted[1:-1])) == sorted(re.split(", ", found[1:-1]))
    if not type_.startswith(("FLOAT", "DOUBLE")):
        return wanted == found
    a, b = float(wanted), float(found)
    if math.isnan(a) or math.isinf(a) or type_.startswith("DOUBLE"):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 2 * math.ulp(a)
    x, y = (struct.unpack("f", struct.pack("f", v))[0] for v in (a, b))
    return bool(abs(x - y) <= 2 * 2.0**-23 * abs(x))
