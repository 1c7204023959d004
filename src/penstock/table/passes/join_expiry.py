"""Joins with the results of windows: rows of the other side that no later window can match need not be kept.

    a JOIN (SELECT ..., window_end AS e ... GROUP BY window_start, window_end) b
      ON a.k = b.k AND a.ts >= b.e - INTERVAL '10' SECOND AND ...

The results of a window come before the watermark that ends it, and none come later: with a watermark w, all further values of e are
above w. So a row of `a` can be dropped as soon as w is above a.ts + 10 seconds. A bound by the event time of a table is not enough,
because late rows are joined, too.
"""

from __future__ import annotations

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.table import relations as r
from penstock.table.passes.rewriting import conjuncts
from penstock.types.logical.kinds import DayTimeIntervalType, TimestampType

Expiry = tuple[int, int]  # a column, and how many milliseconds after its time the row can be dropped
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def row_expiry(join: r.Join) -> tuple[Expiry | None, Expiry | None]:
    """Returns when rows of the left and of the right input can be dropped; None if they must be kept."""
    width = len(join.left.row_type.fields)
    found: list[Expiry | None] = [None, None]
    for part in conjuncts(join.condition):
        if not isinstance(part, Call) or part.function not in _FLIPPED:
            continue
        first, second = (_shifted_column(argument) for argument in part.arguments)
        if first is None or second is None or (first[0] < width) == (second[0] < width):
            continue
        function, distance = part.function, second[1] - first[1]  # first <function> second + distance
        for (own, _), (other, _), relation, gap in (
            (first, second, function, distance),
            (second, first, _FLIPPED[function], -distance),
        ):
            side = 0 if own < width else 1
            lag = _lag(join.left, other) if other < width else _lag(join.right, other - width)
            # own >= other + gap: the row is dropped when all further values of the other column are above own - gap.
            if lag is None or relation not in ("=", ">", ">="):
                continue
            column = own - (width if side else 0)
            previous = found[side]
            if previous is None or (previous[0] == column and lag - gap < previous[1]):
                found[side] = column, lag - gap
    return found[0], found[1]


def _lag(relation: r.Relation, column: int) -> int | None:
    """How far values of a column stay behind the watermark at most, if it is a bound of windows that end once; else None."""
    while isinstance(relation, r.Calc):
        projection = relation.projections[column]
        if not isinstance(projection, Column):
            return None
        relation, column = relation.input, projection.index
    if not isinstance(relation, r.WindowAggregate) or relation.legacy:
        return None
    window, first = relation.window, len(relation.keys) + len(relation.calls)
    if not window.event_time or window.zone or column < first:
        return None
    kind = relation.properties[column - first]
    if kind in ("end", "time"):
        return 0
    return window.size if kind == "start" and window.kind != "SESSION" else None


def _shifted_column(expression: Expression) -> tuple[int, int] | None:
    """Returns the column of a time without zone, and how many milliseconds an expression adds to it."""
    if not isinstance(expression.type, TimestampType) or expression.type.local:
        return None
    if isinstance(expression, Column):
        return expression.index, 0
    if not isinstance(expression, Call):
        return None
    if expression.function == "CAST":
        return _shifted_column(expression.arguments[0])
    if expression.function not in ("+", "-") or len(expression.arguments) != 2:
        return None
    first, second = expression.arguments
    if expression.function == "+" and isinstance(first, Literal):
        first, second = second, first
    below = _shifted_column(first)
    interval = isinstance(second, Literal) and isinstance(second.type, DayTimeIntervalType) and second.value is not None
    if below is None or not interval:
        return None
    assert isinstance(second, Literal)
    return below[0], below[1] + (second.value if expression.function == "+" else -second.value)
