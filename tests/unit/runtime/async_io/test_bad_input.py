"""Invalid arguments that are rejected when the pipeline is defined."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PlanError
from tests.unit.runtime.async_io import services


class NotAsync(ps.AsyncFunction[int, int]):
    def async_invoke(self, value: int) -> list[int]:  # type: ignore[override]
        return [value]


class Yielding(ps.AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> AsyncIterator[int]:  # type: ignore[override]
        yield value


class NoPredicate(ps.AsyncRetryStrategy[int]):
    def can_retry(self, current_attempts: int) -> bool:
        return True

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 1

    def get_retry_predicate(self) -> Any:
        return None


def wait(function: Any = None, timeout: Any = 1000, **options: Any) -> None:
    env = ps.StreamExecutionEnvironment()
    ps.AsyncDataStream.unordered_wait(env.from_sequence(1, 3), function or services.Doubled(), timeout, **options)


def wait_with_retry(strategy: Any) -> None:
    env = ps.StreamExecutionEnvironment()
    ps.AsyncDataStream.ordered_wait_with_retry(env.from_sequence(1, 3), services.Doubled(), 1000, strategy)


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, None])
def test_capacity(capacity: Any) -> None:
    with pytest.raises(PlanError, match=r"unordered_wait\(\) got capacity=.*at least 1") as caught:
        wait(capacity=capacity)
    assert caught.value.code == "ASYNC_CAPACITY"


@pytest.mark.parametrize("timeout", [0, -5, ps.Time.seconds(0), ps.Duration.of_millis(-1)])
def test_timeout(timeout: Any) -> None:
    with pytest.raises(PlanError, match=r"got a timeout of .* ms, but it must be greater than zero") as caught:
        wait(timeout=timeout)
    assert caught.value.code == "ASYNC_TIMEOUT"


def test_not_a_coroutine_function() -> None:
    with pytest.raises(PlanError, match=r"'NotAsync.async_invoke', which is not declared with 'async def'") as caught:
        wait(NotAsync())
    assert caught.value.code == "NOT_A_COROUTINE_FUNCTION"


def test_an_async_generator() -> None:
    with pytest.raises(PlanError, match=r"'Yielding.async_invoke', which yields its results") as caught:
        wait(Yielding())
    assert caught.value.code == "NOT_A_COROUTINE_FUNCTION"


@pytest.mark.parametrize("function", [services.Doubled, len, ps.MapFunction, 5])
def test_not_an_async_function(function: Any) -> None:
    with pytest.raises(PlanError, match="AsyncFunction") as caught:
        wait(function)
    assert caught.value.code == "FUNCTION_TYPE"


@pytest.mark.parametrize("strategy", [None, 3, NoPredicate()])
def test_strategy(strategy: Any) -> None:
    with pytest.raises(PlanError) as caught:
        wait_with_retry(strategy)
    assert caught.value.code == "RETRY_STRATEGY"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ps.AsyncRetryStrategy.fixed_delay(0, 1, None, None),
        lambda: ps.AsyncRetryStrategy.fixed_delay(1, 0, None, None),
        lambda: ps.AsyncRetryStrategy.exponential_backoff(1, 0, 1, 1.0, None, None),
        lambda: ps.AsyncRetryStrategy.exponential_backoff(1, 1, -1, 1.0, None, None),
        lambda: ps.AsyncRetryStrategy.exponential_backoff(1, 1, 1, 0.0, None, None),
    ],
)
def test_numbers_of_retry_strategies(make: Any) -> None:
    with pytest.raises(PlanError, match="greater than zero") as caught:
        make()
    assert caught.value.code == "RETRY_STRATEGY"


def test_on_error() -> None:
    with pytest.raises(PlanError, match="on_error"):
        wait(on_error="ignore")
