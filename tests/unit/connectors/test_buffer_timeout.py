"""How long the records of a source wait for a batch to fill."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Configuration, StreamExecutionEnvironment
from penstock.connectors import DataGeneratorSource
from penstock.connectors.buffer_timeout import BufferTimeout, buffer_timeout
from penstock.connectors.source import Offset, Source
from penstock.errors import ConfigError

LIMIT = 10


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def generator() -> DataGeneratorSource:
    return DataGeneratorSource(str, records_per_batch=LIMIT)


def admitted(wait: BufferTimeout, start: int, end: int, source: Any = None) -> int:
    number: int = wait.admit(source or generator(), {"n": start}, {"n": end})["n"]
    return number


@pytest.mark.parametrize("value", [-1, "-1", "-1 ms"])
def test_minus_one_means_until_the_batch_is_full(value: Any) -> None:
    options = Configuration({"execution.buffer-timeout.interval": value})
    assert buffer_timeout(options) is None
    assert StreamExecutionEnvironment(options).get_buffer_timeout() == -1


@pytest.mark.parametrize("value", [-2, "-1 s", "-5 ms", ""])
def test_other_negative_values_are_rejected(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"OPTION_VALUE.*duration or -1"):
        Configuration({"execution.buffer-timeout.interval": value})


def test_zero_starts_a_batch_at_once() -> None:
    assert admitted(BufferTimeout(0), 0, 1) == 1


def test_records_wait_for_the_timeout_since_the_source_had_none() -> None:
    clock = Clock()
    wait = BufferTimeout(0.1, clock)
    clock.now += 5
    assert admitted(wait, 0, 0) == 0
    assert admitted(wait, 0, 1) == 0
    clock.now += 0.05
    assert admitted(wait, 0, 3) == 0
    assert wait.seconds_left() == pytest.approx(0.05)
    clock.now += 0.06
    assert admitted(wait, 0, 4) == 4


def test_records_that_arrive_while_a_batch_runs_have_waited_since_it_was_planned() -> None:
    clock = Clock()
    wait = BufferTimeout(1.0, clock)
    clock.now += 1
    assert admitted(wait, 0, 2) == 2
    clock.now += 0.6  # the batch runs
    assert admitted(wait, 2, 3) == 2
    clock.now += 0.4
    assert admitted(wait, 2, 5) == 5


def test_a_full_batch_does_not_wait_and_what_it_leaves_has_waited_as_long() -> None:
    clock = Clock()
    wait = BufferTimeout(1.0, clock)
    clock.now += 0.9
    assert admitted(wait, 0, LIMIT) == LIMIT
    clock.now += 0.2
    assert admitted(wait, LIMIT, LIMIT + 1) == LIMIT + 1


def test_without_a_timeout_only_a_full_batch_starts() -> None:
    clock = Clock()
    wait = BufferTimeout(None, clock)
    clock.now += 1e6
    assert admitted(wait, 0, LIMIT - 1) == 0
    assert wait.seconds_left() is None
    assert admitted(wait, 0, LIMIT) == LIMIT


def test_the_last_records_of_a_bounded_source_do_not_wait() -> None:
    source = DataGeneratorSource(str, count=3, records_per_batch=LIMIT)
    assert admitted(BufferTimeout(None), 0, 3, source) == 3


class Partitioned(Source):
    """An unbounded source whose offset names its splits, as that of Kafka."""

    bounded = False

    def splits(self, offset: Offset) -> list[str]:
        return list(offset)


def test_new_splits_do_not_wait_because_they_hold_event_time_back() -> None:
    source, wait = Partitioned(), BufferTimeout(None)
    assert wait.admit(source, {"a": 0}, {"a": 1}) == {"a": 0}
    assert wait.admit(source, {"a": 0}, {"a": 1, "b": 0}) == {"a": 1, "b": 0}


@pytest.mark.parametrize(("millis", "seconds"), [(0, 0.0), (100, 0.1), (-1, None)])
def test_set_buffer_timeout(millis: int, seconds: float | None) -> None:
    env = StreamExecutionEnvironment().set_buffer_timeout(millis)
    assert buffer_timeout(env.configuration) == seconds
    assert env.get_buffer_timeout() == millis


def test_by_default_batches_start_at_once() -> None:
    assert buffer_timeout(StreamExecutionEnvironment().configuration) == 0
