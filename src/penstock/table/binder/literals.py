"""Literals: their types and values."""

from __future__ import annotations

import decimal
import re

from penstock.runtime.relational.casts import from_text
from penstock.runtime.relational.expressions.tree import Literal
from penstock.table.dialect.data_type import IntervalQualifier
from penstock.types.logical.kinds import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    MILLISECONDS,
    MONTHS,
    BinaryType,
    CharType,
    DecimalType,
    TimestampType,
    TimeType,
)


class BadLiteral(ValueError):  # noqa: N818 - callers turn it into an error of the user
    """The text of a literal is not valid."""


def number(text: str, negative: bool = False) -> Literal:
    """Returns the literal of a number.

    >>> print(number("0.908").type, number("5").type, number("1e3").type)
    DECIMAL(4, 3) NOT NULL INT NOT NULL DOUBLE NOT NULL
    """
    sign = -1 if negative else 1
    if "e" in text.lower():
        return Literal(0.0 if float(text) == 0 else sign * float(text), DOUBLE.with_nullable(False))
    value = decimal.Decimal(text) * sign
    if not -(2**63) <= int(value.scaleb(max(0, -_exponent(value)))) < 2**63:
        raise BadLiteral(
            f"Numeric literal '{text}' out of range: at most 19 digits are supported. Write a text and CAST it"
        )
    if "." not in text:
        whole = int(value)
        return Literal(whole, (INT if -(2**31) <= whole < 2**31 else BIGINT).with_nullable(False))
    scale = -_exponent(value)
    if scale == 0:  # "1." is a whole number
        return number(text.rstrip("."), negative)
    written = sum(c.isdigit() for c in text)  # also zeros in front
    return Literal(value, DecimalType(min(written, 38), scale, nullable=False))


def _exponent(value: decimal.Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def text(value: str) -> Literal:
    """Returns the literal of a text. Its length counts UTF-16 units, as in Java."""
    return Literal(value, CharType(len(value.encode("utf-16-le", "surrogatepass")) // 2, varying=False, nullable=False))


def binary(digits: str) -> Literal:
    """Returns the literal of hexadecimal digits."""
    return Literal(bytes.fromhex(digits), BinaryType(len(digits) // 2, varying=False, nullable=False))


_DATE = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})")
_GAP = (-141_437, -141_428)  # 1582-10-05 to 1582-10-14, which the calendar left out
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d*))?")


def date_time(kind: str, value: str) -> Literal:
    """Returns the literal of DATE, TIME or TIMESTAMP with a text.

    >>> print(date_time("TIMESTAMP", "1970-01-01 00:00:01.50").type)
    TIMESTAMP(2) NOT NULL
    """
    value = value.strip()
    if kind == "DATE":
        return Literal(_day(kind, value, value), DATE.with_nullable(False))
    if kind == "TIME":
        nanos, digits = _clock(kind, value, value)
        return Literal(nanos // 1_000_000, TimeType(min(digits, 3), nullable=False))
    day, _, clock = value.partition(" ")
    clock = clock or "00:00:00"
    nanos, digits = _clock(kind, value, clock)
    total = _day(kind, value, day) * 86_400_000_000_000 + nanos
    if digits > 6 and not -(2**63) <= total < 2**63:
        raise BadLiteral(f"{kind} '{value}' with nanoseconds is not between the years 1678 and 2261")
    return Literal(total, TimestampType(min(digits, 9), local=kind != "TIMESTAMP", nullable=False))


_FORMATS = {"DATE": "yyyy-MM-dd", "TIME": "HH:mm:ss", "TIMESTAMP": "yyyy-MM-dd HH:mm:ss"}


def _illegal(kind: str, value: str) -> BadLiteral:
    return BadLiteral(f"Illegal {kind} literal '{value}': not in format '{_FORMATS.get(kind, _FORMATS['TIMESTAMP'])}'")


def _day(kind: str, whole: str, part: str) -> int:
    match = _DATE.fullmatch(part)
    found = None if match is None else from_text.days(int(match[1]), int(match[2]), int(match[3]))
    if found is None or _GAP[0] <= found <= _GAP[1]:
        raise _illegal(kind, whole)
    return found


def _clock(kind: str, whole: str, part: str) -> tuple[int, int]:
    match = _TIME.fullmatch(part)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 59:
        raise _illegal(kind, whole)
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    fraction = (match[4] or "")[:9]
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0")), len(fraction)


_MILLIS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_ORDER = ("DAY", "HOUR", "MINUTE", "SECOND")
_LIMITS = {"HOUR": 23, "MINUTE": 59, "SECOND": 59, "MONTH": 11}


def interval(value: str, qualifier: IntervalQualifier, negative: bool = False) -> Literal:
    """Returns the literal of an interval: months or milliseconds.

    >>> interval("1 12", IntervalQualifier("DAY", "HOUR")).value
    129600000
    """
    stripped = value.strip()
    sign = -1 if negative else 1
    if stripped[:1] in ("-", "+"):
        sign *= -1 if stripped[0] == "-" else 1
        stripped = stripped[1:]
    problem = BadLiteral(f"Illegal interval literal format '{value}' for INTERVAL {qualifier}")
    start, end = qualifier.start, qualifier.end
    if start in _MONTHS:
        amount = _year_month(stripped, start, end)
        if amount is None:
            raise problem
        return Literal(sign * amount, MONTHS.with_nullable(False))
    units = [start] if end is None else list(_ORDER[_ORDER.index(start) : _ORDER.index(end) + 1])
    pattern = ""
    for index, unit in enumerate(units):
        separator = "" if index == 0 else " " if units[index - 1] == "DAY" else ":"
        pattern += separator + (r"(\d+)(?:\.(\d{1,6}))?" if unit == "SECOND" else r"(\d+)")
    match = re.fullmatch(pattern, stripped)
    if match is None:
        raise problem
    if len(match[1]) > (qualifier.precision or 2):
        raise BadLiteral(
            f"Interval field value {match[1]} exceeds precision of {start}({qualifier.precision or 2}) field"
        )
    total = 0
    for index, unit in enumerate(units):
        amount = int(match[index + 1])
        if index and amount > _LIMITS[unit]:
            raise problem
        total += amount * _MILLIS[unit]
    if units[-1] == "SECOND":
        total += int((match[len(units) + 1] or "")[:3].ljust(3, "0"))
    return Literal(sign * total, MILLISECONDS.with_nullable(False))


def _year_month(value: str, start: str, end: str | None) -> int | None:
    if end is None:
        return int(value) * _MONTHS[start] if value.isdigit() else None
    match = re.fullmatch(r"(\d+)-(\d+)", value)
    return None if match is None or int(match[2]) > 11 else int(match[1]) * 12 + int(match[2])
