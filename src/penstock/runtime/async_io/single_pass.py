"""One pass of an asynchronous function over a list of values.

A fixed number of workers take the next value when they have finished one. So there is no task, no timer and no future of ours
per value; one timer for all looks for calls that take too long.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

from penstock.errors import UserFunctionError

Invoke = Callable[[Any], Awaitable[Any]]

_TURN = 0.02  # seconds after which workers let the loop turn
_LOOKS = 20  # at most, for late calls, in the time that a call has


class AsyncPass:
    """The calls for some values. All of it but the constructor runs in the event loop."""

    def __init__(
        self,
        invoke: Invoke,
        values: list[Any],
        capacity: int,
        timeout: float,
        grace: float,
        timed_out: Callable[[Any], Any],
        fail_fast: bool,
    ) -> None:
        self._invoke = invoke
        self._values = values
        self._timeout = timeout
        self._grace = grace  # for calls to end that were cancelled because the pass ends,
        self._long_grace = max(grace, timeout)  # and for one that took too long
        self._timed_out = timed_out
        self._fail_fast = fail_fast
        self.checked: Callable[[Any], Any] | None = None
        self.results: list[Any] = [None] * len(values)
        self.failed: dict[int, Exception] = {}
        self.fatal: tuple[int, Exception] | None = None  # ends the pass
        self.timeouts = 0
        self.leftover = False  # calls still run that were cancelled
        workers = min(capacity, len(values))
        self._todo = iter(range(len(values)))
        self._at = [-1] * workers  # the value that each worker is at,
        self._since = [inf] * workers  # and when its call began or was cancelled
        self._expired: set[int] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._working = workers

    def index_of(self, task: asyncio.Task[Any] | None) -> int:
        """The value that a task is at; -1 for a task that is none of ours."""
        return next((self._at[worker] for worker, ours in enumerate(self._tasks) if ours is task), -1)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._clock = loop.time
        self._finished = loop.create_future()
        self._turning = False
        self._turn_by = self._clock() + _TURN
        for worker in range(self._working):
            task = loop.create_task(self._work(worker))
            task.add_done_callback(self._count)
            self._tasks.append(task)
        self._look = loop.call_later(self._timeout, self._look_for_late_calls)
        try:
            if self._tasks:
                await self._finished
        finally:
            self._look.cancel()
            self._begin_no_more()
            running = [task for task in self._tasks if not task.done()]
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running, timeout=self._grace)
            self.leftover = any(not task.done() for task in running)

    def _count(self, task: asyncio.Task[None]) -> None:
        self._working -= 1
        if not task.cancelled() and (error := task.exception()) is not None:
            self._end((self.index_of(task), _as_exception(error)))
        elif self._working == 0:
            self._end(None)

    def _end(self, fatal: tuple[int, Exception] | None) -> None:
        if not self._finished.done():
            self.fatal = fatal
            self._finished.set_result(None)
            self._begin_no_more()

    def _begin_no_more(self) -> None:
        """No worker finds another value."""
        deque(self._todo, maxlen=0)

    def _fail(self, index: int, error: Exception) -> None:
        self.failed[index] = error
        if self._fail_fast:
            self._end((index, error))

    async def _work(self, worker: int) -> None:
        """Value after value, until none is left."""
        invoke, values, results, checked = self._invoke, self._values, self.results, self.checked
        at, since, clock, expired = self._at, self._since, self._clock, self._expired
        for index in self._todo:
            now = clock()
            if now >= self._turn_by:
                since[worker] = inf
                await self._turn()
                now = clock()
            at[worker] = index
            since[worker] = now
            try:
                result = await invoke(values[index])
                if index not in expired:
                    results[index] = result if checked is None else checked(result)
            except asyncio.CancelledError as error:
                if index not in expired:
                    if self._tasks[worker].cancelling():
                        raise
                    self._fail(index, _as_exception(error))
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                if index not in expired:
                    self._fail(index, _as_exception(error))
            if expired and index in expired:
                await self._time_out(worker, index)
        since[worker] = inf

    async def _turn(self) -> None:
        """Lets the loop turn: calls that answer without waiting would else hold it for the whole pass.

        Until it has turned, all workers come here after each call.
        """
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._has_turned)
        await asyncio.sleep(0)

    def _has_turned(self) -> None:
        self._turning = False
        self._turn_by = self._clock() + _TURN

    async def _time_out(self, worker: int, index: int) -> None:
        """The call was cancelled, whatever it made of that."""
        self._tasks[worker].uncancel()
        self.timeouts += 1
        self._since[worker] = self._clock()
        try:
            result = self._timed_out(self._values[index])
            if inspect.isawaitable(result):
                result = await result
            self.results[index] = result if self.checked is None else self.checked(result)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self._fail(index, _as_exception(error))

    def _look_for_late_calls(self) -> None:
        now = self._clock()
        soonest = now + self._timeout  # of a call that begins now
        for worker, since in enumerate(self._since):
            index = self._at[worker]
            expired = index in self._expired
            due = since + (self._long_grace if expired else self._timeout)
            if due <= now:
                if expired:
                    self._end((index, _stuck()))
                    return
                self._expired.add(index)
                self._since[worker] = now
                self._tasks[worker].cancel()
            else:
                soonest = min(soonest, due)
        at = max(soonest, now + self._timeout / _LOOKS)
        self._look = asyncio.get_running_loop().call_at(at, self._look_for_late_calls)


def _as_exception(error: BaseException) -> Exception:
    """What ends a program, or a task that the function waited for, must not end the loop."""
    if isinstance(error, Exception):
        return error
    told = RuntimeError(f"the call raised {type(error).__name__}({error})")
    return told.with_traceback(error.__traceback__)


def _stuck() -> UserFunctionError:
    return UserFunctionError(
        "ASYNC_STUCK",
        "An asynchronous call was cancelled, since its timeout had passed, and goes on all the same. Let it pass "
        "asyncio.CancelledError on: catch Exception, and not BaseException or everything.",
    )
