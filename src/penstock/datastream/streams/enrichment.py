"""Elements with what a service knows of their keys, asked once per key and kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar, overload

from penstock.datastream.async_data_stream import check_coroutine_function, checked_settings, checked_strategy
from penstock.datastream.checked_function import check_function
from penstock.datastream.data_stream import DataStream
from penstock.datastream.on_error import OnError
from penstock.errors import PlanError
from penstock.functions import AsyncLookup, AsyncRetryStrategy, KeySelector
from penstock.functions.async_retry import NO_RETRY_STRATEGY
from penstock.plan.nodes import CachedLookupSpec, OperatorNode
from penstock.time import Duration, millis_of
from penstock.types import type_information

T = TypeVar("T")
K = TypeVar("K")
A = TypeVar("A")
R = TypeVar("R")
Length = Duration | timedelta | int


@overload
def cached_enrichment(
    data_stream: DataStream[T],
    key_selector: Callable[[T], K] | KeySelector[T, K],
    async_lookup: Callable[[K], Awaitable[A]] | AsyncLookup[K, A],
    ttl: Length,
    timeout: Length,
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
    ttl: Length,
    timeout: Length,
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
    ttl: Length,
    timeout: Length,
    capacity: int = 100,
    output: Callable[[Any, Any], Any] | None = None,
    output_type: Any = None,
    *,
    retry: AsyncRetryStrategy[Any] | None = None,
    answer_type: Any = None,
    cache_none: bool = True,
    on_error: OnError = "fail",
) -> DataStream[Any]:
    """Each element with the answer for its key: as a pair, or as what `output(element, answer)` gives.

    A key is asked once, and again when its answer is older than `ttl`; until then the answer comes from keyed state, also after a
    restart. The keys of a batch that have no answer are asked together, at most `capacity` at once in a subtask. The counters
    `async.calls` and `async.calls_saved` tell how many calls were made, and how many elements needed none. An answer of None is
    kept like any other unless `cache_none` is False; an error is never kept. With `answer_type` answers are checked and kept
    as what it says, else they are pickled. A predicate of `retry` sees the answer itself.

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
    strategy = NO_RETRY_STRATEGY if retry is None else checked_strategy(method, retry)
    settings = checked_settings(method, timeout, capacity, strategy)
    kept = None if answer_type is None else type_information(answer_type)
    spec = CachedLookupSpec(async_lookup, settings, _checked_ttl(method, ttl), output or _pair, cache_none, kept)
    keyed = data_stream.key_by(key_selector)
    told = f"answers kept for {spec.ttl} ms, {settings}"
    node = keyed._add(OperatorNode, method, spec=spec, output_type=output_type, on_error=on_error, description=told)
    return DataStream(data_stream._env, node)


def _pair(element: T, answer: A) -> tuple[T, A]:
    return element, answer


def _checked_ttl(method: str, ttl: Length) -> int:
    millis = millis_of(ttl)
    if millis <= 0:
        raise PlanError(
            "CACHE_TTL",
            f"{method}() got a ttl of {millis} ms; it must be greater than zero. To ask for every element, use "
            "AsyncDataStream.",
        )
    return millis
