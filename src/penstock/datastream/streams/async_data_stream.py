"""The `AsyncDataStream`, which applies asynchronous functions to streams."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any, TypeVar

from penstock.datastream.streams.argument_checks import check_function
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.on_error import OnError
from penstock.errors import PlanError, warn_ignored
from penstock.functions import AsyncFunction, AsyncRetryStrategy
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.functions.async_settings import AsyncSettings
from penstock.plan.nodes import TransformNode
from penstock.time import Duration, to_millis

T = TypeVar("T")
R = TypeVar("R")


class AsyncDataStream:
    """Applies an `AsyncFunction` to a stream. Calls for many elements run concurrently.

    Each subtask has at most `capacity` concurrent calls. `timeout` limits a call including its retries. After a timeout, the
    result of `AsyncFunction.timeout` is emitted. Results are always in the order of the elements, also with `unordered_wait`,
    because a batch is emitted only when all its calls are complete.

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
        """Emits the results of the function for each element. The same as `ordered_wait`."""
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
        """Emits the results of the function for each element. Failed calls are retried with the retry strategy."""
        retry = check_retry_strategy("unordered_wait_with_retry", async_retry_strategy)
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
        """Emits the results of the function for each element, in the order of the elements."""
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
        """Emits the results of the function in the order of the elements. Failed calls are retried with the retry strategy."""
        retry = check_retry_strategy("ordered_wait_with_retry", async_retry_strategy)
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
    settings = make_async_settings(method, timeout, capacity, retry or NO_RETRY_STRATEGY)
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


def make_async_settings(
    method: str, timeout: Duration | timedelta | int, capacity: Any, retry: AsyncRetryStrategy[Any]
) -> AsyncSettings:
    """Checks and returns the settings of asynchronous calls."""
    millis = to_millis(timeout)
    if millis <= 0:
        raise PlanError(
            "ASYNC_TIMEOUT",
            f"{method}() got a timeout of {millis} ms, but it must be greater than zero. Without a timeout, a call that never "
            "returns would block the job. Use a long timeout instead.",
        )
    if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity <= 0:
        raise PlanError(
            "ASYNC_CAPACITY",
            f"{method}() got capacity={capacity!r}. Pass the maximum number of concurrent calls in a subtask, at least 1.",
        )
    return AsyncSettings(millis, capacity, retry)


def check_coroutine_function(method: str, function: Any) -> None:
    """Raises PlanError unless the function is a coroutine function."""
    call_method = getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is a coroutine function is one
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call_method):
        return
    name = getattr(function, "__qualname__", type(function).__name__)
    if inspect.isasyncgenfunction(function):
        problem = "which yields its results, but must return them as a list"
    else:
        problem = (
            "which is not declared with 'async def'. Declare it with 'async def' and await the call in it. For a function "
            "without asynchronous calls, use map or flat_map"
        )
    raise PlanError("NOT_A_COROUTINE_FUNCTION", f"{method}() got '{name}', {problem}.")


def check_retry_strategy(method: str, strategy: Any) -> AsyncRetryStrategy[Any]:
    """Raises PlanError unless the argument is a retry strategy. Returns it."""
    if not isinstance(strategy, AsyncRetryStrategy):
        raise PlanError(
            "RETRY_STRATEGY",
            f"{method}() got the retry strategy {strategy!r}. Pass an AsyncRetryStrategy, for example "
            "AsyncRetryStrategy.fixed_delay(...).",
        )
    if strategy.get_retry_predicate() is None:
        raise PlanError(
            "RETRY_STRATEGY",
            f"get_retry_predicate() of {type(strategy).__name__} returned None. It must return an AsyncRetryPredicate, which "
            "determines which calls are retried.",
        )
    predicate = strategy.get_retry_predicate()
    retries = strategy is not NO_RETRY_STRATEGY and strategy.can_retry(1)
    if retries and predicate.result_predicate() is None and predicate.exception_predicate() is None:
        warn_ignored(
            f"{method}() got a {type(strategy).__name__} without a predicate, so no call is ever retried. Pass a result predicate "
            "or an exception predicate, such as has_exception_predicate."
        )
    return strategy
