"""Warns of a call of a user function that does not end, such as a generator that yields values forever.

The loops set the current element or timer for every call anyway. A thread looks at it once per second while a batch runs, so
watching costs nothing per element.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

from penstock.runtime.failure import short_repr
from penstock.runtime.loop.emissions import Emissions
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.state.cell import NO_KEY

_log = logging.getLogger("penstock.operator")
_INTERVAL = 1.0  # seconds between two looks
_IDLE_INTERVALS = 3  # without a batch, after which the thread ends
_LONG_CALL = 60.0  # seconds after which a call is reported,
_MANY_VALUES = 1_000_000  # or as soon as it has emitted so many values

# Marks log records that must not wait until the batch ends, because it may never end.
IMMEDIATELY = {"penstock_immediately": True}


class WatchedBatch:
    """One batch of one operator while it runs."""

    __slots__ = ("_before", "_context", "_emissions", "_name", "_position", "_since", "reported")

    def __init__(self, name: str, context: OperatorContext, emissions: Emissions) -> None:
        self._name = name
        self._context = context
        self._emissions = emissions
        self._position: tuple[int, Any] | None = None  # the current element and timer
        self._since = 0.0
        self._before = 0  # values that were emitted before the call
        self.reported = False

    def look(self, now: float) -> None:
        """Warns if the call that was running at an earlier look still runs and takes too long. Warns once per batch."""
        context, emitted = self._context, len(self._emissions.values)
        position = context.index, context.fired
        is_call = context.index >= 0 or context.fired is not None
        if not is_call or self._position is None or not _is_same(position, self._position):
            self._position, self._since, self._before = position, now, emitted
            return
        seconds, values = now - self._since, emitted - self._before
        if not self.reported and (seconds >= _LONG_CALL or values >= _MANY_VALUES):
            self.reported = True
            _log.warning("%s", self._message(seconds, values), extra=IMMEDIATELY)

    def _message(self, seconds: float, values: int) -> str:
        timer, key = self._context.fired, self._context.cell.at
        call = "an element" if timer is None else f"the timer {timer.time}"
        whose = "" if key is NO_KEY or key is None else f" of key {short_repr(key)}"
        what = f"Operator '{self._name}' has been processing {call}{whose} for {seconds:.0f} s"
        if values:
            return (
                f"{what} and has emitted {values:,} values since. The batch ends when the function returns. If its generator "
                "never ends, cancel the job and correct the loop."
            )
        return (
            f"{what}. The batch ends when the function returns. If it waits for a service, set a timeout. If its loop never "
            "ends, cancel the job and correct the loop."
        )


def _is_same(position: tuple[int, Any], other: tuple[int, Any]) -> bool:
    return position[0] == other[0] and position[1] is other[1]  # a timer that fires again is another object


class CallWatch:
    """Watches the batches that run in this process, in a thread that ends when no batch runs for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: list[WatchedBatch] = []
        self._thread: threading.Thread | None = None

    def begin(self, batch: WatchedBatch) -> None:
        self._batches.append(batch)
        if self._thread is None:
            self._start()

    def end(self, batch: WatchedBatch) -> None:
        self._batches.remove(batch)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="penstock-call-watch", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        idle = 0
        while True:
            time.sleep(_INTERVAL)
            batches, now = list(self._batches), time.monotonic()
            for batch in batches:
                batch.look(now)
            idle = 0 if batches else idle + 1
            if idle >= _IDLE_INTERVALS:
                self._thread = None
                if not self._batches:
                    return
                with self._lock:  # a batch has begun meanwhile, and may have started another thread
                    if self._thread is not None:
                        return
                    self._thread, idle = threading.current_thread(), 0

    def reset(self) -> None:
        """Forgets the thread and the batches of the parent process after a fork."""
        self._lock, self._batches, self._thread = threading.Lock(), [], None


watch = CallWatch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=watch.reset)
