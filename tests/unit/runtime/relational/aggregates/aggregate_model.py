"""A plain Python model of aggregates over a changelog: one row at a time, one group at a time."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from penstock.runtime.relational.aggregates.registry import aggregate_type
from penstock.runtime.relational.functions.definition import MISSING
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.kinds import BOOLEAN, DOUBLE, INT, STRING, DecimalType, LogicalType
from tests.unit.runtime.relational.driver import Change, Row

D = decimal.Decimal
TYPES: tuple[LogicalType, ...] = (STRING, INT, DOUBLE, DecimalType(8, 2), STRING, BOOLEAN)
KEY, NUMBER, FLOAT, PRICE, TEXT, FLAG = range(6)


def call(function: str, *arguments: int, types: Sequence[LogicalType] = TYPES, **more: Any) -> AggregateCall:
    """Returns a call with its type from the registry."""
    given = tuple(types[i] for i in arguments)
    typing = aggregate_type(function, given, [MISSING] * len(given), bool(more.get("distinct")))
    return AggregateCall(function, arguments, given, typing.type, **more)


def _wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _sum(values: list[Any], start: Any) -> Any:
    for value in values:
        start = start + value
    return start


def _truncated(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


@dataclass
class CallModel:
    """The values of one call in one group: those that are there, and the running state of what depends on the order."""

    call: AggregateCall
    values: list[Any] = field(default_factory=list)
    counts: dict[Any, int] = field(default_factory=dict)
    total: float = -0.0
    deviation: tuple[int, float, float] = (0, 0.0, 0.0)

    def change(self, sign: int, row: Row) -> None:
        if self.call.filter is not None and row[self.call.filter] is not True:
            return
        value = row[self.call.arguments[0]] if self.call.arguments else row
        if self.call.distinct:
            old = self.counts.get(value, 0)
            new = self.counts[value] = old + sign
            if (old > 0) == (new > 0):
                return
        if value is None and self.call.function not in ("ARRAY_AGG", "JSON_ARRAYAGG"):
            return
        if sign > 0:
            self.values.append(value)
        else:
            self.values.remove(value)
        if isinstance(value, float):
            self.total += sign * value
            self._deviate(sign, value)

    def _deviate(self, sign: int, value: float) -> None:
        count, mean, square = self.deviation
        count += sign
        if count == 0:
            self.deviation = (0, 0.0, 0.0)
        elif sign > 0:
            step = value - mean
            mean += step / count
            self.deviation = (count, mean, square + step * (value - mean))
        else:
            step = value - mean
            mean -= step / count
            self.deviation = (count, mean, square - (value - mean) * step)

    def result(self) -> Any:
        values, first = self.values, self.call.arguments[0] if self.call.arguments else -1
        count = len(values)
        match self.call.function:
            case "COUNT":
                return count
            case "SUM" if first == FLOAT:
                return self.total if count else None
            case "SUM" | "SUM0":
                total = _sum(values, D(0) if first == PRICE else 0)
                total = total if first == PRICE else _wrapped(total)
                return total if count or self.call.function == "SUM0" else None
            case "AVG" if count == 0:
                return None
            case "AVG" if first == FLOAT:
                return (self.total + 0.0) / count
            case "AVG" if first == NUMBER:
                return _truncated(sum(values), count)
            case "AVG":
                wide = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)
                return wide.quantize(wide.divide(sum(values), D(count)), D("0.000001"))
            case "MIN":
                return min(values, default=None)
            case "MAX":
                return max(values, default=None)
            case "FIRST_VALUE":
                return values[0] if values else None
            case "LAST_VALUE":
                return values[-1] if values else None
            case "LISTAGG":
                return self.call.options[0].join(values) if values else None
            case "ARRAY_AGG":
                return list(values) or None
            case "JSON_ARRAYAGG":
                return "[" + ",".join(str(v) for v in values if v is not None) + "]"
            case "COLLECT":
                return sorted((v, values.count(v)) for v in set(values))
            case "VAR_POP":
                _, _, square = self.deviation
                return square / count if count and square >= 0 else None
        raise AssertionError(self.call.function)


CALLS: tuple[AggregateCall, ...] = (
    call("COUNT"),
    call("COUNT", TEXT),
    call("COUNT", TEXT, distinct=True),
    call("COUNT", NUMBER, filter=FLAG),
    call("SUM", NUMBER),
    call("SUM", FLOAT),
    call("SUM", PRICE),
    call("SUM0", NUMBER),
    call("SUM", NUMBER, distinct=True, filter=FLAG),
    call("AVG", NUMBER),
    call("AVG", PRICE),
    call("MIN", NUMBER),
    call("MAX", FLOAT),
    call("MIN", PRICE),
    call("MAX", TEXT),
    call("MIN", FLAG),
    call("MAX", TEXT, filter=FLAG),
    call("FIRST_VALUE", TEXT),
    call("LAST_VALUE", PRICE),
    call("LISTAGG", TEXT, options=("-",)),
    call("LISTAGG", TEXT, options=("|",), distinct=True),
    call("ARRAY_AGG", NUMBER),
    call("ARRAY_AGG", NUMBER, distinct=True),
    call("JSON_ARRAYAGG", NUMBER),
    call("COLLECT", TEXT),
    call("VAR_POP", FLOAT),
)


def comparable(row: Row) -> Row:
    """Multisets have no order; arrays must be hashable."""
    return tuple(tuple(sorted(v) if v and isinstance(v[0], tuple) else v) if isinstance(v, list) else v for v in row)


class GroupModel:
    """The changelog of GROUP BY, row by row."""

    def __init__(self, calls: Sequence[AggregateCall], key: Callable[[Row], Row]) -> None:
        self._calls = calls
        self._key = key  # of a row
        self._groups: dict[Row, tuple[list[int], list[CallModel]]] = {}

    def run(self, change: Change) -> list[Change]:
        kind, row = change
        sign = 1 if kind in ("+I", "+U") else -1
        key = self._key(row)
        if key not in self._groups:
            if sign < 0:
                return []
            self._groups[key] = ([0], [CallModel(c) for c in self._calls])
        count, models = self._groups[key]
        old = (*key, *(m.result() for m in models))
        existed = count[0] > 0
        count[0] += sign
        for model in models:
            model.change(sign, row)
        new = (*key, *(m.result() for m in models))
        if count[0] == 0:
            del self._groups[key]
            return [("-D", comparable(old))]
        if not existed:
            return [("+I", comparable(new))]
        return [] if old == new else [("-U", comparable(old)), ("+U", comparable(new))]

    def table(self) -> dict[Row, int]:
        """Returns the final table."""
        return {comparable((*key, *(m.result() for m in models))): 1 for key, (_, models) in self._groups.items()}


def _maybe(strategy: Any) -> Any:
    return st.one_of(st.none(), strategy)


ROW = st.tuples(
    _maybe(st.sampled_from("ab")),
    _maybe(st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)]))),
    _maybe(st.sampled_from([0.1, 0.2, 0.7, 1e15, -3.25])),
    _maybe(st.sampled_from([D("0.01"), D("1.50"), D("-7.25"), D("999999.99")])),
    _maybe(st.sampled_from(["", "x", "y", "zz"])),
    _maybe(st.booleans()),
)


@st.composite
def changelogs(draw: Any, removals: bool = True, largest: int = 25) -> list[Change]:
    """Returns rows that are added, removed and updated. Removed rows were there."""
    found: list[Change] = []
    live: list[Row] = []
    for step in draw(st.lists(st.integers(0, 5), max_size=largest)):
        if removals and live and step < 2:
            row = live.pop(draw(st.integers(0, len(live) - 1)))
            found.append(("-D", row))
        elif removals and live and step == 2:
            at = draw(st.integers(0, len(live) - 1))
            new = draw(ROW)
            found += [("-U", live[at]), ("+U", new)]
            live[at] = new
        else:
            live.append(draw(ROW))
            found.append(("+I", live[-1]))
    return found


def cut(draw: Any, rows: list[Any]) -> list[list[Any]]:
    """Cuts rows into batches at random places."""
    at = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    return [rows[a:b] for a, b in zip([0, *at], [*at, len(rows)], strict=True)]
