"""When a failed job is started again: Flink's rules, failure by failure. Times are milliseconds."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.errors import ConfigError, JobError, StateError, UnsupportedOperation, UserFunctionError
from penstock.spark.restarts import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestarts,
    Restarts,
    can_pass,
    restarts_of,
)


def delays(restarts: Restarts, *failures: float) -> list[float | None]:
    return [restarts.delay_after_failure(at) for at in failures]


def test_without_a_strategy_a_failure_is_the_end() -> None:
    assert delays(NoRestarts(), 0) == [None]


def test_a_fixed_number_of_restarts() -> None:
    assert delays(FixedDelay(2, 100), 0, 1, 2, 3) == [100, 100, None, None]
    assert delays(FixedDelay(0, 100), 0) == [None]


def test_so_many_failures_in_an_interval_are_forgiven() -> None:
    #                                       0 and 10 are forgiven; 20 is the third within 1000; 1011 only the second after 20
    assert delays(FailureRate(2, 1000, 5), 0, 10, 20) == [5, 5, None]
    assert delays(FailureRate(2, 1000, 5), 0, 10, 1001, 1500, 1501) == [5, 5, 5, 5, None]
    assert delays(FailureRate(1, 1000, 5), 0, 1000) == [5, None]
    assert delays(FailureRate(1, 1000, 5), 0, 1001) == [5, 5]


def test_delays_grow_up_to_a_most() -> None:
    made = ExponentialDelay(100, 1000, 2.0, 10_000, 0.0)
    assert delays(made, 0, 200, 600, 1200, 2100, 3200) == [100, 200, 400, 800, 1000, 1000]


def test_a_job_that_ran_long_enough_counts_as_never_failed() -> None:
    made = ExponentialDelay(100, 1000, 2.0, 10_000, 0.0)
    assert delays(made, 0, 200) == [100, 200]
    assert delays(made, 400 + 9_999) == [400], "restarted at 400, it ran for less than 10 s"
    assert delays(made, 10_799 + 10_000) == [100]


def test_jitter_stays_within_its_part_and_between_initial_and_most() -> None:
    found = [delays(ExponentialDelay(100, 1000, 2.0, 10_000, 0.5), 0, 200)[1] for _ in range(300)]
    known = [d for d in found if d is not None]
    assert len(known) == 300
    assert min(known) >= 100
    assert max(known) <= 300
    assert max(known) - min(known) > 50, "it varies"


def test_attempts_before_the_reset() -> None:
    assert delays(ExponentialDelay(100, 1000, 2.0, 10_000, 0.0, 2), 0, 200, 600) == [100, 200, None]


@pytest.mark.parametrize(
    "wrong", [(0, 10, 2, 1, 0), (10, 5, 2, 1, 0), (1, 10, 1, 1, 0), (1, 10, 2, 0, 0), (1, 10, 2, 1, 2)]
)
def test_settings_that_make_no_sense_are_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError, match="RESTART_STRATEGY"):
        ExponentialDelay(*wrong)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, NoRestarts),
        ({"execution.checkpointing.interval": "10 s"}, ExponentialDelay),
        ({"execution.checkpointing.interval": "10 s", "restart-strategy.type": "off"}, NoRestarts),
        ({"restart-strategy": "fixed-delay"}, FixedDelay),
        ({"restart-strategy.type": "failurerate"}, FailureRate),
        ({"restart-strategy.type": "exponential-delay"}, ExponentialDelay),
    ],
)
def test_the_configuration_chooses(options: dict[str, str], kind: type) -> None:
    assert isinstance(restarts_of(ps.Configuration(options)), kind)


def test_settings_reach_the_strategy() -> None:
    fixed = ps.Configuration(
        {
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 1,
            "restart-strategy.fixed-delay.delay": "3 s",
        }
    )
    assert delays(restarts_of(fixed), 0, 1) == [3000, None]


def test_what_running_again_cannot_mend_is_not_tried_again() -> None:
    assert can_pass(UserFunctionError("USER_FUNCTION", "It raised."))
    assert can_pass(JobError("JOB_FAILED", "The job failed in Spark."))
    assert can_pass(OSError("disk"))
    assert not can_pass(ConfigError("SPECULATION", "It is on."))
    assert not can_pass(UnsupportedOperation("SAVEPOINTS", "No."))
    assert not can_pass(StateError("STATE_CHANGED", "Another type."))
