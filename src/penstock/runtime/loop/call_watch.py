"""Warns of a call of a user function that does not end, such as a generator that yields values forever.

The loops set the current element or timer for every call anyway. A thread looks at it once per second while a batch runs, so
watching costs nothing per element.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from operator import length_hint
from typing import Any

from penstock.runtime.failure import short_repr
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.state.cell import NO_KEY

_log = logging.getLogger("penstock.operator")
_INTERVAL = 1.0  # seconds between two looks
_IDLE_INTERVALS = 3  # without a batch, after which the thread ends
_LONG_CALL = 60.0  # seconds after which a call is reported,
_MANY_VALUES = 1_000_000  # or as soon as it has emitted so many values

# Marks log records that must not wait until the batch ends, because it may never end.
IMMEDIATELY = {"penstock_immediately": True}


class WatchedCalls:
    """The calls of one function, while the elements of a batch or a chunk are processed."""

    __slots__ = ("_before", "_call", "_name", "_reported", "_since", "_values")

    def __init__(self, name: str, values: list[Any]) -> None:
        self._name = name
        self._values = values  # that the calls have emitted
        self._call: tuple[int, Any] | None = None  # the call that was running at the last look
        self._since = 0.0
        self._before = 0  # values that were emitted before the call
        self._reported = False

    def current_call(self) -> tuple[int, Any] | None:
        """Returns a number and an object that are different for each call; None if no call is running."""
        raise NotImplementedError

    def subject(self) -> str:
        """Returns what the current call processes."""
        raise NotImplementedError

    def look(self, now: float) -> None:
        """Warns if the call that was running at an earlier look still runs and takes too long. Warns once."""
        before, self._call = self._call, self.current_call()
        call = self._call
        if call is None or before is None or call[0] != before[0] or call[1] is not before[1]:
            self._since, self._before = now, len(self._values)
            return
        seconds, values = now - self._since, len(self._values) - self._before
        if not self._reported and (seconds >= _LONG_CALL or values >= _MANY_VALUES):
            self._reported = True
            _log.warning("%s", self._message(seconds, values), extra=IMMEDIATELY)

    def _message(self, seconds: float, values: int) -> str:
        what = f"Operator '{self._name}' has been processing {self.subject()} for {seconds:.0f} s"
        if values:
            return (
                f"{what} and has emitted {values:,} values since. The batch ends when the function returns. If its generator "
                "never ends, cancel the job and correct the loop."
            )
        return (
            f"{what}. The batch ends when the function returns. If it waits for a service, set a timeout. If its loop never "
            "ends, cancel the job and correct the loop."
        )


class LoopCalls(WatchedCalls):
    """The calls of an operator in a loop."""

    __slots__ = ("_context",)

    def __init__(self, name: str, context: OperatorContext, values: list[Any]) -> None:
        super().__init__(name, values)
        self._context = context

    def current_call(self) -> tuple[int, Any] | None:
        index, timer = self._context.index, self._context.fired
        return None if index < 0 and timer is None else (index, timer)

    def subject(self) -> str:
        timer, key = self._context.fired, self._context.cell.at
        call = "an element" if timer is None else f"the timer {timer.time}"
        return call if key is NO_KEY or key is None else f"{call} of key {short_repr(key)}"


class ChunkCalls(WatchedCalls):
    """The calls of a function for the elements of a chunk. `rest` iterates over them."""

    __slots__ = ("_elements", "_rest")

    def __init__(self, name: str, elements: list[Any], rest: Iterator[Any], values: list[Any]) -> None:
        super().__init__(name, values)
        self._elements = elements
        self._rest = rest

    def current_call(self) -> tuple[int, Any] | None:
        return length_hint(self._rest), None

    def subject(self) -> str:
        at = len(self._elements) - length_hint(self._rest) - 1
        return f"the element {short_repr(self._elements[max(0, at)])}"


class CallWatch:
    """Watches the calls of this process, in a thread that ends when no batch runs for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[WatchedCalls] = []
        self._thread: threading.Thread | None = None

    def begin(self, calls: WatchedCalls) -> None:
        self._running.append(calls)
        if self._thread is None:
            self._start()

    def end(self, calls: WatchedCalls) -> None:
        self._running.remove(calls)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="penstock-call-watch", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        idle = 0
        while True:
            time.sleep(_INTERVAL)
            running, now = list(self._running), time.monotonic()
            for calls in running:
                calls.look(now)
            idle = 0 if running else idle + 1
            if idle >= _IDLE_INTERVALS:
                self._thread = None
                if not self._running:
                    return
                with self._lock:  # a batch has begun meanwhile, and may have started another thread
                    if self._thread is not None:
                        return
                    self._thread, idle = threading.current_thread(), 0

    def reset(self) -> None:
        """Forgets the thread and the calls of the parent process after a fork."""
        self._lock, self._running, self._thread = threading.Lock(), [], None


watch = CallWatch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=watch.reset)
