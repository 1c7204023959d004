"""Asynchronous calls on a stream."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any, TypeVar

from penstock.datastream.checked_function import check_function
from penstock.datastream.data_stream import DataStream
from penstock.datastream.on_error import OnError
from penstock.errors import PlanError
from penstock.functions import AsyncFunction, AsyncRetryStrategy
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.functions.async_settings import AsyncSettings
from penstock.plan.nodes import TransformNode
from penstock.time import Duration, millis_of

T = TypeVar("T")
R = TypeVar("R")


class AsyncDataStream:
    """Applies an AsyncFunction: many elements wait for their answers at once.

    Each subtask has at most `capacity` calls under way. A call has `timeout` for all its attempts; then `AsyncFunction.timeout`
    says what comes out. Results come in the order of their elements, unordered_wait's too: a batch is passed on as a whole, so
    nothing would be gained by another order.

    >>> import asyncio
    >>> from penstock import StreamExecutionEnvironment, Time
    >>> from penstock.testing import Harness
    >>> class Square(AsyncFunction[int, int]):
    ...     async def async_invoke(self, value: int) -> list[int]:
    ...         await asyncio.sleep(0.01)
    ...         return [value * value]
    >>> env = StreamExecutionEnvironment()
    >>> squares = AsyncDataStream.unordered_wait(env.from_sequence(1, 4), Square(), Time.seconds(5), capacity=2)
    >>> harness = Harness(env); out = harness.collect(squares); _ = harness.run(); out
    [1, 4, 9, 16]
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Duration | timedelta | int,
        capacity: int = 100,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """What the function gives for each element."""
        return _wait("unordered_wait", data_stream, async_function, timeout, None, capacity, output_type, on_error)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Duration | timedelta | int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """What the function gives for each element; it is called again as the strategy says."""
        retry = checked_strategy("unordered_wait_with_retry", async_retry_strategy)
        return _wait(
            "unordered_wait_with_retry", data_stream, async_function, timeout, retry, capacity, output_type, on_error
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Duration | timedelta | int,
        capacity: int = 100,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """What the function gives for each element, in the order of the elements."""
        return _wait("ordered_wait", data_stream, async_function, timeout, None, capacity, output_type, on_error)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Duration | timedelta | int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """What the function gives for each element, in the order of the elements, with further attempts."""
        retry = checked_strategy("ordered_wait_with_retry", async_retry_strategy)
        return _wait(
            "ordered_wait_with_retry", data_stream, async_function, timeout, retry, capacity, output_type, on_error
        )


def _wait(
    method: str,
    stream: DataStream[T],
    function: AsyncFunction[T, R],
    timeout: Duration | timedelta | int,
    retry: AsyncRetryStrategy[Any] | None,
    capacity: int,
    output_type: Any,
    on_error: OnError,
) -> DataStream[R]:
    check_function(method, function, AsyncFunction)
    check_coroutine_function(method, function.async_invoke)
    settings = checked_settings(method, timeout, capacity, retry or NO_RETRY_STRATEGY)
    node = stream._add(
        TransformNode,
        "async wait operator",
        kind="async",
        function=function,
        settings=settings,
        description=str(settings),
        output_type=output_type,
        on_error=on_error,
    )
    return DataStream(stream._env, node)


def checked_settings(
    method: str, timeout: Duration | timedelta | int, capacity: Any, retry: AsyncRetryStrategy[Any]
) -> AsyncSettings:
    """The settings of asynchronous calls, refused where a job could not run with them."""
    millis = millis_of(timeout)
    if millis <= 0:
        raise PlanError(
            "ASYNC_TIMEOUT",
            f"{method}() got a timeout of {millis} ms; it must be greater than zero. A call without an answer would hold its "
            "batch, and so the job, for ever: give it a long timeout instead of none.",
        )
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity <= 0:
        raise PlanError(
            "ASYNC_CAPACITY",
            f"{method}() got capacity={capacity!r}; it takes how many calls of a subtask may be under way at once, at least 1.",
        )
    return AsyncSettings(millis, capacity, retry)


def check_coroutine_function(method: str, function: Any) -> None:
    """Refuses a function that does not await."""
    called = getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is a coroutine function is one
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        return
    name = getattr(function, "__qualname__", type(function).__name__)
    if inspect.isasyncgenfunction(function):
        wrong = "which yields its results; it has to return them as a list"
    else:
        wrong = (
            "which is not declared as 'async def'. Declare it so, and await the answer in it; a function that does not wait "
            "for anything belongs into map or flat_map"
        )
    raise PlanError("NOT_A_COROUTINE_FUNCTION", f"{method}() got '{name}', {wrong}.")


def checked_strategy(method: str, strategy: Any) -> AsyncRetryStrategy[Any]:
    """A retry strategy, refused where it is none."""
    if not isinstance(strategy, AsyncRetryStrategy):
        raise PlanError(
            "RETRY_STRATEGY",
            f"{method}() got {strategy!r} as its retry strategy; it takes an AsyncRetryStrategy, for example "
            "AsyncRetryStrategy.fixed_delay(...).",
        )
    if strategy.get_retry_predicate() is None:
        raise PlanError(
            "RETRY_STRATEGY",
            f"get_retry_predicate() of {type(strategy).__name__} gave None; it has to give an AsyncRetryPredicate, which says "
            "what is tried again.",
        )
    return strategy
