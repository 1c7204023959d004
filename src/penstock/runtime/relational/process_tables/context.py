"""What a process table function can do while it processes a row or a timer."""

from __future__ import annotations

import datetime
from typing import Any

from penstock.time import MIN_WATERMARK

_EPOCH = datetime.datetime(1970, 1, 1)


class ProcessTableContext:
    """Time, timers and state of the current partition. Times are milliseconds since 1970.

    A timer has a name, or only a time. Registering a timer with the same name again replaces it.
    """

    def __init__(self) -> None:
        self.row_time: int | None = None
        self.watermark = MIN_WATERMARK
        self.timers: dict[str, int] = {}
        self.fired: str | None = None
        self.state_cleared = False

    def time(self) -> int | None:
        """Returns the time of the row (the column of `on_time`) or of the timer; None without `on_time`."""
        return self.row_time

    def current_watermark(self) -> int | None:
        """Returns the watermark, or None before the first one."""
        return None if self.watermark == MIN_WATERMARK else self.watermark

    def timer_name(self) -> str | None:
        """Returns the name of the timer in `on_timer`; None if it has no name, and in `eval`."""
        return None if self.fired is None or self.fired.startswith("@") else self.fired[1:]

    def register_on_time(self, time: int | datetime.datetime, name: str | None = None) -> None:
        """Calls `on_timer` when the watermark reaches a time. A datetime without a time zone is in UTC."""
        millis = _millis(time)
        self.timers[f"@{millis}" if name is None else f"#{name}"] = millis

    def clear_timer(self, name_or_time: str | int) -> None:
        """Removes a timer by its name, or one without a name by its time."""
        self.timers.pop(f"#{name_or_time}" if isinstance(name_or_time, str) else f"@{name_or_time}", None)

    def clear_all_timers(self) -> None:
        """Removes all timers of the partition."""
        self.timers.clear()

    def clear_state(self) -> None:
        """Removes the state of the partition. The next row finds a new one."""
        self.state_cleared = True

    def clear_all(self) -> None:
        """Removes state and timers of the partition."""
        self.clear_state()
        self.clear_all_timers()


def _millis(time: Any) -> int:
    if isinstance(time, datetime.datetime):
        plain = time if time.tzinfo is None else time.astimezone(datetime.UTC).replace(tzinfo=None)
        return (plain - _EPOCH) // datetime.timedelta(milliseconds=1)
    return int(time)
