"""Formats of timestamps in JSON."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.java_text import format_time, format_timestamp, parse_time, parse_timestamp

_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class TimestampFormat:
    """Functions that read and write timestamps, times and instants in one format."""

    read: Callable[[Any], datetime.datetime]
    write: Callable[[datetime.datetime], Any]
    read_time: Callable[[str], datetime.time] = parse_time
    write_time: Callable[[datetime.time], str] = format_time
    read_instant: Callable[[Any], datetime.datetime] | None = None
    write_instant: Callable[[datetime.datetime], Any] | None = None


def _parse_utc_time(text: str) -> datetime.time:
    if not text.endswith("Z"):
        raise ValueError(f"{text!r:.80} is not a time in UTC; expected the form 12:30:00Z")
    time = parse_time(text[:-1])
    if time.microsecond:
        raise ValueError(f"{text!r} has a fraction of a second, which this format does not support")
    return time


def _from_millis(value: Any) -> datetime.datetime:
    if type(value) is not int:
        raise ValueError(f"{value!r:.80} is not a number of milliseconds since 1970")
    try:
        return _EPOCH + datetime.timedelta(milliseconds=value)
    except OverflowError:
        raise ValueError(f"{value} milliseconds since 1970 is out of range for a date") from None


def _to_millis(timestamp: datetime.datetime) -> int:
    return (timestamp - _EPOCH) // datetime.timedelta(milliseconds=1)


def _text_format(separator: str, suffix: str) -> TimestampFormat:
    return TimestampFormat(
        lambda v: parse_timestamp(v, separator, suffix),
        lambda v: format_timestamp(v, separator, suffix),
        read_instant=lambda v: parse_timestamp(v, separator, "Z"),
        write_instant=lambda v: format_timestamp(v, separator, "Z"),
    )


FORMATS = {
    "RFC-3339": TimestampFormat(
        lambda v: parse_timestamp(v, "T", "Z"),
        lambda v: format_timestamp(v, "T", "Z"),
        _parse_utc_time,
        lambda v: format_time(v) + "Z",
    ),
    "SQL": _text_format(" ", ""),
    "ISO-8601": _text_format("T", ""),
    "EPOCH-MILLIS": TimestampFormat(_from_millis, _to_millis),
}


def get_timestamp_format(name: str) -> TimestampFormat:
    """Returns a format by its name.

    >>> get_timestamp_format("SQL").write(datetime.datetime(2024, 5, 1, 12))
    '2024-05-01 12:00:00'
    """
    if name not in FORMATS:
        raise ConfigError("TIMESTAMP_FORM", f"Unknown timestamp format '{name}'; expected one of {', '.join(FORMATS)}.")
    return FORMATS[name]
