"""When a record is too late (time.md section 4): one place for every operator's rule.

`watermark` is the record's effective one, so it is what `current_watermark()` shows to a function.
"""

from __future__ import annotations

from penstock.time import MAX_WATERMARK


def cleanup_time(max_timestamp: int, lateness: int) -> int:
    """When a window's state is dropped; the end of time, hence never, if the sum is beyond it.

    >>> cleanup_time(9, 5)
    14
    """
    time = max_timestamp + lateness
    return time if time < MAX_WATERMARK else MAX_WATERMARK


def window_is_late(cleanup: int, watermark: int) -> bool:
    """Whether a window with a cleanup time is closed; of a session, the merged window is asked about.

    >>> window_is_late(9, 9), window_is_late(9, 8)
    (True, False)
    """
    return cleanup <= watermark


def element_is_late(timestamp: int, lateness: int, watermark: int) -> bool:
    """Whether an element that no window took is late; else it just belongs to no window.

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
