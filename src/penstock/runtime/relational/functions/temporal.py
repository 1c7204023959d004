"""Fields of points in time, rounding to units, differences and sums."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.functions import zones
from penstock.runtime.relational.functions.definition import CallContext, TypeMismatch, Typing
from penstock.runtime.relational.functions.kernels import Family, as_column
from penstock.runtime.relational.functions.maths import ceil_number, floor_number, whole_number_rule
from penstock.runtime.relational.functions.temporal_arithmetic import (
    add_milliseconds,
    add_months,
    floor_divide,
    shift_date,
)
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    DATETIME,
    INT,
    INTERVALS,
    DateType,
    DayTimeIntervalType,
    IntegerType,
    LogicalType,
    NullType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

_family = Family("temporal")
_MILLIS = {"SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000, "WEEK": 604_800_000}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAY = 86_400_000
_ADDED = {**_MILLIS, "MILLISECOND": 1}
_EPOCH = datetime.date(1970, 1, 1).toordinal()
DATE_UNITS = (
    "MILLENNIUM", "CENTURY", "DECADE", "YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", "EPOCH",
)  # fmt: skip
TIME_UNITS = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND")
UNITS = (*DATE_UNITS, *TIME_UNITS)


def _extract_rule(call: Typing) -> LogicalType:
    unit, type_ = call.options[0], call.types[0]
    if unit not in UNITS:
        raise TypeMismatch(f"a unit such as {', '.join(UNITS)}; '{unit}' is not one")
    if isinstance(type_, NullType) or len(call) != 1 or not isinstance(type_, (*DATETIME, *INTERVALS)):
        call.refuse("a date, time, timestamp or interval")
    if isinstance(type_, TimeType) and unit in DATE_UNITS:
        call.refuse(f"a value with a {unit}")
    if isinstance(type_, DateType | TimeType) and unit in ("MICROSECOND", "NANOSECOND"):
        call.refuse(f"a timestamp for {unit}")
    if isinstance(type_, INTERVALS):
        parts = _MONTH_FIELDS if isinstance(type_, YearMonthIntervalType) else _MILLISECOND_FIELDS
        if unit not in parts:
            call.refuse(f"an interval with a {unit}")
    return BIGINT.with_nullable(type_.nullable)


@_family.columns("EXTRACT", _extract_rule, "a field of a point in time or an interval")
def extract(call: CallContext, value: Value) -> Value:
    unit, type_ = str(call.options[0]), call.argument_types[0]
    if isinstance(type_, INTERVALS):
        return _interval_field(call, value, unit, type_)
    if isinstance(type_, TimestampType) and type_.local:  # EPOCH too: Flink counts the seconds of the local time
        value = zones.to_local(value, call.session.zone)
    if isinstance(type_, TimeType):
        value = pc.cast(pc.cast(pc.cast(value, pa.int32()), pa.int64()), pa.timestamp("ms"))
    if isinstance(type_, TimestampType) and unit in DATE_UNITS:
        seconds = _toward_1970(value, 1000)
        return seconds if unit == "EPOCH" else _FIELDS[unit](_days(value))
    return _FIELDS[unit](value)


def _toward_1970(value: Value, milliseconds: int) -> Value:
    """The whole periods between 1970 and a timestamp. Before 1970 they are rounded up, as in Flink."""
    factor = {"ms": 1, "us": 1000, "ns": 1_000_000}[value.type.unit]
    whole = floor_divide(pc.cast(value, pa.int64()), factor)  # Flink keeps milliseconds, and what is below them apart
    return pc.divide(whole, milliseconds)


def _days(value: Value) -> Value:
    """The date of a timestamp in date fields. Before 1970 it is the next day unless it is midnight, as in Flink."""
    return pc.cast(pc.cast(_toward_1970(value, _DAY), pa.int32()), pa.date32())


def _fraction(value: Value, digits: int) -> Value:
    """The fraction of the second in units of 10^-digits. Before 1970 it counts backwards, as in Flink."""
    if pa.types.is_date(value.type):
        value = pc.cast(value, pa.timestamp("ms"))
    unit = {"ms": 3, "us": 6, "ns": 9}[value.type.unit]
    whole = pc.cast(value, pa.int64())
    if digits < unit:
        whole, unit = floor_divide(whole, 10 ** (unit - digits)), digits
    rest = pc.subtract(whole, pc.multiply(pc.divide(whole, 10**unit), 10**unit))
    return pc.multiply(rest, 10 ** (digits - unit))


def _clock_field(value: Value, whole: int, part: int) -> Value:
    """A field of the time of day. Before 1970 it counts backwards, as in Flink."""
    if pa.types.is_date(value.type):
        value = pc.cast(value, pa.timestamp("ms"))
    factor = {"ms": 1, "us": 1000, "ns": 1_000_000}[value.type.unit]
    numbers = pc.cast(value, pa.int64())
    rest = pc.subtract(numbers, pc.multiply(pc.divide(numbers, whole * factor), whole * factor))
    return pc.divide(rest, part * factor)


def _date_field(function: Callable[[datetime.date], int]) -> Callable[[Value], Value]:
    def field(value: Value) -> Value:
        days = pc.cast(value, pa.date32(), safe=False)
        column = days if isinstance(days, pa.Array) else pa.array([days], days.type)
        found = [None if d is None else function(d) for d in column.to_pylist()]
        result = pa.array(found, pa.int64())
        return result if isinstance(days, pa.Array) else result[0]

    return field


def _since(unit: int) -> Callable[[datetime.date], int]:
    return lambda date: (date.year + unit - 1) // unit


_FIELDS: dict[str, Callable[[Value], Value]] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOY": pc.day_of_year,
    "DOW": lambda value: pc.add(pc.day_of_week(value, count_from_zero=True, week_start=7), 1),
    "ISODOW": lambda value: pc.day_of_week(value, count_from_zero=False, week_start=1),
    "ISOYEAR": pc.iso_year,
    "DECADE": _date_field(lambda date: date.year // 10),
    "CENTURY": _date_field(_since(100)),
    "MILLENNIUM": _date_field(_since(1000)),
    "EPOCH": lambda value: pc.multiply(pc.cast(pc.cast(value, pa.date32()), pa.int32()).cast(pa.int64()), 86_400),
    "HOUR": lambda value: _clock_field(value, _DAY, 3_600_000),
    "MINUTE": lambda value: _clock_field(value, 3_600_000, 60_000),
    "SECOND": lambda value: _clock_field(value, 60_000, 1000),
    "MILLISECOND": lambda value: _fraction(value, 3),
    "MICROSECOND": lambda value: _fraction(value, 6),
    "NANOSECOND": lambda value: _fraction(value, 9),
}


_MONTH_FIELDS: dict[str, Callable[[int], int]] = {
    "YEAR": lambda v: v // 12,
    "QUARTER": lambda v: v % 12 // 3 + 1,
    "MONTH": lambda v: v % 12,
}
_MILLISECOND_FIELDS: dict[str, Callable[[int], int]] = {
    "DAY": lambda v: v // _DAY,
    "HOUR": lambda v: v % _DAY // 3_600_000,
    "MINUTE": lambda v: v % 3_600_000 // 60_000,
    "SECOND": lambda v: v % 60_000 // 1000,
    "MILLISECOND": lambda v: v % 1000,
}


def _interval_field(call: CallContext, value: Value, unit: str, type_: LogicalType) -> Value:
    whole = [None if v is None else abs(v) for v in pc.cast(as_column(call, value), pa.int64()).to_pylist()]
    signs = [None if v is None else -1 if v < 0 else 1 for v in pc.cast(as_column(call, value), pa.int64()).to_pylist()]
    fields = _MONTH_FIELDS if isinstance(type_, YearMonthIntervalType) else _MILLISECOND_FIELDS
    cut = fields[unit]
    return pa.array(
        [None if v is None or s is None else s * cut(v) for v, s in zip(whole, signs, strict=True)], pa.int64()
    )


def _shortcut(name: str, unit: str, documentation: str) -> None:
    def rule(call: Typing) -> LogicalType:
        if len(call) != 1:
            call.refuse("one argument")
        inner = Typing(call.types, call.literals, (unit,))
        return _extract_rule(inner)

    def kernel(call: CallContext, value: Value) -> Value:
        return extract(CallContext(call.type, call.argument_types, (unit,), call.length, call.session), value)

    _family.columns(name, rule, documentation)(kernel)


for _name, _unit in (
    ("YEAR", "YEAR"),
    ("QUARTER", "QUARTER"),
    ("MONTH", "MONTH"),
    ("WEEK", "WEEK"),
    ("DAYOFYEAR", "DOY"),
    ("DAYOFMONTH", "DAY"),
    ("DAYOFWEEK", "DOW"),
    ("HOUR", "HOUR"),
    ("MINUTE", "MINUTE"),
    ("SECOND", "SECOND"),
):
    _shortcut(_name, _unit, f"the field {_unit} of a point in time")

# ------------------------------------------------------------------------------------------- rounding to units

_ROUNDING = (
    "MILLENNIUM", "CENTURY", "DECADE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND",
)  # fmt: skip

_BY_DATE = ("YEAR", "QUARTER", "MONTH")


def _floor_rule(call: Typing) -> LogicalType:
    if not call.options or call.options[0] is None:
        return whole_number_rule(call)
    unit, type_ = call.options[0], call.types[0]
    finer = isinstance(type_, DateType) and unit in ("MICROSECOND", "NANOSECOND")  # a date has no parts that are cut
    if unit not in _ROUNDING and not finer:
        raise TypeMismatch(f"a unit such as {', '.join(_ROUNDING)}; '{unit}' is not one")
    if not isinstance(type_, DATETIME):
        call.refuse("a date, time or timestamp")
    if isinstance(type_, TimestampType):
        return TimestampType(type_.precision, type_.local, nullable=type_.nullable)
    return type_


def _rounded(up: bool) -> Callable[..., Value]:
    def kernel(call: CallContext, value: Value) -> Value:
        if not call.options or call.options[0] is None:
            return (ceil_number if up else floor_number)(call, value)
        unit, type_ = str(call.options[0]), call.argument_types[0]
        if isinstance(type_, TimestampType) and type_.local:
            # As in Flink: the offset of the point holds for the result too, and instants are whole milliseconds.
            local = zones.to_local(pc.floor_temporal(value, unit="millisecond"), call.session.zone)
            moved = _round_point(call, local, TimestampType(type_.precision), unit, up)
            shift = pc.subtract(pc.cast(moved, pa.int64()), pc.cast(local, pa.int64()))
            whole = pc.cast(pc.floor_temporal(value, unit="millisecond"), pa.int64())
            return pc.cast(pc.add(whole, shift), value.type)
        return _round_point(call, value, type_, unit, up)

    return kernel


def _round_point(call: CallContext, value: Value, type_: LogicalType, unit: str, up: bool) -> Value:
    step = {"MILLISECOND": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": _DAY}.get(unit)
    if isinstance(type_, TimestampType) and step is not None:
        factor = step * {"ms": 1, "us": 1000, "ns": 1_000_000}[value.type.unit]
        whole = pc.cast(value, pa.int64())
        floor = pc.multiply(floor_divide(whole, factor), factor)
        found = pc.if_else(pc.equal(floor, whole), floor, pc.add(floor, factor)) if up else floor
        return pc.cast(found, value.type)
    if isinstance(type_, TimeType):
        factor = step if step is not None and step < _DAY else 1  # days and longer units leave a time of day as it is
        whole = pc.cast(pc.cast(value, pa.int32()), pa.int64())
        floor = pc.multiply(pc.divide(whole, factor), factor)
        found = pc.if_else(pc.equal(floor, whole), floor, pc.add(floor, factor)) if up else floor
        inside = pc.if_else(pc.greater_equal(found, _DAY), pc.subtract(found, _DAY), found)
        return pc.cast(pc.cast(inside, pa.int32()), pa.time32("ms"))
    if isinstance(type_, DateType) and unit in ("DAY", *TIME_UNITS):
        if unit == "DAY" and up:  # the next day, as in Flink
            return pc.cast(pc.cast(pc.add(pc.cast(value, pa.int32()), 1), pa.int32()), pa.date32())
        return value
    day = _DAY * 1_000_000
    results: list[int | None] = []
    for point in to_values(as_column(call, value), type_):
        if point is None:
            results.append(None)
            continue
        days, rest = (point, 0) if isinstance(type_, DateType) else divmod(point, day)
        if rest and unit in _BY_DATE:  # only the date counts, and before 1970 it is the next day, as in Flink
            days, rest = days + (days < 0), 0
        floor_days = _floor_day(days, unit)
        if up and (floor_days != days or rest):
            floor_days = _next_day(floor_days, unit)
        results.append(floor_days if isinstance(type_, DateType) else floor_days * day)
    return from_values(results, type_)


def _floor_day(days: int, unit: str) -> int:
    date = datetime.date.fromordinal(days + _EPOCH)
    if unit == "WEEK":  # weeks begin on Sunday
        return days - date.isoweekday() % 7
    if unit == "MONTH":
        first = date.replace(day=1)
    elif unit == "QUARTER":
        first = datetime.date(date.year, (date.month - 1) // 3 * 3 + 1, 1)
    else:
        size = {"YEAR": 1, "DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}[unit]
        shift = 1 if size >= 100 else 0  # the 21st century began in 2001
        first = datetime.date(max(1, (date.year - shift) // size * size + shift), 1, 1)
    return first.toordinal() - _EPOCH


def _next_day(days: int, unit: str) -> int:
    if unit == "WEEK":
        return days + 7
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12_000}[unit]
    return shift_date(days, months)


_family.columns("FLOOR", _floor_rule, "a number rounded down, or a point in time rounded down to a unit")(
    _rounded(False)
)
_family.columns("CEIL CEILING", _floor_rule, "a number rounded up, or a point in time rounded up to a unit")(
    _rounded(True)
)

# --------------------------------------------------------------------------------------- differences and sums


def _difference_rule(call: Typing) -> LogicalType:
    unit = call.options[0]
    if unit not in (*_MILLIS, *_MONTHS, "MILLISECOND", "MICROSECOND", "NANOSECOND"):
        raise TypeMismatch(f"a unit such as {', '.join((*_MONTHS, *_MILLIS))}; '{unit}' is not one")
    if len(call) != 2 or not all(isinstance(t, DATETIME) for t in call.types):
        call.refuse("TIMESTAMPDIFF(unit, datetime, datetime)")
    a, b = call.types
    for x, y in ((a, b), (b, a)):
        if isinstance(x, TimestampType) and isinstance(y, TimestampType) and x.local and not y.local:
            call.refuse("two of TIMESTAMP, or two of TIMESTAMP_LTZ")
        if isinstance(x, TimeType) and isinstance(y, TimestampType):
            call.refuse("two times, or two dates and timestamps")
    return (BIGINT if unit == "NANOSECOND" else INT).with_nullable(call.any_nullable)


@_family.columns("TIMESTAMPDIFF", _difference_rule, "the whole units from one point in time to another")
def timestampdiff(call: CallContext, a: Value, b: Value) -> Value:
    unit = str(call.options[0])
    # The hours between two instants count, not those on the clock, which may be turned between them.
    plain = [TimestampType(t.precision) if isinstance(t, TimestampType) else t for t in call.argument_types]
    x, y = (_milliseconds(call, _without_zone(v), t) for v, t in zip((a, b), plain, strict=True))
    if unit in _MILLIS:
        return pc.cast(pc.divide(pc.subtract(y, x), _MILLIS[unit]), pa.int32(), safe=False)
    if unit in _MONTHS:
        found = [
            None if p is None or q is None else int(_months_between(p, q) / _MONTHS[unit])
            for p, q in zip(as_column(call, x).to_pylist(), as_column(call, y).to_pylist(), strict=True)
        ]
        return pa.array(found, pa.int32())
    seconds = pc.divide(pc.subtract(y, x), 1000)  # fractions of a second do not count, as in Flink
    factor = {"MILLISECOND": 10**3, "MICROSECOND": 10**6, "NANOSECOND": 10**9}[unit]
    return pc.cast(pc.multiply(seconds, factor), arrow_type(call.type), safe=False)


def _without_zone(value: Value) -> Value:
    return pc.cast(value, pa.timestamp(value.type.unit)) if pa.types.is_timestamp(value.type) else value


def _milliseconds(call: CallContext, value: Value, type_: LogicalType) -> Value:
    """Points in time as milliseconds since 1970, local ones for instants."""
    if isinstance(type_, DateType):
        return pc.multiply(pc.cast(pc.cast(value, pa.int32()), pa.int64()), _DAY)
    if isinstance(type_, TimeType):
        return pc.cast(pc.cast(value, pa.int32()), pa.int64())
    assert isinstance(type_, TimestampType)
    local = zones.to_local(value, call.session.zone) if type_.local else value
    return floor_divide(pc.cast(local, pa.int64()), {"ms": 1, "us": 1000, "ns": 1_000_000}[local.type.unit])


def _months_between(a: int, b: int) -> int:
    """The whole months from a to b, both milliseconds."""
    if b < a:
        return -_months_between(b, a)
    day_a, rest_a = divmod(a, _DAY)
    day_b = b // _DAY
    x, y = (datetime.date.fromordinal(d + _EPOCH) for d in (day_a, day_b))
    months = (y.year - x.year) * 12 + y.month - x.month
    while shift_date(day_a, months) * _DAY + rest_a > b:
        months -= 1
    return months


def _sum_rule(call: Typing) -> LogicalType:
    unit = call.options[0]
    if unit not in (*_ADDED, *_MONTHS):
        raise TypeMismatch(f"a unit such as {', '.join((*_MONTHS, *_MILLIS))}; '{unit}' is not one")
    if len(call) != 2 or not isinstance(call.types[0], IntegerType) or not isinstance(call.types[1], DATETIME):
        call.refuse("TIMESTAMPADD(unit, integer, datetime)")
    point, nullable = call.types[1], call.any_nullable
    if isinstance(point, DateType) and unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        call.cast(1, TimestampType(6))
        return TimestampType(6, nullable=nullable)
    if isinstance(point, TimestampType):
        return TimestampType(point.precision, point.local, nullable=nullable)
    return point.with_nullable(nullable)


@_family.columns("TIMESTAMPADD", _sum_rule, "a point in time plus a number of units")
def timestampadd(call: CallContext, amount: Value, point: Value) -> Value:
    unit, type_ = str(call.options[0]), call.argument_types[1]
    whole = pc.cast(amount, pa.int64())
    if unit in _MONTHS:
        return add_months(call, type_, point, pc.multiply(whole, _MONTHS[unit]))
    return add_milliseconds(call, type_, point, pc.multiply(whole, _ADDED[unit]))


def _overlaps_rule(call: Typing) -> LogicalType:
    for start, end in ((0, 1), (2, 3)):
        if not isinstance(call.types[start], DATETIME) or not isinstance(call.types[end], (*DATETIME, *INTERVALS)):
            call.refuse("(point, point or interval) OVERLAPS (point, point or interval)")
    return BOOLEAN.with_nullable(call.any_nullable)


@_family.columns("OVERLAPS", _overlaps_rule, "two periods have a point in common")
def overlaps(call: CallContext, *arguments: Value) -> Value:
    points: list[Value] = []
    for start in (0, 2):
        type_, end_type = call.argument_types[start], call.argument_types[start + 1]
        first = _milliseconds(call, arguments[start], type_)
        if isinstance(end_type, DayTimeIntervalType):
            last = pc.add(first, pc.cast(arguments[start + 1], pa.int64()))
        elif isinstance(end_type, YearMonthIntervalType):
            last = _milliseconds(
                call, add_months(call, type_, arguments[start], pc.cast(arguments[start + 1], pa.int64())), type_
            )
        else:
            last = _milliseconds(call, arguments[start + 1], end_type)
        points += [
            pc.min_element_wise(first, last, skip_nulls=False),
            pc.max_element_wise(first, last, skip_nulls=False),
        ]
    a, b, c, d = points
    return pc.and_kleene(pc.greater_equal(b, c), pc.greater_equal(d, a))


def _between_rule(call: Typing) -> LogicalType:
    if not all(isinstance(t, DATETIME) for t in call.types) or type(call.types[0]) is not type(call.types[1]):
        call.refuse("(point in time - point in time)")
    kind = YearMonthIntervalType if call.options[0] in _MONTHS else DayTimeIntervalType
    return kind(nullable=call.any_nullable)


@_family.columns("TIME_DIFFERENCE", _between_rule, "the interval between two points in time: (a - b) DAY")
def time_difference(call: CallContext, a: Value, b: Value) -> Value:
    x, y = (as_column(call, _milliseconds(call, v, t)) for v, t in zip((a, b), call.argument_types, strict=True))
    if isinstance(call.type, DayTimeIntervalType):
        return pc.cast(pc.subtract(x, y), pa.duration("ms"))
    pairs = zip(x.to_pylist(), y.to_pylist(), strict=True)
    return pa.array([None if p is None or q is None else _months_between(q, p) for p, q in pairs], pa.int32())
