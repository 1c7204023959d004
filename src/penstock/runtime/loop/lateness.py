"""The rules of all operators for late records and allowed lateness (time-rules 4.1, 4.2, 4.3).

`watermark` is the effective watermark of the record, which is also what `current_watermark()` returns to a function.
"""

from __future__ import annotations

from penstock.time import MAX_WATERMARK


def cleanup_time(max_timestamp: int, lateness: int) -> int:
    """Returns when the state of a window is dropped; at most the maximum watermark, which means never.

    >>> cleanup_time(9, 5)
    14
    """
    time = max_timestamp + lateness
    return time if time < MAX_WATERMARK else MAX_WATERMARK


def window_is_late(cleanup: int, watermark: int) -> bool:
    """Whether a window with this cleanup time is closed. For a session, pass the merged window.

    >>> window_is_late(9, 9), window_is_late(9, 8)
    (True, False)
    """
    return cleanup <= watermark


def element_is_late(timestamp: int, lateness: int, watermark: int) -> bool:
    """Whether an element that was added to no window is late. If it is not late, it belongs to no window.

    >>> element_is_late(3, 0, 3)
    True
    """
    return timestamp + lateness <= watermark


def join_is_late(timestamp: int, watermark: int) -> bool:
    """Whether an element is late for an interval join.

    >>> join_is_late(10, 10)
    False
    """
    return timestamp < watermark


def pattern_is_late(timestamp: int, watermark: int) -> bool:
    """Whether an element is late for a pattern (CEP).

    >>> pattern_is_late(10, 10)
    True
    """
    return timestamp <= watermark
