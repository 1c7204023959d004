"""Joins that bound the times of both sides against each other, so that rows can be dropped and the
watermark continues.

a.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts + INTERVAL '1' SECOND          an interval join
a.window_start = b.window_start AND a.window_end = b.window_end                 a window join
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.table import relations as r
from penstock.table.passes.rewriting import conjunction, conjuncts
from penstock.table.passes.traversal import bottom_up
from penstock.table.passes.window_columns import joins_windows
from penstock.types.logical.kinds import DayTimeIntervalType, TimestampType

_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def time_joins(relation: r.Relation) -> r.Relation:
    """Marks joins whose rows can match for a limited time only."""
    return bottom_up(relation, _marked)


def _marked(relation: r.Relation) -> r.Relation:
    if not isinstance(relation, r.Join) or relation.null_aware or relation.single:
        return relation
    times = "window" if joins_windows(relation) else "interval" if bounds_time(relation) else ""
    return msgspec.structs.replace(relation, times=times) if times != relation.times else relation


def keeps_time(join: r.Join) -> bool:
    """Whether the time attributes of the inputs are time attributes of the output."""
    return bounds_time(join) or joins_windows(join)


def bounds_time(join: r.Join) -> bool:
    """Whether the condition bounds the time of the left side by that of the right side, from both ends."""
    return interval_bounds(join) is not None


class IntervalBounds(NamedTuple):
    """lower <= left time - right time <= upper, in milliseconds, for two time attributes. rest: the rest of the condition."""

    left: int
    right: int
    lower: int
    upper: int
    event_time: bool
    rest: Expression | None


def interval_bounds(join: r.Join) -> IntervalBounds | None:
    """Returns the bounds of an interval join; None if the condition does not bound the times from both ends."""
    if join.kind in ("SEMI", "ANTI"):
        return None
    lowers: list[int] = []
    uppers: list[int] = []
    rest: list[Expression] = []
    columns: tuple[int, int] | None = None
    for part in conjuncts(join.condition):
        found = _bound(join, part)
        if found is None or (columns is not None and found[0] != columns):
            rest.append(part)
            continue
        columns, function, distance = found
        if function == "=" and _attribute(join, columns[0]) == "ROWTIME":
            rest.append(part)  # a key, too
        if function in ("=", ">", ">="):
            lowers.append(distance + (function == ">"))
        if function in ("=", "<", "<="):
            uppers.append(distance - (function == "<"))
    if columns is None or not lowers or not uppers or max(lowers) > min(uppers):
        return None
    width = len(join.left.row_type.fields)
    event_time = _attribute(join, columns[0]) == "ROWTIME"
    return IntervalBounds(columns[0], columns[1] - width, max(lowers), min(uppers), event_time, conjunction(rest))


def _bound(join: r.Join, part: Expression) -> tuple[tuple[int, int], str, int] | None:
    """Reads `left time <function> right time + distance`. Returns the columns, the function and the distance."""
    if not isinstance(part, Call) or part.function not in _FLIPPED:
        return None
    first, second = (_time_and_distance(a) for a in part.arguments)
    if first is None or second is None:
        return None
    function, distance = part.function, second[1] - first[1]
    if first[0] > second[0]:
        first, second, function, distance = second, first, _FLIPPED[function], -distance
    attribute = _attribute(join, first[0])
    if not first[0] < len(join.left.row_type.fields) <= second[0]:
        return None
    if not attribute or attribute != _attribute(join, second[0]):
        return None
    return (first[0], second[0]), function, distance


def _attribute(join: r.Join, column: int) -> str:
    fields = (*join.left.row_type.fields, *join.right.row_type.fields)
    type_ = fields[column].type
    return type_.attribute if isinstance(type_, TimestampType) else ""


def _time_and_distance(expression: Expression) -> tuple[int, int] | None:
    """Returns the column of an expression, and how many milliseconds it adds to it."""
    if isinstance(expression, Column):
        return expression.index, 0
    if not isinstance(expression, Call):
        return None
    if expression.function == "CAST" and isinstance(expression.type, TimestampType):
        return _time_and_distance(expression.arguments[0])
    if expression.function not in ("+", "-") or len(expression.arguments) != 2:
        return None
    first, second = expression.arguments
    if expression.function == "+" and isinstance(first, Literal):
        first, second = second, first
    below = _time_and_distance(first)
    if below is None or not isinstance(second, Literal) or not isinstance(second.type, DayTimeIntervalType):
        return None
    if second.value is None:
        return None
    return below[0], below[1] + (second.value if expression.function == "+" else -second.value)
