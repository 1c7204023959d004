"""Single values from text and to text as Flink's formats have them: JSON's strings and the fields of CSV."""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

from penstock.time import Instant
from penstock.types import BasicType, BasicTypeInfo, DateTypeInfo, PrimitiveArrayTypeInfo, TimeTypeInfo, TypeInformation
from penstock.types.basic import RANGES
from penstock.types.collection import BytesTypeInfo

Parse = Callable[[str], Any]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "+Infinity": float("inf"), "-Infinity": float("-inf")}
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?")


def whole(text: str, kind: BasicType) -> int:
    """A whole number, within the range of its type.

    >>> whole(" 12", BasicType.INT)
    12
    """
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r:.80} is no whole number")
    number = int(text)
    limits = RANGES.get(kind)
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise ValueError(f"{text:.80} is outside of {kind.name}, which goes from {limits[0]} to {limits[1]}")
    return number


def real(text: str) -> float:
    """A floating-point number.

    >>> real("1e3"), real("-Infinity")
    (1000.0, -inf)
    """
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r:.80} is no number")
    return float(text.rstrip("fFdD"))


def single(text: str) -> float:
    """A floating-point number of single precision."""
    rounded: float = BasicTypeInfo(BasicType.FLOAT).convert(real(text))
    return rounded


def decimal_of(text: str) -> decimal.Decimal:
    """A decimal number."""
    text = text.strip()
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r:.80} is no decimal number")
    return decimal.Decimal(text)


def truth(text: str) -> bool:
    """Flink takes every text but "true" for false."""
    return text.strip().lower() == "true"


def base64_of(text: str) -> bytes:
    """Bytes."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r:.80} is no base64: {error}") from None


def date_of(text: str) -> datetime.date:
    """A date such as 2024-05-01."""
    try:
        if len(text) == 10:
            return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no date: {error}") from None
    raise ValueError(f"{text!r:.80} is no date; it is written as 2024-05-01")


def clock_of(text: str) -> datetime.time:
    """A time of day such as 12:30:00.5; what is less than a microsecond is cut off."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r:.80} is no time; it is written as 12:30:00 or 12:30:00.123")
    hours, minutes, seconds, fraction = match.groups()
    micros = int((fraction or "0").ljust(6, "0")[:6])
    try:
        return datetime.time(int(hours), int(minutes), int(seconds), micros)
    except ValueError as error:
        raise ValueError(f"{text!r} is no time: {error}") from None


def moment_of(text: str, between: str, end: str) -> datetime.datetime:
    """A date and a time of day, with a sign between them and one at the end.

    >>> moment_of("2024-05-01T12:30:00.25Z", "T", "Z")
    datetime.datetime(2024, 5, 1, 12, 30, 0, 250000)
    """
    if text[10:11] != between or not text.endswith(end):
        raise ValueError(f"{text!r:.80} is no timestamp; it is written as 2024-05-01{between}12:30:00.123{end}")
    return datetime.datetime.combine(date_of(text[:10]), clock_of(text[11 : len(text) - len(end)]))


def moment_text(moment: datetime.datetime, between: str, end: str) -> str:
    """The text of a date and a time of day; a fraction only where there is one."""
    return f"{moment:%Y-%m-%d}{between}{clock_text(moment.time())}{end}"


def clock_text(clock: datetime.time) -> str:
    """
    >>> clock_text(datetime.time(1, 2, 3, 400000))
    '01:02:03.4'
    """
    fraction = f".{clock.microsecond:06d}".rstrip("0") if clock.microsecond else ""
    return f"{clock:%H:%M:%S}{fraction}"


def instant_of(moment: datetime.datetime) -> Instant:
    """The point on the time line of a moment in UTC."""
    since = moment - datetime.datetime(1970, 1, 1)
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def moment_of_instant(instant: Instant) -> datetime.datetime:
    """The same the other way; to the microsecond."""
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(
        seconds=instant.seconds, microseconds=instant.nanos // 1000
    )


def is_binary(kind: TypeInformation) -> bool:
    """Whether values of a type are bytes."""
    return isinstance(kind, BytesTypeInfo) or (isinstance(kind, PrimitiveArrayTypeInfo) and kind.binary)


def parse_of(kind: TypeInformation) -> Parse | None:
    """How a single value of a type is read from text; None for types that formats write in ways of their own.

    >>> from penstock.types import Types
    >>> parse_of(Types.SHORT())("7")
    7
    """
    if isinstance(kind, DateTypeInfo):
        return date_of
    if isinstance(kind, TimeTypeInfo):
        return clock_of
    if is_binary(kind):
        return base64_of
    if not isinstance(kind, BasicTypeInfo) or kind.basic_type is BasicType.INSTANT:
        return None
    basic = kind.basic_type
    if basic in _SINGLE:
        return _SINGLE[basic]
    return lambda text: whole(text, basic)


_SINGLE: dict[BasicType, Parse] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: truth,
    BasicType.FLOAT: single,
    BasicType.DOUBLE: real,
    BasicType.BIG_DEC: decimal_of,
}
