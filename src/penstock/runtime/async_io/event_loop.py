"""An asyncio event loop in a thread of its own: one for all asynchronous functions of a process.

It has a thread of its own so that a function that holds the loop cannot hold the worker: whoever waits for the loop notices
that nothing moves there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, ClassVar, TypeVar

R = TypeVar("R")

_TICK = 0.25  # seconds between two looks at a loop that is waited for


class LoopBlocked(Exception):  # noqa: N818 - what it says is what happened
    """The loop did not turn for too long; `task` ran in it, and the traceback shows where."""

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        super().__init__("the event loop does not turn")
        self.task = task


class EventLoop:
    """A running loop. Borrow it, and give it back."""

    _shared: ClassVar[EventLoop | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._borrowers = 0
        self._pid = os.getpid()
        self._heard = 0  # of pings
        self.usable = True
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="penstock-async", daemon=True)
        self._thread.start()

    @classmethod
    def borrow(cls) -> EventLoop:
        """The process's loop; a new one if there is none, or if the last one is stuck."""
        with cls._lock:
            shared = cls._shared
            if shared is None or not shared.usable or shared._pid != os.getpid():
                shared = cls._shared = EventLoop()
            shared._borrowers += 1
            return shared

    def give_back(self) -> None:
        """The loop ends with its last borrower."""
        self._borrowers -= 1
        if self._borrowers == 0 and self._pid == os.getpid():
            self.abandon()
            self._thread.join(_TICK)

    def abandon(self) -> None:
        """Nobody uses the loop any more; it ends when what runs in it lets it."""
        with EventLoop._lock:
            if EventLoop._shared is self:
                EventLoop._shared = None
            if not self.usable:
                return
            self.usable = False
        with contextlib.suppress(RuntimeError):  # it is closed already
            self.loop.call_soon_threadsafe(self.loop.stop)

    def run(self, coroutine: Coroutine[Any, Any, R], most_silent: float) -> R:
        """Runs a coroutine to its end and gives its result.

        Raises `LoopBlocked` when the loop does not turn for `most_silent` seconds; it is abandoned then.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        silent, heard = 0, -1
        try:
            while True:
                try:
                    return future.result(_TICK)
                except TimeoutError:
                    if future.done():
                        raise
                if heard != self._heard:
                    silent, heard = 0, self._heard
                    self.loop.call_soon_threadsafe(self._hear)
                    continue
                silent += 1  # counted in looks, not by a clock: a machine that slept has not been silent
                if silent * _TICK >= most_silent or not self._thread.is_alive():
                    raise self._blocked()
        except BaseException:
            future.cancel()
            raise

    def _hear(self) -> None:
        self._heard += 1

    def _blocked(self) -> LoopBlocked:
        blocked = LoopBlocked(asyncio.current_task(self.loop))
        frame = sys._current_frames().get(self._thread.ident or 0)
        trace = None
        while frame is not None:
            trace = TracebackType(trace, frame, max(frame.f_lasti, 0), frame.f_lineno or 0)
            frame = frame.f_back
        self.abandon()
        return blocked.with_traceback(trace)

    def _turn(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.usable = False
            try:
                self.loop.run_until_complete(self._end())
            finally:
                self.loop.close()

    async def _end(self) -> None:
        """What still runs is cancelled; what does not hear it is left."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_TICK)
        await self.loop.shutdown_asyncgens()
