"""Awaits one asynchronous function for many values: a bounded number at once, each within a time, with further attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.errors import UserFunctionError
from penstock.functions import AsyncRetryStrategy, RuntimeContext
from penstock.functions.async_function import AsyncLife
from penstock.functions.async_settings import AsyncSettings
from penstock.runtime.async_pass import AsyncPass, Invoke
from penstock.runtime.event_loop import EventLoop, LoopBlocked
from penstock.runtime.failed_at import FailedAt

_GRACE = 1.0  # seconds that a loop may be busy beyond a call's timeout, and that a cancelled call may take to end
_LIFE_CYCLE = 60.0  # seconds that the loop may not turn while a function opens or closes


class AsyncCalls:
    """The calls of one asynchronous function in one subtask.

    `checked` looks at every result: it gives what is kept of it, or raises. `timed_out` says what comes of a value whose call
    took too long.
    """

    def __init__(
        self,
        invoke: Invoke,
        settings: AsyncSettings,
        timed_out: Callable[[Any], Any],
        checked: Callable[[Any], Any] | None = None,
    ) -> None:
        self._invoke = Attempts(invoke, settings.retry) if _retries(settings.retry) else None
        self._call: Invoke = self._invoke or invoke
        self._settings = settings
        self._timed_out = timed_out
        self._checked = checked
        self._loop: EventLoop | None = None
        self._opened: tuple[AsyncLife, RuntimeContext] | None = None

    def open(self, function: Any, runtime: RuntimeContext) -> None:
        """Opens the function, if it has a life cycle."""
        group = runtime.get_metrics_group().add_group("async")
        self._made, self._late, self._again = (group.counter(name) for name in ("calls", "timeouts", "retries"))
        if isinstance(function, AsyncLife):
            self._opened = function, runtime
            function.open(runtime)
            self._turning()

    def close(self) -> None:
        try:
            if self._opened is not None:
                self._turning().run(self._opened[0].async_close(), _LIFE_CYCLE)
                self._opened[0].close()
        finally:
            if self._loop is not None:
                self._loop.give_back()
                self._loop = None

    def run(self, values: list[Any], fail_fast: bool) -> tuple[list[Any], dict[int, Exception]]:
        """Results by index, and the errors of the values that have none.

        With `fail_fast` the first error ends all calls and is raised, as `FailedAt`.
        """
        seconds = self._settings.timeout / 1000
        one = AsyncPass(self._call, values, self._settings.capacity, seconds, _GRACE, self._timed_out, fail_fast)
        one.checked = self._checked
        loop = self._turning()
        try:
            loop.run(one.run(), seconds + _GRACE)
        except LoopBlocked as blocked:
            raise FailedAt(one.index_of(blocked.task), _held(self._settings.timeout, blocked)) from None
        finally:
            if one.leftover:
                loop.abandon()
            self._made.inc(len(values))
            self._late.inc(one.timeouts)
            if self._invoke is not None:
                self._again.inc(self._invoke.take_retries())
        if one.fatal is not None:
            raise FailedAt(*one.fatal)
        return one.results, one.failed

    def _turning(self) -> EventLoop:
        """The loop; another one when the last has been abandoned, and with it all that the function opened in it."""
        if self._loop is None or not self._loop.usable:
            if self._loop is not None:
                self._loop.give_back()
            self._loop = EventLoop.borrow()
            if self._opened is not None:
                function, runtime = self._opened
                self._loop.run(function.async_open(runtime), _LIFE_CYCLE)
        return self._loop


class Attempts:
    """A function that is called again as its strategy says."""

    def __init__(self, invoke: Invoke, strategy: AsyncRetryStrategy[Any]) -> None:
        predicate = strategy.get_retry_predicate()
        self._invoke = invoke
        self._strategy = strategy
        self._bad_result = predicate.result_predicate() or _never
        self._passing_error = predicate.exception_predicate() or _never
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
            again = self._passing_error(error) if error is not None else result is not None and self._bad_result(result)
            if not again or not self._strategy.can_retry(attempts):
                if error is not None:
                    raise error
                return result
            await asyncio.sleep(self._strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1
            self._retries += 1

    def take_retries(self) -> int:
        retries, self._retries = self._retries, 0
        return retries


def _retries(strategy: AsyncRetryStrategy[Any]) -> bool:
    predicate = strategy.get_retry_predicate()
    return predicate.result_predicate() is not None or predicate.exception_predicate() is not None


def _never(_: Any) -> bool:
    return False


def _held(timeout: int, blocked: LoopBlocked) -> UserFunctionError:
    """The error of a function that does not let others run."""
    error = UserFunctionError(
        "ASYNC_BLOCKED",
        f"An asynchronous call holds the event loop for longer than its timeout of {timeout} ms, so that no other call can "
        "go on. It has to await what takes time: use asyncio.sleep and an asynchronous client, or hand blocking work to "
        "asyncio.to_thread.",
    )
    return error.with_traceback(blocked.__traceback__)
