"""Timestamps that nobody looks at are not read from the source; all others are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment, TimestampAssigner, WatermarkStrategy
from penstock.connectors import Chunk, NumberSequenceSource
from penstock.engine.unread_timestamp import ignores_timestamp
from penstock.testing import Harness

asked: list[int] = []


class Stamped(NumberSequenceSource):
    """Numbers with their own timestamps, that tell when they are asked for."""

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task

        stamps = None
        if self.stamps_wanted:
            asked.append(high - low)
            stamps = [n * 10 for n in range(low, high)]
        yield Chunk("0", low, list(range(low, high)), stamps)


class Own(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) + 5


class Sees(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp + 1


def _inner(value: Any, timestamp: int) -> int:
    return (lambda: timestamp)()


def _changes(value: Any, timestamp: int) -> int:
    timestamp = value
    return timestamp + 0


def _all(value: Any, timestamp: int) -> int:
    return int(locals()["timestamp"])


@pytest.mark.parametrize(
    ("function", "ignores"),
    [
        (lambda value, timestamp: value, True),
        (lambda value, timestamp: timestamp, False),
        (lambda value, timestamp: [v for v in value if v], True),
        (lambda value, timestamp: [v for v in value if v > timestamp], False),
        (Own().extract_timestamp, True),
        (Sees().extract_timestamp, False),
        (_inner, False),
        (_changes, False),  # it might have been read: left alone
        (_all, False),
        (lambda *both: 1, False),
        (lambda value, timestamp, more=1: value, False),
        (partial(lambda value, timestamp: value), False),
        (max, False),
    ],
)
def test_what_a_function_looks_at(function: Callable[..., Any], ignores: bool) -> None:
    assert ignores_timestamp(function) is ignores


@pytest.mark.parametrize(
    ("assigner", "expected", "questions"),
    [(Own(), [5, 6, 7], 0), (Sees(), [1, 11, 21], 1), (None, [0, 10, 20], 1)],
)
def test_a_sources_timestamps_are_asked_for_only_when_they_matter(
    assigner: TimestampAssigner | None, expected: list[int], questions: int
) -> None:
    asked.clear()
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy if assigner is None else strategy.with_timestamp_assigner(assigner)
    harness = Harness(env, parallelism=1)
    out = harness.collect(env.from_source(Stamped(0, 2), strategy))
    with harness:
        harness.run()
    assert [r.timestamp for r in out.records] == expected
    assert len(asked) == questions
