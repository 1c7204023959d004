"""Enrichment of elements with the answers of an asynchronous service, which are cached in keyed state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar, overload

from penstock.datastream.streams.argument_checks import check_function
from penstock.datastream.streams.async_data_stream import (
    check_coroutine_function,
    check_retry_strategy,
    make_async_settings,
)
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.on_error import OnError
from penstock.errors import PlanError
from penstock.functions import AsyncLookup, AsyncRetryStrategy, KeySelector
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.plan.nodes import CachedLookupSpec, OperatorNode
from penstock.time import Duration, to_millis
from penstock.types import type_information

T = TypeVar("T")
K = TypeVar("K")
A = TypeVar("A")
R = TypeVar("R")
DurationLike = Duration | timedelta | int


@overload
def cached_enrichment(
    data_stream: DataStream[T],
    key_selector: Callable[[T], K] | KeySelector[T, K],
    async_lookup: Callable[[K], Awaitable[A]] | AsyncLookup[K, A],
    ttl: DurationLike,
    timeout: DurationLike,
    capacity: int = 100,
    output: None = None,
    output_type: Any = None,
    *,
    retry: AsyncRetryStrategy[Any] | None = None,
    answer_type: Any = None,
    cache_none: bool = True,
    on_error: OnError = "fail",
) -> DataStream[tuple[T, A]]: ...


@overload
def cached_enrichment(
    data_stream: DataStream[T],
    key_selector: Callable[[T], K] | KeySelector[T, K],
    async_lookup: Callable[[K], Awaitable[A]] | AsyncLookup[K, A],
    ttl: DurationLike,
    timeout: DurationLike,
    capacity: int = 100,
    *,
    output: Callable[[T, A], R],
    output_type: Any = None,
    retry: AsyncRetryStrategy[Any] | None = None,
    answer_type: Any = None,
    cache_none: bool = True,
    on_error: OnError = "fail",
) -> DataStream[R]: ...


def cached_enrichment(
    data_stream: DataStream[Any],
    key_selector: Any,
    async_lookup: Any,
    ttl: DurationLike,
    timeout: DurationLike,
    capacity: int = 100,
    output: Callable[[Any, Any], Any] | None = None,
    output_type: Any = None,
    *,
    retry: AsyncRetryStrategy[Any] | None = None,
    answer_type: Any = None,
    cache_none: bool = True,
    on_error: OnError = "fail",
) -> DataStream[Any]:
    """Enriches each element with the answer of an asynchronous lookup of its key. Answers are cached in keyed state.

    Emits `(element, answer)`, or the result of `output(element, answer)`. A key is looked up again when its cached answer is
    older than `ttl`. The cache survives restarts. Keys of a batch without a cached answer are looked up concurrently, with at
    most `capacity` calls per subtask. `timeout` limits a call including its retries. The counters `async.calls` and
    `async.calls_saved` are the number of calls, and of elements that needed no call. `cache_none=False` excludes the answer
    None from the cache. Errors are never cached. With `answer_type`, answers are checked and stored with this type, otherwise
    they are pickled. The predicates of `retry` are called with the answer.

    >>> from penstock import StreamExecutionEnvironment, Time
    >>> from penstock.testing import Harness
    >>> async def length(word: str) -> int:
    ...     return len(word)
    >>> env = StreamExecutionEnvironment()
    >>> words = env.from_collection(["one", "three", "one"])
    >>> pairs = cached_enrichment(words, lambda word: word, length, ttl=Time.hours(1), timeout=Time.seconds(5))
    >>> harness = Harness(env); out = harness.collect(pairs); _ = harness.run(); out
    [('one', 3), ('three', 5), ('one', 3)]
    >>> harness.metrics.get("cached_enrichment", "async.calls"), harness.metrics.get("cached_enrichment", "async.calls_saved")
    (2, 1)
    """
    method = "cached_enrichment"
    check_function(method, async_lookup, AsyncLookup, or_callable=True)
    check_coroutine_function(method, async_lookup.lookup if isinstance(async_lookup, AsyncLookup) else async_lookup)
    if output is not None:
        check_function(method, output, or_callable=True)
    strategy = NO_RETRY_STRATEGY if retry is None else check_retry_strategy(method, retry)
    settings = make_async_settings(method, timeout, capacity, strategy)
    stored_type = None if answer_type is None else type_information(answer_type)
    spec = CachedLookupSpec(async_lookup, settings, _ttl_millis(method, ttl), output or _pair, cache_none, stored_type)
    keyed = data_stream.key_by(key_selector)
    description = f"answers cached for {spec.ttl} ms, {settings}"
    node = keyed._add(
        OperatorNode, method, spec=spec, output_type=output_type, on_error=on_error, description=description
    )
    return DataStream(data_stream._env, node)


def _pair(element: T, answer: A) -> tuple[T, A]:
    return element, answer


def _ttl_millis(method: str, ttl: DurationLike) -> int:
    millis = to_millis(ttl)
    if millis <= 0:
        raise PlanError(
            "CACHE_TTL",
            f"{method}() got a ttl of {millis} ms, but it must be greater than zero. To call the service for every element, use "
            "AsyncDataStream.",
        )
    return millis
