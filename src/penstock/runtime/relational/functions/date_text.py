"""Functions between text and points in time, by patterns such as yyyy-MM-dd HH:mm:ss."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.casts import from_text
from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions import zones
from penstock.runtime.relational.functions.definition import MISSING, CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family, by_value
from penstock.runtime.relational.functions.signatures import (
    always_nullable,
    matches,
    nullable_if_any,
    takes,
    text_or_null,
)
from penstock.runtime.relational.java.time_pattern import BadPattern, format_time, parse_lenient, parse_time
from penstock.types.logical.kinds import (
    BIGINT,
    DATE,
    TIMESTAMP_3,
    LogicalType,
    TimestampType,
)

_family = Family("temporal")
_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_STEPS = ((("S", "n", "N", "A"), ""), (("s",), "second"), (("m",), "minute"), (("H", "h", "k", "K", "a"), "hour"))


@_family.columns(
    "DATE_FORMAT",
    takes("timestamp, text", "text, text", returns=text_or_null),
    "a point in time as text by a pattern",
    raises=True,
)
def date_format(call: CallContext, value: Value, pattern: Value) -> Value:
    type_ = call.argument_types[0]
    if not isinstance(type_, TimestampType):
        return by_value(_text_format, strict=True)(call, value, pattern)
    local = zones.to_local(value, call.session.zone) if type_.local else value
    if isinstance(pattern, pa.Scalar) and pattern.is_valid and isinstance(local, pa.Array) and len(local) > 16:
        local = _floored(local, pattern.as_py())  # fewer distinct values
    plain = CallContext(
        call.type, (TimestampType(type_.precision), call.argument_types[1]), (), call.length, call.session
    )
    return by_value(_format, strict=True)(plain, local, pattern)


def _floored(column: pa.Array, pattern: str) -> pa.Array:
    signs = set(pattern)
    for needed, unit in _STEPS:
        if signs & set(needed):
            return pc.floor_temporal(column, unit=unit) if unit else column
    return pc.floor_temporal(column, unit="day")


def _format(nanos: int, pattern: str) -> str | None:
    try:
        return format_time(nanos, pattern)
    except BadPattern as error:
        raise bad_argument("DATE_FORMAT", str(error)) from error


def _text_format(value: str, pattern: str) -> str | None:
    nanos = from_text.parse_timestamp(value) if " " in value else None
    return None if nanos is None else _format(nanos, pattern)


@_family.values(
    "TO_DATE",
    takes("text[, text]", returns=always_nullable(DATE)),
    "the date of a text; null if it does not fit the pattern",
    raises=True,
)
def to_date(value: str, pattern: str = "") -> int | None:
    if not pattern:
        return from_text.parse_date(value)
    found = _lenient("TO_DATE", value, pattern)
    return None if found is None else found[0] // _DAY


def _lenient(function: str, value: str, pattern: str) -> tuple[int, int | None] | None:
    try:
        return parse_lenient(value, pattern)
    except BadPattern as error:
        raise bad_argument(function, str(error)) from error


def _timestamp(value: str, pattern: str | None) -> int | None:
    if pattern is None or pattern == _DEFAULT:
        return from_text.parse_timestamp(value)
    try:
        parsed = parse_time(value, pattern)
    except BadPattern:
        return None
    return from_text.parse_timestamp(value) if parsed is None else parsed[0]


@_family.values(
    "TO_TIMESTAMP",
    takes("text[, text]", returns=always_nullable(TIMESTAMP_3)),
    "the timestamp of a text; null if it does not fit",
)
def to_timestamp(value: str, pattern: str | None = None) -> int | None:
    return _timestamp(value, pattern)


def _instant_type(call: Typing) -> LogicalType:
    if matches("numeric[, int]")(call):
        precision = 3
        if len(call) == 2:
            literal = call.literals[1]
            precision = 3 if literal is MISSING or literal is None else int(literal)
            precision = max(3, precision) if precision >= 0 else precision
            if not 0 <= precision <= 9:
                call.refuse("a precision from 0 to 9", 1)
        return TimestampType(precision, local=True)
    if not matches("text[, text[, text]]")(call):
        call.refuse("(numeric[, precision]) or (text[, pattern[, zone]])")
    return TimestampType(3, local=True)


def _within_years(nanos: int) -> int | None:
    """An instant from the year 1 to 9999, None for others."""
    return nanos if -62_135_596_800 * _SECOND <= nanos < 253_402_300_800 * _SECOND else None


@_family.values(
    "TO_TIMESTAMP_LTZ", _instant_type, "the instant of a number since 1970, or of a text", raises=True, context=True
)
def to_timestamp_ltz(call: CallContext, value: Any, *rest: Any) -> int | None:
    if not isinstance(value, str):
        precision = int(rest[0]) if rest else 3
        if isinstance(value, float):  # with fractions of the unit, down to milliseconds
            return _within_years(int(value * 10 ** (9 - precision)) // 1_000_000 * 1_000_000)
        return _within_years(int(int(value) * 10 ** (9 - precision)))
    local = _timestamp(value, rest[0] if rest else None)
    zone = rest[1] if len(rest) > 1 else "UTC"
    if zones.zone_of(zone) is None:
        raise bad_argument("TO_TIMESTAMP_LTZ", f"there is no time zone '{zone}'")
    if local is None:
        raise bad_argument("TO_TIMESTAMP_LTZ", f"'{value}' does not fit the pattern")
    return zones.local_to_instant(local, zone)


@_family.columns(
    "UNIX_TIMESTAMP",
    takes("[text[, text]]", returns=nullable_if_any(BIGINT)),
    "seconds since 1970, of now or of a text",
    deterministic=lambda arguments: arguments > 0,
    raises=True,
)
def unix_timestamp(call: CallContext, *arguments: Value) -> Value:
    if not arguments:
        return pa.scalar(call.now() // 1000, pa.int64())
    return by_value(_unix_seconds, strict=True, context=True)(call, *arguments)


def _unix_seconds(call: CallContext, value: str, pattern: str = _DEFAULT) -> int:
    found = _lenient("UNIX_TIMESTAMP", value, pattern)
    if found is None:
        return -(2**63)
    nanos, offset = found
    if offset is not None:
        return nanos // _SECOND - offset
    return zones.local_to_instant(nanos, call.session.zone, later=True) // _SECOND


@_family.values(
    "FROM_UNIXTIME",
    takes("int[, text]", returns=text_or_null),
    "seconds since 1970 as text in the session's zone",
    context=True,
)
def from_unixtime(call: CallContext, seconds: int, pattern: str = _DEFAULT) -> str | None:
    try:
        local = zones.instant_to_local(seconds * _SECOND, call.session.zone)
        return format_time(local, pattern, call.session.zone, (local - seconds * _SECOND) // _SECOND)
    except BadPattern as error:
        raise bad_argument("FROM_UNIXTIME", str(error)) from error
    except (ValueError, OverflowError):
        return None


def _is_region(zone: str) -> bool:
    """Whether CONVERT_TZ knows a zone; offsets are written GMT+05:30, and others count as UTC."""
    return not zone.startswith(("+", "-")) and zones.zone_of(zone) is not None


@_family.values(
    "CONVERT_TZ",
    takes("text, text, text", returns=text_or_null),
    "a local time of one zone as the local time of another",
)
def convert_tz(value: str, source: str, target: str) -> str | None:
    found = _lenient("CONVERT_TZ", value, _DEFAULT)
    if found is None:
        return None
    nanos = found[0]
    source, target = (z if _is_region(z) else "UTC" for z in (source, target))
    instant = zones.local_to_instant(nanos, source, later=True)
    return format_time(zones.instant_to_local(instant, target), _DEFAULT)
