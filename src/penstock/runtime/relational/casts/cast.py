"""The cast of a column from one type to another."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ExpressionError
from penstock.runtime.relational.casts import from_text
from penstock.runtime.relational.casts.to_text import to_text
from penstock.runtime.relational.expressions.errors import bad_argument, bad_value
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.functions import zones
from penstock.runtime.relational.functions.numbers import fitted, to_decimal
from penstock.runtime.relational.java.numbers import double_text, float_text, parse_double
from penstock.types.logical.arrow import arrow_type, timestamp_unit
from penstock.types.logical.kinds import (
    MAX_LENGTH,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)
from penstock.types.logical.text import bare

_DAY = 86_400_000


def cast_column(
    column: pa.Array, source: LogicalType, target: LogicalType, session: Session, lenient: bool
) -> pa.Array:
    """Casts a column. Values that cannot be converted are an error, or null if `lenient`."""
    if isinstance(source, NullType):
        return pa.nulls(len(column), arrow_type(target))
    if source.with_nullable(True) == target.with_nullable(True):
        return column
    match target:
        case CharType():
            return _sized_text(to_text(column, source, session), source, target)
        case BinaryType():
            return _sized_bytes(column, source, target)
    if isinstance(source, CharType):
        return _parsed(column, target, session, lenient)
    match target:
        case BooleanType():
            return pc.not_equal(column, pa.scalar(0).cast(column.type)) if not _exact(source) else _nonzero(column)
        case IntegerType():
            return _integers(column, source, target)
        case FloatType():
            return _floats(column, source, target)
        case DecimalType():
            return _decimals(column, source, target)
        case DateType() | TimeType() | TimestampType():
            return _points(column, source, target, session)
        case YearMonthIntervalType():
            return column.cast(pa.int64()).cast(pa.int32())
        case DayTimeIntervalType():
            return column.cast(pa.int64()).cast(pa.duration("ms"))
        case ArrayType() | MultisetType() | MapType() | RowType():
            return _nested(column, source, target, session, lenient)
        case VariantType():
            return column
    raise AssertionError(f"no cast from {source} to {target}")


def _exact(source: LogicalType) -> bool:
    return isinstance(source, DecimalType | BooleanType)


def _nonzero(column: pa.Array) -> pa.Array:
    return column if pa.types.is_boolean(column.type) else pc.not_equal(column.cast(pa.float64()), 0.0)


# ------------------------------------------------------------------------------------------ text and bytes


def _sized_text(texts: pa.Array, source: LogicalType, target: CharType) -> pa.Array:
    if target.length == MAX_LENGTH:
        return texts
    if (
        isinstance(source, CharType)
        and source.length <= target.length
        and (target.varying or (not source.varying and source.length == target.length))
    ):
        return texts
    cut = pc.utf8_slice_codeunits(texts, 0, target.length)
    return cut if target.varying else pc.utf8_rpad(cut, target.length, " ")


def _sized_bytes(column: pa.Array, source: LogicalType, target: BinaryType) -> pa.Array:
    found = column.cast(pa.binary()) if isinstance(source, CharType) else column
    if target.length == MAX_LENGTH:
        return found
    length = target.length
    pad: Callable[[bytes], bytes] = (
        (lambda v: v[:length]) if target.varying else (lambda v: v[:length].ljust(length, b"\0"))
    )
    return pa.array([None if v is None else pad(v) for v in found.to_pylist()], pa.binary())


_WHOLE = {8: r"^-?[0-9]{1,2}$", 16: r"^-?[0-9]{1,4}$", 32: r"^-?[0-9]{1,9}$", 64: r"^-?[0-9]{1,18}$"}


def _parsed(column: pa.Array, target: LogicalType, session: Session, lenient: bool) -> pa.Array:
    if (
        isinstance(target, IntegerType)
        and len(column) > 8
        and pc.all(pc.match_substring_regex(column, _WHOLE[target.bits])).as_py() is not False
    ):
        return column.cast(arrow_type(target))
    parse = parser(target, session)
    encoded = pc.dictionary_encode(column)
    found = []
    for text in encoded.dictionary.to_pylist():
        value = parse(text)
        if value is None and not lenient:
            raise bad_value(text, f"a value of type {bare(target)}")
        found.append(value)
    return from_values(found, target).take(encoded.indices)


def parser(target: LogicalType, session: Session) -> Callable[[str], Any]:
    """Returns the function from text to a Python value of a type, None for text that it does not accept."""
    match target:
        case BooleanType():
            return from_text.parse_boolean
        case IntegerType():
            return lambda text: from_text.parse_integer(text, target.bits)
        case FloatType():
            if target.bits == 32:
                return lambda text: _single_precision(parse_double(text))
            return parse_double
        case DecimalType():
            return lambda text: from_text.parse_decimal(text, target)
        case DateType():
            return from_text.parse_date
        case TimeType():
            return lambda text: from_text.parse_time(text, target)
        case TimestampType():
            return lambda text: _timestamp(text, target, session)
        case YearMonthIntervalType():
            return from_text.parse_months
        case DayTimeIntervalType():
            return from_text.parse_milliseconds
    return lambda text: None


def _single_precision(value: float | None) -> float | None:
    if value is None:
        return None
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _timestamp(text: str, target: TimestampType, session: Session) -> int | None:
    nanos = from_text.parse_timestamp(text)
    if nanos is None:
        return None
    cut = from_text.cut_timestamp(nanos, target)
    return zones.local_to_instant(cut, session.zone) if target.local else cut


# ------------------------------------------------------------------------------------------------- numbers


def _integers(column: pa.Array, source: LogicalType, target: IntegerType) -> pa.Array:
    wanted = arrow_type(target)
    if isinstance(source, IntegerType | BooleanType):
        return column.cast(wanted, safe=False)
    if isinstance(source, FloatType):
        return _saturated(column, target)
    if isinstance(source, DecimalType):
        mask = (1 << target.bits) - 1
        half = 1 << target.bits - 1
        values = [None if v is None else ((int(v) + half) & mask) - half for v in column.to_pylist()]
        return pa.array(values, wanted)
    assert isinstance(source, TimestampType)
    factor = {"ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}[column.type.unit]
    seconds = [None if v is None else v // factor for v in column.cast(pa.int64()).to_pylist()]
    return pa.array(seconds, pa.int64()).cast(wanted, safe=False)


def _saturated(column: pa.Array, target: IntegerType) -> pa.Array:
    """A double that is too large becomes the largest integer, as in Java; narrow integers go by way of INT."""
    bits = max(target.bits, 32)
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = np.where(np.isnan(values), 0.0, np.trunc(values))
        low, high = -(2.0 ** (bits - 1)), 2.0 ** (bits - 1)
        inside = np.clip(whole, low, np.nextafter(high, 0)).astype(np.int64)
    largest = (1 << bits - 1) - 1
    inside = np.where(whole >= high, largest, inside)
    result = (
        pa.array(inside, pa.int64()).cast(pa.int32() if bits == 32 else pa.int64()).cast(arrow_type(target), safe=False)
    )
    return pc.if_else(column.is_valid(), result, pa.scalar(None, result.type)) if column.null_count else result


def _floats(column: pa.Array, source: LogicalType, target: FloatType) -> pa.Array:
    wanted = arrow_type(target)
    if isinstance(source, DecimalType):
        return pa.array([None if v is None else float(v) for v in column.to_pylist()], pa.float64()).cast(
            wanted, safe=False
        )
    if isinstance(source, BooleanType):
        return column.cast(pa.int8()).cast(wanted)
    if isinstance(source, TimestampType):
        factor = {"ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), factor).cast(wanted, safe=False)
    return column.cast(wanted, safe=False)


def _decimals(column: pa.Array, source: LogicalType, target: DecimalType) -> pa.Array:
    if isinstance(source, BooleanType):
        column = column.cast(pa.int8())
    if isinstance(source, FloatType):
        text = float_text if source.bits == 32 else double_text
        values = [
            None if v is None or v != v or v in (float("inf"), float("-inf")) else decimal.Decimal(text(v))
            for v in column.to_pylist()
        ]
        found = pa.array([None if v is None else fitted(v, target) for v in values], arrow_type(target))
    else:
        found = to_decimal(column, target)
    if not target.nullable and found.null_count > column.null_count:
        raise bad_value("A number", f"small enough for {bare(target)}")
    return found


# ------------------------------------------------------------------------------------------- points in time


def _points(column: pa.Array, source: LogicalType, target: LogicalType, session: Session) -> pa.Array:
    if isinstance(source, IntegerType | FloatType | DecimalType):
        seconds = to_values(column, source)
        column = from_values(
            [None if v is None else int(v * 1_000_000_000) for v in seconds], TimestampType(9, local=True)
        )
        return _points(column, TimestampType(9, local=True), target, session)
    if isinstance(source, TimeType) and isinstance(target, TimeType):
        step = 10 ** max(0, 3 - target.precision)
        whole = pc.multiply(pc.divide(column.cast(pa.int32()), step), step)
        return whole.cast(pa.int32()).cast(pa.time32("ms"))
    local = column
    if isinstance(source, DateType):
        local = column.cast(pa.timestamp("ms"))
    elif isinstance(source, TimeType):
        local = column.cast(pa.int32()).cast(pa.int64()).cast(pa.timestamp("ms"))
    elif (
        isinstance(source, TimestampType) and source.local and not (isinstance(target, TimestampType) and target.local)
    ):
        local = zones.to_local(column, session.zone)
    instant = isinstance(source, TimestampType) and source.local
    if isinstance(target, DateType):
        return pc.floor_temporal(local, unit="day").cast(pa.date32()) if instant else _days(local)
    if isinstance(target, TimeType):
        milli = pc.floor_temporal(local, unit="millisecond").cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        step = 10 ** max(0, 3 - target.precision)
        values = [
            None if v is None else v % _DAY // step * step if instant or v <= -_DAY else max(0, v) % _DAY // step * step
            for v in milli.to_pylist()
        ]
        return pa.array(values, pa.int32()).cast(pa.time32("ms"))
    assert isinstance(target, TimestampType)
    cut = _cut(local, target)
    if target.local and not (isinstance(source, TimestampType) and source.local):
        return zones.to_instant(cut, session.zone)
    return cut


def _days(column: pa.Array) -> pa.Array:
    """The days since 1970, cut off towards 1970 as in Flink."""
    day = {"ms": _DAY, "us": _DAY * 1000, "ns": _DAY * 1_000_000}[column.type.unit]
    return pc.divide(column.cast(pa.int64()), day).cast(pa.int32()).cast(pa.date32())


def _cut(column: pa.Array, target: TimestampType) -> pa.Array:
    """Cuts off the digits of the second that the target has no place for."""
    units = {"ms": 3, "us": 6, "ns": 9}
    have, unit = units[column.type.unit], timestamp_unit(target.precision)
    zone = column.type.tz
    whole = column.cast(pa.int64())
    if have > target.precision:
        step = 10 ** (have - target.precision)
        quotient = pc.divide(whole, step)
        quotient = pc.if_else(pc.less(whole, pc.multiply(quotient, step)), pc.subtract(quotient, 1), quotient)
        whole = pc.multiply(quotient, 10 ** (units[unit] - target.precision))
    elif units[unit] > have:
        try:
            whole = pc.multiply_checked(whole, 10 ** (units[unit] - have))
        except pa.ArrowInvalid as error:
            raise bad_argument("CAST", f"{bare(target)} has the years 1678 to 2261 only") from error
    return whole.cast(pa.timestamp(unit, zone))


# ---------------------------------------------------------------------------------------------- collections


def _nested(column: pa.Array, source: LogicalType, target: LogicalType, session: Session, lenient: bool) -> pa.Array:
    convert = value_cast(source, target, session, False)
    results = []
    for value in to_values(column, source):
        try:
            results.append(None if value is None else convert(value))
        except ExpressionError:
            if not lenient:
                raise
            results.append(None)  # one bad element makes the whole value null
    return from_values(results, target)


def value_cast(source: LogicalType, target: LogicalType, session: Session, lenient: bool) -> Callable[[Any], Any]:
    """Returns the cast of a single Python value, which may be None."""

    def single(value: Any) -> Any:
        if value is None:
            return None
        found = cast_column(from_values([value], source), source, target.with_nullable(True), session, lenient)
        return to_values(found, target)[0]

    match source, target:
        case ArrayType(), ArrayType():
            element = value_cast(source.element, target.element, session, lenient)
            return lambda values: None if values is None else [element(v) for v in values]
        case MapType(), MapType():
            key = value_cast(source.key, target.key, session, lenient)
            item = value_cast(source.value, target.value, session, lenient)
            return lambda pairs: None if pairs is None else [(key(k), item(v)) for k, v in pairs]
        case MultisetType(), MultisetType():
            key = value_cast(source.element, target.element, session, lenient)
            return lambda pairs: None if pairs is None else [(key(k), v) for k, v in pairs]
        case RowType(), RowType():
            fields = [
                value_cast(s.type, t.type, session, lenient) for s, t in zip(source.fields, target.fields, strict=False)
            ]
            return lambda row: None if row is None else tuple(f(v) for f, v in zip(fields, row, strict=False))
    return single
