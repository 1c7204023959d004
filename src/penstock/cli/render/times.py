"""How numbers, sizes and times are written for people."""

from __future__ import annotations

import time

from penstock.time import MAX_WATERMARK, MIN_WATERMARK


def counted(n: int, one: str, more: str) -> str:
    """A number with its noun.

    >>> counted(1, "batch", "batches"), counted(2, "batch", "batches")
    ('1 batch', '2 batches')
    """
    return f"{n:,} {one if n == 1 else more}"


def size_of(size: float) -> str:
    """Bytes as people read them.

    >>> size_of(512), size_of(3_500_000)
    ('512 B', '3.5 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def span_of(seconds: float) -> str:
    """A span of time, in its two largest units.

    >>> span_of(0.83), span_of(12), span_of(185), span_of(8040), span_of(270_000)
    ('0.8 s', '12 s', '3 min 5 s', '2 h 14 min', '3 d 3 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    rest = int(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, length)
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
    return " ".join(part for part in parts[:2] if part)


def moment(seconds: float) -> str:
    """A moment of this machine's clock, in its own zone."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def event_time(watermark: int | None) -> str:
    """How far event time has come, in UTC.

    >>> event_time(1_767_258_000_000), event_time(MIN_WATERMARK), event_time(MAX_WATERMARK)
    ('2026-01-01 09:00:00', '', 'end')
    """
    if watermark is None or watermark <= MIN_WATERMARK:
        return ""
    if watermark >= MAX_WATERMARK:
        return "end"
    if not -62_000_000_000_000 < watermark < 250_000_000_000_000:  # no year of the calendar: numbers stand for times
        return f"{watermark:,}"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(watermark / 1000))


def lag_of(watermark: int | None, now: float) -> str:
    """How far a watermark is behind the clock, if it is one of the calendar's.

    >>> lag_of(1_000, 4.5), lag_of(None, 4.5)
    ('3.5 s', '')
    """
    if watermark is None or not MIN_WATERMARK < watermark < MAX_WATERMARK:
        return ""
    return span_of(max(0.0, now - watermark / 1000))
