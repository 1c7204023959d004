"""An asyncio event loop in a separate thread, shared by all asynchronous functions of a process.

A function that blocks the loop does not block the worker, which notices that the loop is unresponsive.
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

_TICK = 0.25  # seconds between two checks of the loop


class EventLoopBlocked(Exception):  # noqa: N818 - names what happened
    """The loop was unresponsive for too long. `task` was running, and the traceback shows where."""

    def __init__(self, task: asyncio.Task[Any] | None) -> None:
        super().__init__("the event loop is blocked")
        self.task = task


class EventLoop:
    """A running event loop. Callers acquire and release it."""

    _shared: ClassVar[EventLoop | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._users = 0
        self._pid = os.getpid()
        self._pongs = 0
        self.usable = True
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="penstock-async", daemon=True)
        self._thread.start()

    @classmethod
    def acquire(cls) -> EventLoop:
        """Returns the loop of the process; a new one if there is none or the last one is blocked."""
        with cls._lock:
            shared = cls._shared
            if shared is None or not shared.usable or shared._pid != os.getpid():
                shared = cls._shared = EventLoop()
            shared._users += 1
            return shared

    def release(self) -> None:
        """Ends the loop when its last user releases it."""
        self._users -= 1
        if self._users == 0 and self._pid == os.getpid():
            self.abandon()
            self._thread.join(_TICK)

    def abandon(self) -> None:
        """Stops using the loop. It ends as soon as the running task returns control to it."""
        with EventLoop._lock:
            if EventLoop._shared is self:
                EventLoop._shared = None
            if not self.usable:
                return
            self.usable = False
        with contextlib.suppress(RuntimeError):  # already closed
            self.loop.call_soon_threadsafe(self.loop.stop)

    def run(self, coroutine: Coroutine[Any, Any, R], max_unresponsive: float) -> R:
        """Runs a coroutine and returns its result.

        Raises `EventLoopBlocked` and abandons the loop if it is unresponsive for `max_unresponsive` seconds.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        missed, pongs = 0, -1
        try:
            while True:
                try:
                    return future.result(_TICK)
                except TimeoutError:
                    if future.done():
                        raise
                if pongs != self._pongs:
                    missed, pongs = 0, self._pongs
                    self.loop.call_soon_threadsafe(self._pong)
                    continue
                missed += 1  # counts checks instead of time, because a machine may have been suspended
                if missed * _TICK >= max_unresponsive or not self._thread.is_alive():
                    raise self._blocked()
        except BaseException:
            future.cancel()
            raise

    def _pong(self) -> None:
        self._pongs += 1

    def _blocked(self) -> EventLoopBlocked:
        blocked = EventLoopBlocked(asyncio.current_task(self.loop))
        frame = sys._current_frames().get(self._thread.ident or 0)
        trace = None
        while frame is not None:
            trace = TracebackType(trace, frame, max(frame.f_lasti, 0), frame.f_lineno or 0)
            frame = frame.f_back
        self.abandon()
        return blocked.with_traceback(trace)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.usable = False
            try:
                self.loop.run_until_complete(self._cancel_tasks())
            finally:
                self.loop.close()

    async def _cancel_tasks(self) -> None:
        """Cancels running tasks and waits for them for a short time."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_TICK)
        await self.loop.shutdown_asyncgens()
