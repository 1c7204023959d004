"""How JSON writes timestamps."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.java_text import clock_of, clock_text, moment_of, moment_text

_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class TimestampForm:
    """One way to write timestamps, times of day and instants."""

    read: Callable[[Any], datetime.datetime]
    write: Callable[[datetime.datetime], Any]
    read_clock: Callable[[str], datetime.time] = clock_of
    write_clock: Callable[[datetime.time], str] = clock_text
    read_instant: Callable[[Any], datetime.datetime] | None = None
    write_instant: Callable[[datetime.datetime], Any] | None = None


def _utc_clock(text: str) -> datetime.time:
    if not text.endswith("Z"):
        raise ValueError(f"{text!r:.80} is no time in UTC; it is written as 12:30:00Z")
    clock = clock_of(text[:-1])
    if clock.microsecond:
        raise ValueError(f"{text!r} has a part of a second, which a time in this form has not")
    return clock


def _of_millis(value: Any) -> datetime.datetime:
    if type(value) is not int:
        raise ValueError(f"{value!r:.80} is no number of milliseconds since 1970")
    try:
        return _EPOCH + datetime.timedelta(milliseconds=value)
    except OverflowError:
        raise ValueError(f"{value} milliseconds since 1970 are no date") from None


def _millis(moment: datetime.datetime) -> int:
    return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)


def _text_form(between: str, end: str) -> TimestampForm:
    return TimestampForm(
        lambda v: moment_of(v, between, end),
        lambda v: moment_text(v, between, end),
        read_instant=lambda v: moment_of(v, between, "Z"),
        write_instant=lambda v: moment_text(v, between, "Z"),
    )


FORMS = {
    "RFC-3339": TimestampForm(
        lambda v: moment_of(v, "T", "Z"),
        lambda v: moment_text(v, "T", "Z"),
        _utc_clock,
        lambda v: clock_text(v) + "Z",
    ),
    "SQL": _text_form(" ", ""),
    "ISO-8601": _text_form("T", ""),
    "EPOCH-MILLIS": TimestampForm(_of_millis, _millis),
}


def timestamp_form(name: str) -> TimestampForm:
    """A form by its name.

    >>> timestamp_form("SQL").write(datetime.datetime(2024, 5, 1, 12))
    '2024-05-01 12:00:00'
    """
    if name not in FORMS:
        raise ConfigError("TIMESTAMP_FORM", f"There is no form of timestamps '{name}'. Known: {', '.join(FORMS)}.")
    return FORMS[name]
