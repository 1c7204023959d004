"""Restart strategies of Flink. Times are milliseconds."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.errors import ConfigError, FailedCall, JobError, StateError, UnsupportedOperation, UserFunctionError
from penstock.jobs.run.restarts import (
    DefaultRestarts,
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartStrategy,
    is_retryable,
    restart_strategy,
    restarts_by_default,
)


def delays(strategy: RestartStrategy, *failures: float) -> list[float | None]:
    return [strategy.delay_after_failure(at) for at in failures]


def test_without_a_strategy_the_first_failure_fails_the_job() -> None:
    assert delays(NoRestart(), 0) == [None]


def test_a_fixed_number_of_restarts() -> None:
    assert delays(FixedDelay(2, 100), 0, 1, 2, 3) == [100, 100, None, None]
    assert delays(FixedDelay(0, 100), 0) == [None]


def test_a_limited_number_of_failures_per_interval() -> None:
    # 20 is the third failure within 1000 ms.
    assert delays(FailureRate(2, 1000, 5), 0, 10, 20) == [5, 5, None]
    assert delays(FailureRate(2, 1000, 5), 0, 10, 1001, 1500, 1501) == [5, 5, 5, 5, None]
    assert delays(FailureRate(1, 1000, 5), 0, 1000) == [5, None]
    assert delays(FailureRate(1, 1000, 5), 0, 1001) == [5, 5]


def test_delays_grow_up_to_a_maximum() -> None:
    strategy = ExponentialDelay(100, 1000, 2.0, 10_000, 0.0)
    assert delays(strategy, 0, 200, 600, 1200, 2100, 3200) == [100, 200, 400, 800, 1000, 1000]


def test_the_delay_is_reset_after_a_long_run() -> None:
    strategy = ExponentialDelay(100, 1000, 2.0, 10_000, 0.0)
    assert delays(strategy, 0, 200) == [100, 200]
    assert delays(strategy, 400 + 9_999) == [400], "restarted at 400, it ran for less than 10 s"
    assert delays(strategy, 10_799 + 10_000) == [100]


def test_jitter_stays_within_its_bounds() -> None:
    found = [delays(ExponentialDelay(100, 1000, 2.0, 10_000, 0.5), 0, 200)[1] for _ in range(300)]
    delays_found = [d for d in found if d is not None]
    assert len(delays_found) == 300
    assert min(delays_found) >= 100
    assert max(delays_found) <= 300
    assert max(delays_found) - min(delays_found) > 50, "it varies"


def test_a_limited_number_of_attempts() -> None:
    assert delays(ExponentialDelay(100, 1000, 2.0, 10_000, 0.0, 2), 0, 200, 600) == [100, 200, None]


@pytest.mark.parametrize(
    "wrong", [(0, 10, 2, 1, 0), (10, 5, 2, 1, 0), (1, 10, 1, 1, 0), (1, 10, 2, 0, 0), (1, 10, 2, 1, 2)]
)
def test_invalid_settings_are_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match="RESTART_STRATEGY"):
        ExponentialDelay(*wrong)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, NoRestart),
        ({"execution.checkpointing.interval": "10 s"}, ExponentialDelay),
        ({"execution.checkpointing.interval": "10 s", "restart-strategy.type": "off"}, NoRestart),
        ({"restart-strategy": "fixed-delay"}, FixedDelay),
        ({"restart-strategy.type": "failurerate"}, FailureRate),
        ({"restart-strategy.type": "exponential-delay"}, ExponentialDelay),
    ],
)
def test_the_configuration_selects_the_strategy(options: dict[str, str], kind: type) -> None:
    assert isinstance(restart_strategy(ps.Configuration(options)), kind)


def test_unbounded_jobs_are_restarted_by_default() -> None:
    assert isinstance(restart_strategy(ps.Configuration(), unbounded=True), ExponentialDelay)
    assert restarts_by_default(ps.Configuration(), unbounded=True)
    assert not restarts_by_default(ps.Configuration(), unbounded=False)
    off = ps.Configuration({"restart-strategy.type": "none"})
    assert isinstance(restart_strategy(off, unbounded=True), NoRestart)
    assert not restarts_by_default(off, unbounded=True)


def raised(error: str, location: str = "job.py:3") -> UserFunctionError:
    failure = UserFunctionError("USER_FUNCTION", "It raised.")
    failure.failed = FailedCall(name="map", uid="map", error=error, location=location)
    return failure


@pytest.mark.parametrize(
    ("failures", "allowed"),
    [
        ([(raised("ConnectionError"), -1)], [False]),  # before the first batch
        ([(raised("ConnectionError"), 4)] * 5, [True] * 5),  # a service may return
        ([(raised("ServiceError"), 4)] * 5, [True] * 5),
        ([(JobError("KAFKA_UNREACHABLE", "No broker."), 4)] * 5, [True] * 5),
        ([(raised("KeyError"), 4)] * 3, [True, True, False]),
        ([(raised("KeyError"), batch) for batch in (4, 4, 5, 5, 5)], [True, True, True, True, False]),
        ([(raised("KeyError", f"job.py:{line}"), 4) for line in (3, 4, 3, 3)], [True] * 4),
    ],
)
def test_an_error_of_the_program_is_not_repeated_without_end(
    failures: list[tuple[Exception, int]], allowed: list[bool]
) -> None:
    rule = DefaultRestarts()
    assert [rule.allows(failure, last_batch) for failure, last_batch in failures] == allowed


def test_settings_reach_the_strategy() -> None:
    fixed = ps.Configuration(
        {
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 1,
            "restart-strategy.fixed-delay.delay": "3 s",
        }
    )
    assert delays(restart_strategy(fixed), 0, 1) == [3000, None]


def test_failures_that_occur_again_are_not_retryable() -> None:
    assert is_retryable(UserFunctionError("USER_FUNCTION", "It raised."))
    assert is_retryable(JobError("JOB_FAILED", "The job failed in Spark."))
    assert is_retryable(OSError("disk"))
    assert not is_retryable(ConfigError("SPECULATION", "It is on."))
    assert not is_retryable(UnsupportedOperation("SAVEPOINTS", "No."))
    assert not is_retryable(StateError("STATE_CHANGED", "Another type."))
