"""Formats points in time, watermarks and lags."""

from __future__ import annotations

import time

from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.units import format_duration


def format_time(seconds: float) -> str:
    """Seconds since 1970 as date and time in the time zone of this machine."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def format_watermark(watermark: int | None) -> str:
    """A watermark as date and time in UTC; empty before the first one.

    >>> format_watermark(1_767_258_000_000), format_watermark(MIN_WATERMARK), format_watermark(MAX_WATERMARK)
    ('2026-01-01 09:00:00', '', 'end')
    """
    if watermark is None or watermark <= MIN_WATERMARK:
        return ""
    if watermark >= MAX_WATERMARK:
        return "end"
    if (
        not -62_000_000_000_000 < watermark < 250_000_000_000_000
    ):  # outside the years 1 to 9999: the times are plain numbers
        return f"{watermark:,}"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(watermark / 1000))


def format_lag(watermark: int | None, now: float) -> str:
    """How far a watermark is behind the clock; empty if there is no watermark.

    >>> format_lag(1_000, 4.5), format_lag(None, 4.5)
    ('3.5 s', '')
    """
    if watermark is None or not MIN_WATERMARK < watermark < MAX_WATERMARK:
        return ""
    return format_duration(max(0.0, now - watermark / 1000))
