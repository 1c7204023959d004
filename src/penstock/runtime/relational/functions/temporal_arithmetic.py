"""Points in time and intervals in arithmetic: date + interval, timestamp - interval, interval * number."""

from __future__ import annotations

import calendar
import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import as_column
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import (
    DATETIME,
    INTERVALS,
    DateType,
    DayTimeIntervalType,
    IntegerType,
    LogicalType,
    TimestampType,
    TimeType,
)

DAY = 86_400_000  # milliseconds
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()


def result_type(operator: str, call: Typing) -> LogicalType | None:
    """Returns the type of an operation with a point in time or an interval, None if it is not one."""
    a, b = call.types
    nullable = a.nullable or b.nullable
    if isinstance(a, DATETIME) and isinstance(b, INTERVALS) and operator in "+-":
        return _without_attribute(a, nullable)
    if isinstance(a, INTERVALS) and isinstance(b, DATETIME) and operator == "+":
        return _without_attribute(b, nullable)
    if isinstance(a, INTERVALS) and type(a) is type(b) and operator in "+-":
        return a.with_nullable(nullable)
    if isinstance(a, INTERVALS) and isinstance(b, IntegerType) and operator == "*":
        return a.with_nullable(nullable)
    if isinstance(a, IntegerType) and isinstance(b, INTERVALS) and operator == "*":
        return b.with_nullable(nullable)
    return None


def _without_attribute(type_: LogicalType, nullable: bool) -> LogicalType:
    if isinstance(type_, TimestampType):
        return TimestampType(type_.precision, type_.local, nullable=nullable)
    return type_.with_nullable(nullable)


def compute(operator: str, call: CallContext, a: Value, b: Value) -> Value:
    """Computes such an operation."""
    x, y = call.argument_types
    if isinstance(x, INTERVALS) and isinstance(y, DATETIME):
        a, b, x, y = b, a, y, x
    if isinstance(x, DATETIME):
        amount = pc.cast(b, pa.int64())
        if operator == "-":
            amount = pc.negate(amount)
        if isinstance(y, DayTimeIntervalType):
            return add_milliseconds(call, x, a, amount)
        return add_months(call, x, a, amount)
    left, right = pc.cast(a, pa.int64()), pc.cast(b, pa.int64())
    result = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[operator](left, right)
    return pc.cast(result, arrow_type(call.type), safe=False)


def add_milliseconds(call: CallContext, type_: LogicalType, point: Value, amount: Value) -> Value:
    """Adds milliseconds to a point in time. A date takes the whole days of it, a time of day wraps around."""
    if isinstance(type_, TimestampType):
        unit = {"ms": 1, "us": 1000, "ns": 1_000_000}[point.type.unit]
        moved = pc.add(pc.cast(point, pa.int64()), pc.multiply(amount, unit))
        if type_.precision < 3:  # 10 - 0.001 s has no place for milliseconds: they are cut off
            step = 10 ** (3 - type_.precision)
            moved = pc.multiply(floor_divide(moved, step), step)
        return pc.cast(moved, point.type)
    if isinstance(type_, DateType):
        days = pc.add(pc.cast(pc.cast(point, pa.int32()), pa.int64()), pc.divide(amount, DAY))
        return pc.cast(pc.cast(days, pa.int32()), pa.date32())
    assert isinstance(type_, TimeType)
    moved = pc.add(pc.cast(pc.cast(point, pa.int32()), pa.int64()), amount)
    inside = pc.subtract(moved, pc.multiply(floor_divide(moved, DAY), DAY))
    return pc.cast(pc.cast(inside, pa.int32()), pa.time32("ms"))


def floor_divide(a: Value, divisor: int) -> Value:
    """Divides integers and rounds down, also below zero."""
    quotient = pc.divide(a, divisor)
    return pc.if_else(pc.less(a, pc.multiply(quotient, divisor)), pc.subtract(quotient, 1), quotient)


def add_months(call: CallContext, type_: LogicalType, point: Value, amount: Value) -> Value:
    """Adds months to a point in time. The day becomes the last of the month if the month is shorter."""
    if isinstance(type_, TimeType):
        return point
    values, months = to_values(as_column(call, point), type_), as_column(call, amount).to_pylist()
    shift = shift_date if isinstance(type_, DateType) else shift_timestamp  # of an instant in UTC, as in Flink
    return from_values(
        [None if v is None or m is None else shift(v, m) for v, m in zip(values, months, strict=True)], type_
    )


def shift_date(days: int, months: int) -> int:
    """Adds months to days since 1970.

    >>> shift_date(30, 1)
    58
    """
    date = datetime.date.fromordinal(days + _EPOCH_ORDINAL)
    total = date.year * 12 + date.month - 1 + months
    if not 12 <= total < 120_000:
        raise bad_argument("+ INTERVAL", f"the year {total // 12} is not between 1 and 9999")
    year, month = total // 12, total % 12 + 1
    return datetime.date(year, month, min(date.day, calendar.monthrange(year, month)[1])).toordinal() - _EPOCH_ORDINAL


def shift_timestamp(nanos: int, months: int) -> int:
    """Adds months to nanoseconds since 1970."""
    days, rest = divmod(nanos, DAY * 1_000_000)
    return shift_date(days, months) * DAY * 1_000_000 + rest


def days_of(value: Any) -> int:
    """Returns the days since 1970 of nanoseconds."""
    return int(value // (DAY * 1_000_000))
