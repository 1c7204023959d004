"""Calls an asynchronous function for many values, with bounded concurrency, a timeout per call, and retries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.errors import UserFunctionError
from penstock.functions import AsyncRetryStrategy, RuntimeContext
from penstock.functions.async_function import AsyncLifecycle
from penstock.functions.async_settings import AsyncSettings
from penstock.runtime.async_io.event_loop import EventLoop, EventLoopBlocked
from penstock.runtime.async_io.single_pass import AsyncPass, Invoke
from penstock.runtime.loop.operator import IndexedError

_GRACE = (
    1.0  # seconds that the loop may be busy beyond the timeout of a call, and that a cancelled call may take to end
)
_LIFE_CYCLE = 60.0  # seconds that the loop may be unresponsive while a function opens or closes


class AsyncCalls:
    """The calls of one asynchronous function in one subtask.

    `check` is called with every result and returns what is used of it, or raises. `timed_out` returns the result of a value whose
    call exceeded its timeout.
    """

    def __init__(
        self,
        invoke: Invoke,
        settings: AsyncSettings,
        timed_out: Callable[[Any], Any],
        check: Callable[[Any], Any] | None = None,
    ) -> None:
        self._retrying = RetryingCall(invoke, settings.retry) if _has_retries(settings.retry) else None
        self._call: Invoke = self._retrying or invoke
        self._settings = settings
        self._timed_out = timed_out
        self._check = check
        self._loop: EventLoop | None = None
        self._opened: tuple[AsyncLifecycle, RuntimeContext] | None = None

    def open(self, function: Any, runtime: RuntimeContext) -> None:
        """Opens the function, if it has open and close methods."""
        group = runtime.get_metrics_group().add_group("async")
        self._call_count, self._timeout_count, self._retry_count = (
            group.counter(name) for name in ("calls", "timeouts", "retries")
        )
        if isinstance(function, AsyncLifecycle):
            self._opened = function, runtime
            function.open(runtime)
            self._usable_loop()

    def close(self) -> None:
        try:
            if self._opened is not None:
                self._usable_loop().run(self._opened[0].async_close(), _LIFE_CYCLE)
                self._opened[0].close()
        finally:
            if self._loop is not None:
                self._loop.release()
                self._loop = None

    def run(self, values: list[Any], fail_fast: bool) -> tuple[list[Any], dict[int, Exception]]:
        """Returns the results by index, and the errors of values without a result.

        With `fail_fast`, the first error ends all calls and is raised as `IndexedError`.
        """
        seconds = self._settings.timeout / 1000
        calls = AsyncPass(self._call, values, self._settings.capacity, seconds, _GRACE, self._timed_out, fail_fast)
        calls.check = self._check
        loop = self._usable_loop()
        try:
            loop.run(calls.run(), seconds + _GRACE)
        except EventLoopBlocked as blocked:
            raise IndexedError(calls.index_of(blocked.task), _blocked_error(self._settings.timeout, blocked)) from None
        finally:
            if calls.leftover:
                loop.abandon()
            self._call_count.inc(len(values))
            self._timeout_count.inc(calls.timeouts)
            if self._retrying is not None:
                self._retry_count.inc(self._retrying.take_retries())
        if calls.fatal is not None:
            raise IndexedError(*calls.fatal)
        return calls.results, calls.failed

    def _usable_loop(self) -> EventLoop:
        """Returns the event loop. If the last one was abandoned, the function is opened again in a new one."""
        if self._loop is None or not self._loop.usable:
            if self._loop is not None:
                self._loop.release()
            self._loop = EventLoop.acquire()
            if self._opened is not None:
                function, runtime = self._opened
                self._loop.run(function.async_open(runtime), _LIFE_CYCLE)
        return self._loop


class RetryingCall:
    """Calls a function again according to its retry strategy."""

    def __init__(self, invoke: Invoke, strategy: AsyncRetryStrategy[Any]) -> None:
        predicate = strategy.get_retry_predicate()
        self._invoke = invoke
        self._strategy = strategy
        self._retry_result = predicate.result_predicate() or _never
        self._retry_error = predicate.exception_predicate() or _never
        self._retries = 0

    async def __call__(self, value: Any) -> Any:
        attempts = 1
        while True:
            error: Exception | None = None
            result = None
            try:
                result = await self._invoke(value)
            except Exception as raised:
                error = raised
            retry = self._retry_error(error) if error is not None else result is not None and self._retry_result(result)
            if not retry or not self._strategy.can_retry(attempts):
                if error is not None:
                    raise error
                return result
            await asyncio.sleep(self._strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1
            self._retries += 1

    def take_retries(self) -> int:
        retries, self._retries = self._retries, 0
        return retries


def _has_retries(strategy: AsyncRetryStrategy[Any]) -> bool:
    predicate = strategy.get_retry_predicate()
    return predicate.result_predicate() is not None or predicate.exception_predicate() is not None


def _never(_: Any) -> bool:
    return False


def _blocked_error(timeout: int, blocked: EventLoopBlocked) -> UserFunctionError:
    """Returns the error for a function that blocks the event loop."""
    error = UserFunctionError(
        "ASYNC_BLOCKED",
        f"An asynchronous call blocked the event loop for longer than its timeout of {timeout} ms, so that no other call could "
        "proceed. Await everything that takes time: use asyncio.sleep and an asynchronous client, or run blocking code with "
        "asyncio.to_thread.",
    )
    return error.with_traceback(blocked.__traceback__)
