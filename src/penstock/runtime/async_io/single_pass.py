"""One pass of an asynchronous function over a list of values.

A fixed number of workers each take the next value when they have finished one. So no task, timer or future is needed per value;
one timer checks all calls for timeouts.
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

_YIELD_INTERVAL = 0.02  # seconds after which workers yield to the event loop
_MAX_CHECKS = 20  # for timeouts, within one timeout


class AsyncPass:
    """The calls for a list of values. All methods except the constructor run in the event loop."""

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
        self._grace = grace  # for calls that were cancelled because the pass ends
        self._long_grace = max(grace, timeout)  # for a call that exceeded its timeout
        self._timed_out = timed_out
        self._fail_fast = fail_fast
        self.check: Callable[[Any], Any] | None = None
        self.results: list[Any] = [None] * len(values)
        self.failed: dict[int, Exception] = {}
        self.fatal: tuple[int, Exception] | None = None  # the error that ends the pass
        self.timeouts = 0
        self.leftover = False  # whether cancelled calls are still running
        workers = min(capacity, len(values))
        self._remaining = iter(range(len(values)))
        self._current = [-1] * workers  # index of the value of each worker
        self._since = [inf] * workers  # when its call started or was cancelled
        self._expired: set[int] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._active = workers

    def index_of(self, task: asyncio.Task[Any] | None) -> int:
        """Returns the index of the value of a task; -1 for another task."""
        return next((self._current[worker] for worker, known in enumerate(self._tasks) if known is task), -1)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._clock = loop.time
        self._finished = loop.create_future()
        self._yielding = False
        self._yield_at = self._clock() + _YIELD_INTERVAL
        for worker in range(self._active):
            task = loop.create_task(self._work(worker))
            task.add_done_callback(self._worker_done)
            self._tasks.append(task)
        self._timeout_check = loop.call_later(self._timeout, self._check_timeouts)
        try:
            if self._tasks:
                await self._finished
        finally:
            self._timeout_check.cancel()
            self._drop_remaining()
            running = [task for task in self._tasks if not task.done()]
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running, timeout=self._grace)
            self.leftover = any(not task.done() for task in running)

    def _worker_done(self, task: asyncio.Task[None]) -> None:
        self._active -= 1
        if not task.cancelled() and (error := task.exception()) is not None:
            self._end((self.index_of(task), _as_exception(error)))
        elif self._active == 0:
            self._end(None)

    def _end(self, fatal: tuple[int, Exception] | None) -> None:
        if not self._finished.done():
            self.fatal = fatal
            self._finished.set_result(None)
            self._drop_remaining()

    def _drop_remaining(self) -> None:
        """Makes the workers stop after their current value."""
        deque(self._remaining, maxlen=0)

    def _fail(self, index: int, error: Exception) -> None:
        self.failed[index] = error
        if self._fail_fast:
            self._end((index, error))

    async def _work(self, worker: int) -> None:
        """Calls the function for one value after another."""
        invoke, values, results, check = self._invoke, self._values, self.results, self.check
        current, since, clock, expired = self._current, self._since, self._clock, self._expired
        for index in self._remaining:
            now = clock()
            if now >= self._yield_at:
                since[worker] = inf
                await self._yield_to_loop()
                now = clock()
            current[worker] = index
            since[worker] = now
            try:
                result = await invoke(values[index])
                if index not in expired:
                    results[index] = result if check is None else check(result)
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

    async def _yield_to_loop(self) -> None:
        """Yields to the event loop, because calls that return without waiting would block it for the complete pass.

        Until the loop has run, all workers yield after each call.
        """
        if not self._yielding:
            self._yielding = True
            asyncio.get_running_loop().call_soon(self._loop_ran)
        await asyncio.sleep(0)

    def _loop_ran(self) -> None:
        self._yielding = False
        self._yield_at = self._clock() + _YIELD_INTERVAL

    async def _time_out(self, worker: int, index: int) -> None:
        """Handles a call that was cancelled after its timeout, whatever the call returned or raised."""
        self._tasks[worker].uncancel()
        self.timeouts += 1
        self._since[worker] = self._clock()
        try:
            result = self._timed_out(self._values[index])
            if inspect.isawaitable(result):
                result = await result
            self.results[index] = result if self.check is None else self.check(result)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self._fail(index, _as_exception(error))

    def _check_timeouts(self) -> None:
        now = self._clock()
        soonest = now + self._timeout  # of a call that starts now
        for worker, since in enumerate(self._since):
            index = self._current[worker]
            expired = index in self._expired
            due = since + (self._long_grace if expired else self._timeout)
            if due <= now:
                if expired:
                    self._end((index, _stuck_error()))
                    return
                self._expired.add(index)
                self._since[worker] = now
                self._tasks[worker].cancel()
            else:
                soonest = min(soonest, due)
        at = max(soonest, now + self._timeout / _MAX_CHECKS)
        self._timeout_check = asyncio.get_running_loop().call_at(at, self._check_timeouts)


def _as_exception(error: BaseException) -> Exception:
    """Converts exceptions that would end the program or the event loop, such as SystemExit."""
    if isinstance(error, Exception):
        return error
    exception = RuntimeError(f"the call raised {type(error).__name__}({error})")
    return exception.with_traceback(error.__traceback__)


def _stuck_error() -> UserFunctionError:
    return UserFunctionError(
        "ASYNC_STUCK",
        "An asynchronous call was cancelled after its timeout, but is still running. It must not suppress "
        "asyncio.CancelledError: catch Exception instead of BaseException, and use no bare except.",
    )
