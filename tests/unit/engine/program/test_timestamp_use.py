"""Timestamps are read from a source only if a step uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment, TimestampAssigner, WatermarkStrategy
from penstock.connectors import Chunk, NumberSequenceSource
from penstock.engine.program.steps import SendStep, SinkStep
from penstock.engine.program.timestamp_use import ignores_timestamp, reads_timestamps
from penstock.runtime.relational.column_key import ColumnKey
from penstock.testing import Harness

reads: list[int] = []


class Stamped(NumberSequenceSource):
    """Numbers with timestamps. Records whether the timestamps are read."""

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high = task

        stamps = None
        if self.stamps_wanted:
            reads.append(high - low)
            stamps = [n * 10 for n in range(low, high)]
        yield Chunk("0", low, list(range(low, high)), stamps)


class IgnoresTimestamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) + 5


class ReadsTimestamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp + 1


def _reads_in_closure(value: Any, timestamp: int) -> int:
    return (lambda: timestamp)()


def _assigns_timestamp(value: Any, timestamp: int) -> int:
    timestamp = value
    return timestamp + 0


def _reads_locals(value: Any, timestamp: int) -> int:
    return int(locals()["timestamp"])


@pytest.mark.parametrize(
    ("function", "ignores"),
    [
        (lambda value, timestamp: value, True),
        (lambda value, timestamp: timestamp, False),
        (lambda value, timestamp: [v for v in value if v], True),
        (lambda value, timestamp: [v for v in value if v > timestamp], False),
        (IgnoresTimestamp().extract_timestamp, True),
        (ReadsTimestamp().extract_timestamp, False),
        (_reads_in_closure, False),
        (_assigns_timestamp, False),  # reads the variable, so it may read the argument
        (_reads_locals, False),
        (lambda *both: 1, False),
        (lambda value, timestamp, more=1: value, False),
        (partial(lambda value, timestamp: value), False),
        (max, False),
    ],
)
def test_ignores_timestamp(function: Callable[..., Any], ignores: bool) -> None:
    assert ignores_timestamp(function) is ignores


@pytest.mark.parametrize(
    ("assigner", "expected", "expected_reads"),
    [(IgnoresTimestamp(), [5, 6, 7], 0), (ReadsTimestamp(), [1, 11, 21], 1), (None, [0, 10, 20], 1)],
)
def test_source_timestamps_are_read_only_if_needed(
    assigner: TimestampAssigner | None, expected: list[int], expected_reads: int
) -> None:
    reads.clear()
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy if assigner is None else strategy.with_timestamp_assigner(assigner)
    harness = Harness(env, parallelism=1)
    out = harness.collect(env.from_source(Stamped(0, 2), strategy))
    with harness:
        harness.run()
    assert [r.timestamp for r in out.records] == expected
    assert len(reads) == expected_reads


def _sink(wants_timestamps: bool = False, **fields: Any) -> SinkStep:
    return SinkStep("sink", "sink", 0, False, wants_timestamps, True, **fields)


def _send(selector: Any, **fields: Any) -> SendStep:
    return SendStep("send", "send", 1, 0, 0, 0, "key", selector, None, None, 1, **fields)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (_sink(), False),
        (_sink(True), True),
        (_sink(function=print), True),  # its dead letters have timestamps
        (_sink(side={"errors": [_sink()]}), True),
        (_send(ColumnKey((), ())), False),
        (_send(ColumnKey((), ()), guarded=True), True),
        (_send(len), True),  # a stream of the program
    ],
)
def test_ends_of_chains(step: SinkStep | SendStep, expected: bool) -> None:
    assert reads_timestamps([step]) is expected
