"""Parses and formats single values as Flink's JSON and CSV formats do."""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

from penstock.time import Instant
from penstock.types import BasicType, BasicTypeInfo
from penstock.types.basic import RANGES

Parse = Callable[[str], Any]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "+Infinity": float("inf"), "-Infinity": float("-inf")}
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?")


def parse_integer(text: str, kind: BasicType) -> int:
    """Parses an integer and checks the range of its type.

    >>> parse_integer(" 12", BasicType.INT)
    12
    """
    text = text.strip()
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r:.80} is not an integer")
    number = int(text)
    limits = RANGES.get(kind)
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise ValueError(f"{text:.80} is out of range for {kind.name}, which is {limits[0]} to {limits[1]}")
    return number


def parse_float(text: str) -> float:
    """Parses a floating-point number.

    >>> parse_float("1e3"), parse_float("-Infinity")
    (1000.0, -inf)
    """
    text = text.strip()
    if text in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[text]
    if not _FLOAT.fullmatch(text):
        raise ValueError(f"{text!r:.80} is not a number")
    return float(text.rstrip("fFdD"))


def parse_single(text: str) -> float:
    """Parses a floating-point number and rounds it to single precision."""
    rounded: float = BasicTypeInfo(BasicType.FLOAT).convert(parse_float(text))
    return rounded


def parse_decimal(text: str) -> decimal.Decimal:
    """Parses a decimal number."""
    text = text.strip()
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r:.80} is not a decimal number")
    return decimal.Decimal(text)


def parse_boolean(text: str) -> bool:
    """Parses a boolean. Like Flink, treats every string except "true" as false."""
    return text.strip().lower() == "true"


def parse_base64(text: str) -> bytes:
    """Decodes base64."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r:.80} is not valid base64: {error}") from None


def parse_date(text: str) -> datetime.date:
    """Parses a date such as 2024-05-01."""
    try:
        if len(text) == 10:
            return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date: {error}") from None
    raise ValueError(f"{text!r:.80} is not a date; expected the form 2024-05-01")


def parse_time(text: str) -> datetime.time:
    """Parses a time such as 12:30:00.5. Digits below a microsecond are dropped."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r:.80} is not a time; expected the form 12:30:00 or 12:30:00.123")
    hours, minutes, seconds, fraction = match.groups()
    micros = int((fraction or "0").ljust(6, "0")[:6])
    try:
        return datetime.time(int(hours), int(minutes), int(seconds), micros)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def parse_timestamp(text: str, separator: str, suffix: str) -> datetime.datetime:
    """Parses a timestamp with the given separator between date and time, and the given suffix.

    >>> parse_timestamp("2024-05-01T12:30:00.25Z", "T", "Z")
    datetime.datetime(2024, 5, 1, 12, 30, 0, 250000)
    """
    if text[10:11] != separator or not text.endswith(suffix):
        raise ValueError(
            f"{text!r:.80} is not a timestamp; expected the form 2024-05-01{separator}12:30:00.123{suffix}"
        )
    return datetime.datetime.combine(parse_date(text[:10]), parse_time(text[11 : len(text) - len(suffix)]))


def format_timestamp(timestamp: datetime.datetime, separator: str, suffix: str) -> str:
    """Formats a timestamp. The fraction of a second is omitted if it is 0."""
    return f"{timestamp:%Y-%m-%d}{separator}{format_time(timestamp.time())}{suffix}"


def format_time(time: datetime.time) -> str:
    """
    >>> format_time(datetime.time(1, 2, 3, 400000))
    '01:02:03.4'
    """
    fraction = f".{time.microsecond:06d}".rstrip("0") if time.microsecond else ""
    return f"{time:%H:%M:%S}{fraction}"


def to_instant(timestamp: datetime.datetime) -> Instant:
    """Converts a timestamp in UTC to an Instant."""
    since = timestamp - datetime.datetime(1970, 1, 1)
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def from_instant(instant: Instant) -> datetime.datetime:
    """Converts an Instant to a timestamp in UTC, with microsecond precision."""
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(
        seconds=instant.seconds, microseconds=instant.nanos // 1000
    )


def parser_for(basic_type: BasicType) -> Parse:
    """Returns the function that reads a value of a basic type from text.

    >>> parser_for(BasicType.SHORT)("7")
    7
    """
    if basic_type in _SINGLE:
        return _SINGLE[basic_type]
    return lambda text: parse_integer(text, basic_type)


_SINGLE: dict[BasicType, Parse] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: parse_boolean,
    BasicType.FLOAT: parse_single,
    BasicType.DOUBLE: parse_float,
    BasicType.BIG_DEC: parse_decimal,
}
