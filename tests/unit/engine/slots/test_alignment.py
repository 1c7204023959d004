"""Watermark alignment pauses splits that are too far ahead, with and without keyed operators (time-rules 2.9)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment, WatermarkGenerator, WatermarkStrategy
from penstock.connectors import DataGeneratorSource, SimpleSource, json_lines
from penstock.datastream import DataStream
from penstock.testing import At, Harness, PushSource
from penstock.time import MIN_WATERMARK

DRIFT = 2_000
PER_BATCH = 10


class Ascending(WatermarkGenerator):
    """A generator that keeps its state in an operator of its own."""

    def __init__(self) -> None:
        self.highest = MIN_WATERMARK

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.highest = max(self.highest, event_timestamp)
        output.emit_watermark(self.highest - 1)

    def on_periodic_emit(self, output: Any) -> None:
        """Watermarks are emitted in on_event."""


MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
STRATEGIES = {"monotonous": MONOTONOUS, "generator": WatermarkStrategy.for_generator(Ascending)}


def aligned(strategy: WatermarkStrategy = MONOTONOUS) -> WatermarkStrategy:
    return strategy.with_watermark_alignment("group", DRIFT).with_timestamp_assigner(lambda e, _: e[1])


def stream(env: StreamExecutionEnvironment, step: int, count: int, name: str, strategy: Any) -> DataStream[Any]:
    source = DataGeneratorSource(lambda n: (name, n * step), count, records_per_batch=PER_BATCH)
    return env.from_source(source, aligned(strategy), name)


def drifts(batches: list[list[tuple[str, int]]]) -> Iterator[int]:
    """How far "fast" was ahead of "slow" whenever a batch contained records of it, until "slow" had ended."""
    highest: dict[str, int] = {}
    for batch in batches:
        if "slow" in highest and any(name == "fast" for name, _ in batch):
            yield highest["fast"] - highest["slow"]
        for name, time in batch:
            highest[name] = max(highest.get(name, 0), time)
        if highest.get("slow") == 2_990:
            return


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("keyed", [True, False])
def test_the_harness_pauses_a_source_that_is_ahead(keyed: bool, strategy: str) -> None:
    env = StreamExecutionEnvironment()
    both = stream(env, 100, 100, "fast", STRATEGIES[strategy]).union(stream(env, 10, 300, "slow", STRATEGIES[strategy]))
    result = both.key_by(lambda e: e[0]).map(lambda e: e) if keyed else both.map(lambda e: e)
    harness = Harness(env, parallelism=2)
    out = harness.collect(result)
    harness.run()
    assert sorted(out) == sorted([("fast", n * 100) for n in range(100)] + [("slow", n * 10) for n in range(300)])
    admitted = list(drifts(out.batches))
    assert len(admitted) > 2
    assert max(admitted) <= DRIFT


def test_without_alignment_the_same_source_runs_ahead() -> None:
    env = StreamExecutionEnvironment()
    fast = DataGeneratorSource(lambda n: ("fast", n * 100), 100, records_per_batch=PER_BATCH)
    slow = DataGeneratorSource(lambda n: ("slow", n * 10), 300, records_per_batch=PER_BATCH)
    both = env.from_source(fast).union(env.from_source(slow))
    harness = Harness(env)
    out = harness.collect(both)
    harness.run()
    assert max(drifts(out.batches)) > DRIFT


class TwoPartitions(SimpleSource):
    """Partition "1" advances a hundred times faster than "0"; "2" has no records and never will."""

    bounded = False
    records_per_batch = 20

    def find_splits(self) -> list[str]:
        return ["0", "1", "2"]

    def end(self, split: str) -> int:
        return 0 if split == "2" else 100

    def read_range(self, split: str, start: int, end: int) -> Iterator[tuple[int, Any]]:
        step = 10 if split == "0" else 1_000
        for n in range(start, end):
            yield n, (split, n * step)


def test_partitions_of_one_source_are_aligned_and_an_empty_one_does_not_stop_the_others() -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(TwoPartitions(), aligned()).map(lambda e: e))
    harness.run()
    fast = [time for split, time in out if split == "1"]
    assert len([e for e in out if e[0] == "0"]) == 100
    assert max(fast) <= 990 + DRIFT + 10 * 1_000, "ahead by the drift and one batch"
    assert len(fast) < 100, "the slow partition has been read to its end and holds the fast one back"


def test_unread_files_hold_the_group_back(tmp_path: Path) -> None:
    """Event time waits for the second file, so reading the other source further would only fill the state."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(["slow", t * 10]) + "\n" for t in range(300)))
    env = StreamExecutionEnvironment()
    files = env.from_source(json_lines(tmp_path, bytes_per_batch=600), aligned(), "files")
    fast = stream(env, 100, 200, "fast", MONOTONOUS)
    harness = Harness(env)
    out = harness.collect(files.map(tuple).union(fast))
    harness.run()
    assert len(out) == 800
    first_file = next(at for at, batch in enumerate(out.batches) if ("slow", 2_990) in batch)
    assert len([e for batch in out.batches[: first_file + 1] for e in batch if e[0] == "fast"]) <= 3 * PER_BATCH


def test_a_paused_split_is_not_idle() -> None:
    """It would not hold event time back any more, and its records would be late."""
    env = StreamExecutionEnvironment()
    strategy = MONOTONOUS.with_idleness(100).with_watermark_alignment("group", 10)
    keyed = env.from_source(PushSource(["ahead", "behind"]), strategy).key_by(lambda v: 0)
    keyed.map(lambda v: v).uid("mapped")
    harness = Harness(env)
    with harness.batch():
        harness.push("a", 1_000, split="ahead")
        harness.push("b", 1, split="behind")
    with harness.batch():
        harness.set_time(500)
        harness.push("c", 5_000, split="behind")
    assert harness.watermark("mapped") == 999


def test_pushing_to_a_paused_split_warns_once() -> None:
    env = StreamExecutionEnvironment()
    source = env.from_source(PushSource(["s0", "s1"]), MONOTONOUS.with_watermark_alignment("group", 10), "pushed")
    harness = Harness(env)
    out = harness.collect(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        harness.push_all([At("a", 1)], split="s0")
        harness.push_all([At("b", 50)], split="s1")
    with pytest.warns(UserWarning, match=r"Split 's1' of source 'pushed' is ahead of its alignment group"):
        harness.push_all([At("c", 60)], split="s1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        harness.push_all([At("d", 70)], split="s1")
    assert out == ["a", "b", "c", "d"]
