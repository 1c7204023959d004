"""Text as values of other types. Each parser returns None for text that it does not accept."""

from __future__ import annotations

import calendar
import datetime
import decimal
import re

from penstock.runtime.relational.functions.numbers import fitted
from penstock.types.logical.kinds import DecimalType, TimestampType, TimeType

_BLANKS = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"([+-]?)(\d*)(?:\.\d*)?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUE = {"t", "true", "y", "yes", "1"}
_FALSE = {"f", "false", "n", "no", "0"}
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def parse_integer(text: str, bits: int) -> int | None:
    """Parses an integer; digits behind a point are cut off.

    >>> parse_integer(" 42 ", 32), parse_integer("1.9", 32), parse_integer("300", 8), parse_integer("1e3", 32)
    (42, 1, None, None)
    """
    match = _INTEGER.fullmatch(text.strip(_BLANKS))
    if match is None or match.end() == match.end(1) or (not match[2] and match[0].strip("+-") == ""):
        return None
    value = int(match[1] + (match[2] or "0"))
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def parse_decimal(text: str, type_: DecimalType) -> decimal.Decimal | None:
    """Parses a decimal and rounds it half up.

    >>> parse_decimal("1e3", DecimalType(10, 2))
    Decimal('1000.00')
    """
    text = text.strip(_BLANKS)
    return fitted(decimal.Decimal(text), type_) if _DECIMAL.fullmatch(text) else None


def parse_boolean(text: str) -> bool | None:
    """
    >>> parse_boolean("T"), parse_boolean("no"), parse_boolean("perhaps")
    (True, False, None)
    """
    text = text.lower()
    return True if text in _TRUE else False if text in _FALSE else None


def days(year: int, month: int, day: int) -> int | None:
    """Returns the days since 1970 of a date, None if there is no such day."""
    try:
        return datetime.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def day_of_month(year: int, month: int, day: int) -> int | None:
    """The same, but a day up to 31 behind the end of a month is its last day, as in Java.

    >>> day_of_month(1970, 2, 30) == days(1970, 2, 28)
    True
    """
    if not 1 <= month <= 12 or not 1 <= year <= 9999:
        return None
    return days(year, month, min(day, calendar.monthrange(year, month)[1])) if 1 <= day <= 31 else None


_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2})(?: .*)?)?)?", re.S)


def parse_date(text: str) -> int | None:
    """Parses yyyy[-m[-d]]; what follows a blank is ignored.

    >>> parse_date("1970-01-02"), parse_date("1970-2"), parse_date("2023-02-29")
    (1, 31, None)
    """
    match = _DATE.fullmatch(text.strip(_BLANKS))
    if match is None:
        return None
    return days(int(match[1]), int(match[2] or 1), int(match[3] or 1))


_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?")


def parse_time(text: str, type_: TimeType) -> int | None:
    """Parses h[:m[:s[.fraction]]] as milliseconds of the day."""
    match = _TIME.fullmatch(text.strip(_BLANKS))
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    milli = (
        (int((match[4] or "")[:4].ljust(4, "0")) + 5) // 10
        if len(match[4] or "") > 3
        else int((match[4] or "").ljust(3, "0"))
    )
    step: int = 10 ** max(0, 3 - type_.precision)
    return ((hour * 60 + minute) * 60 + second) * 1000 + milli // step * step


_TIMESTAMP = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?")


def parse_timestamp(text: str) -> int | None:
    """Parses yyyy-MM-dd[ HH:mm:ss[.fraction]] as nanoseconds since 1970.

    >>> parse_timestamp("1970-01-01 00:00:01.5"), parse_timestamp("1970-01-01T00:00:00")
    (1500000000, None)
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    day = day_of_month(int(match[1]), int(match[2]), int(match[3]))
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), int(match[6] or 0)
    midnight = hour == 24 and not minute and not second and not int(match[7] or 0)  # the end of the day
    if day is None or (hour > 23 and not midnight) or minute > 59 or second > 59:
        return None
    return (((day * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000_000 + int((match[7] or "").ljust(9, "0"))


def cut_timestamp(nanos: int, type_: TimestampType) -> int:
    """Cuts off the digits that a type has no place for."""
    step: int = 10 ** (9 - type_.precision)
    return nanos // step * step


_YEAR_MONTH = re.compile(r"([+-]?)(\d+)-(\d+)")
_DAY_TIME = re.compile(r"([+-]?)(\d+) (\d+):(\d+):(\d+)(?:\.(\d{1,3}))?")


def parse_months(text: str) -> int | None:
    """Parses years-months."""
    match = _YEAR_MONTH.fullmatch(text.strip(_BLANKS))
    if match is None:
        return None
    return (-1 if match[1] == "-" else 1) * (int(match[2]) * 12 + int(match[3]))


def parse_milliseconds(text: str) -> int | None:
    """Parses days hours:minutes:seconds.fraction."""
    match = _DAY_TIME.fullmatch(text.strip(_BLANKS))
    if match is None:
        return None
    total = ((int(match[2]) * 24 + int(match[3])) * 60 + int(match[4])) * 60 + int(match[5])
    return (-1 if match[1] == "-" else 1) * (total * 1000 + int((match[6] or "").ljust(3, "0")))
