"""Warns of a key whose timers register themselves again at their own time, or earlier, so that they fire forever."""

from __future__ import annotations

import logging
from typing import Any

from penstock.runtime.failure import short_repr
from penstock.runtime.loop.call_watch import IMMEDIATELY
from penstock.runtime.state.timers import Timer

_log = logging.getLogger("penstock.operator")
_LIMIT = 10_000  # firings of one key in one batch that do not advance time
_NO_KEY = object()


class RepeatedTimers:
    """Counts timers that were registered by a timer and fire no later than it.

    Such timers are the next to fire, so those of one key follow each other without timers of other keys in between.
    """

    __slots__ = ("_count", "_highest", "_key", "_name", "_reported")

    def __init__(self, name: str) -> None:
        self._name = name
        self._key: Any = _NO_KEY
        self._highest = 0  # the latest time at which a timer of the key has fired
        self._count = 0
        self._reported = False

    def begin_batch(self) -> None:
        self._key = _NO_KEY

    def add(self, timer: Timer) -> None:
        """Counts a timer that fires. Warns once."""
        if timer.key != self._key:
            self._key, self._highest, self._count = timer.key, timer.time, 0
        elif timer.time > self._highest:
            self._highest = timer.time
        else:
            self._count += 1
            if self._count >= _LIMIT and not self._reported:
                self._reported = True
                _log.warning("%s", self._message(timer), extra=IMMEDIATELY)

    def _message(self, timer: Timer) -> str:
        return (
            f"Operator '{self._name}' has fired {self._count:,} timers of key {short_repr(timer.key)} in one batch, the last one "
            f"at {timer.time}, and none of them advances the time. A timer that on_timer registers at its own time or earlier "
            "fires again immediately, so the batch may never end. Register the next timer at a later time than the one that fires."
        )
