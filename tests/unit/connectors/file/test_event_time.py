"""Event time over the files of a folder does not depend on how many files a batch reads (time-rules 1.2)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Duration, StreamExecutionEnvironment, WatermarkGenerator, WatermarkStrategy
from penstock.connectors import FileSource, StreamFormat, json_lines
from penstock.errors import ConfigError
from penstock.functions import count
from penstock.testing import Harness
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.windows import TumblingEventTimeWindows

MINUTE = 60_000
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


class Highest(WatermarkGenerator):
    """A generator that keeps its state between batches."""

    def __init__(self) -> None:
        self.highest = MIN_WATERMARK

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.highest = max(self.highest, event_timestamp)
        output.emit_watermark(self.highest - 1)

    def on_periodic_emit(self, output: Any) -> None:
        """Watermarks are emitted in on_event."""


STRATEGIES = {"monotonous": MONOTONOUS, "generator": WatermarkStrategy.for_generator(Highest)}


def write(folder: Path, name: str, times: Iterable[int], modified: int = 0) -> None:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps({'at': at})}\n" for at in times))
    os.utime(path, (1_000_000 + modified, 1_000_000 + modified))


class Job:
    """Counts the records of each minute."""

    def __init__(self, source: Any, strategy: WatermarkStrategy = MONOTONOUS) -> None:
        env = StreamExecutionEnvironment()
        stream = env.from_source(source, strategy.with_timestamp_assigner(lambda v, _: v["at"]))
        windows = stream.key_by(lambda v: 0).window(TumblingEventTimeWindows.of(MINUTE))
        self.harness = Harness(env, parallelism=2)
        self.out = self.harness.collect(windows.aggregate(count()).uid("windows"))

    @property
    def watermark(self) -> int:
        return self.harness.watermark("windows")

    def run(self) -> Job:
        self.harness.run()
        return self


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("size", [None, 4000, 1500, 100])
def test_files_that_overlap_in_time_lose_no_record(tmp_path: Path, size: int | None, strategy: str) -> None:
    """Two files of the same ten minutes, each in order."""
    for name in "ab":
        write(tmp_path, name, range(0, 10 * MINUTE, 1000))
    job = Job(json_lines(tmp_path, bytes_per_batch=size), STRATEGIES[strategy]).run()
    assert (job.out, job.harness.late_records()) == ([120] * 10, 0)


@settings(max_examples=60, deadline=None)
@given(
    files=st.lists(st.lists(st.integers(0, 9), max_size=6).map(sorted), min_size=1, max_size=5),
    sizes=st.lists(st.sampled_from([10, 11, 25, 60, 1000]), min_size=1, max_size=2),
    bounded=st.booleans(),
    strategy=st.sampled_from(list(STRATEGIES)),
)
def test_results_and_watermark_do_not_depend_on_the_size_of_batches(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], sizes: list[int], bounded: bool, strategy: str
) -> None:
    folder = tmp_path_factory.mktemp("files")
    for number, minutes in enumerate(files):
        write(folder, f"{number}", [m * MINUTE for m in minutes])
    outcomes = []
    for size in (None, *sizes):
        source = json_lines(folder, bounded=bounded, bytes_per_batch=size)
        job = Job(source, STRATEGIES[strategy]).run()
        outcomes.append((sorted(job.out), job.watermark, job.harness.late_records()))
    highest = max((m for minutes in files for m in minutes), default=None)
    if bounded:
        watermark = MAX_WATERMARK
    else:
        watermark = MIN_WATERMARK if highest is None else highest * MINUTE - 1
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert outcomes[0][1:] == (watermark, 0)


def test_unread_files_hold_the_watermark_until_the_last_one_is_read(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, f"{number}", [number * 10, number * 10 + 5], number)
    job = Job(json_lines(tmp_path, bounded=False, files_per_batch=1))
    watermarks = []
    for _ in range(3):
        job.harness.run(max_batches=1)
        watermarks.append(job.watermark)
    assert watermarks == [MIN_WATERMARK, MIN_WATERMARK, 24]


def test_the_last_file_advances_the_watermark_while_it_is_read(tmp_path: Path) -> None:
    write(tmp_path, "a", range(50), 1)
    write(tmp_path, "b", range(30), 2)
    job = Job(json_lines(tmp_path, bounded=False, bytes_per_batch=200))
    watermarks = []
    for _ in range(6):
        job.harness.run(max_batches=1)
        watermarks.append(job.watermark)
    moved = sorted({w for w in watermarks if w != MIN_WATERMARK})
    assert watermarks == sorted(watermarks)
    assert len(moved) > 2
    assert moved[-2] < 29, "while the second file is read, its own watermark counts"
    assert moved[-1] == 48, "at the end the highest watermark of all files counts"


def test_files_that_are_found_later_do_not_move_the_watermark_back(tmp_path: Path) -> None:
    write(tmp_path, "a", [0, 2 * MINUTE], 1)
    job = Job(json_lines(tmp_path, bounded=False)).run()
    assert (job.watermark, job.out) == (2 * MINUTE - 1, [1])
    write(tmp_path, "b", [30_000, 3 * MINUTE], 2)
    write(tmp_path, "c", [3 * MINUTE + 1, 4 * MINUTE], 3)
    job.run()
    assert (job.watermark, job.out, job.harness.late_records()) == (4 * MINUTE - 1, [1, 1, 2], 1)


def test_unread_files_are_not_idle(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path, name, [1, 2])
    job = Job(json_lines(tmp_path, bounded=False, files_per_batch=1), MONOTONOUS.with_idleness(100))
    for now in (1000, 2000):
        job.harness.time = now
        job.harness.run(max_batches=1)
        assert job.watermark == MIN_WATERMARK
    job.harness.time = 3000
    job.run()
    assert job.watermark == 1


def test_an_empty_file_does_not_hold_the_watermark(tmp_path: Path) -> None:
    write(tmp_path, "a", [1, 2], 1)
    write(tmp_path, "b", [], 2)
    (tmp_path / "c.jsonl").write_text("\n\n")
    os.utime(tmp_path / "c.jsonl", (1_000_003, 1_000_003))
    job = Job(json_lines(tmp_path, bounded=False, files_per_batch=1)).run()
    assert job.watermark == 1


def test_a_restored_job_still_waits_for_unread_files(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path, name, range(0, 10 * MINUTE, 1000))
    first = Job(json_lines(tmp_path, bytes_per_batch=1500))
    first.harness.run(max_batches=4)
    second = Job(json_lines(tmp_path, bytes_per_batch=4000))
    second.harness.restore(first.harness.snapshot())
    second.run()
    assert (first.out, second.out, second.harness.late_records()) == ([], [120] * 10, 0)


# -- files in the order of time


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_event_time_advances_file_by_file(tmp_path: Path, strategy: str) -> None:
    for hour in range(4):
        write(tmp_path, f"{hour}", range(hour * 10 * MINUTE, (hour + 1) * 10 * MINUTE, 1000), 9 - hour)
    source = json_lines(tmp_path, files_per_batch=1, files_in_time_order="path")
    job = Job(source, STRATEGIES[strategy])
    emitted = []
    for _ in range(4):
        job.harness.run(max_batches=1)
        emitted.append(len(job.out))
    assert emitted == [9, 19, 29, 39]
    assert (job.run().out, job.harness.late_records()) == ([60] * 40, 0)


def in_order(folder: Path, size: int | None, order: Any) -> tuple[Sequence[int], int]:
    job = Job(json_lines(folder, bytes_per_batch=size, files_in_time_order=order)).run()
    return job.out, job.harness.late_records()


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=4),
    sizes=st.lists(st.sampled_from([10, 25, 60]), min_size=1, max_size=2),
)
def test_late_records_of_files_in_time_order_do_not_depend_on_the_size_of_batches(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], sizes: list[int]
) -> None:
    """All files together are one split. A record behind the end of the previous file is late."""
    folder = tmp_path_factory.mktemp("files")
    for number, minutes in enumerate(files):
        write(folder, f"{number}", [m * MINUTE for m in minutes])
    expected = in_order(folder, None, "path")
    assert [in_order(folder, size, "path") for size in sizes] == [expected] * len(sizes)
    highest, late = -1, 0
    for minute in (m for minutes in files for m in minutes):
        late += minute < highest
        highest = max(highest, minute)
    assert expected[1] == late


@pytest.mark.parametrize(("order", "result"), [("modification_time", ([1, 1], 0)), ("path", ([1], 1))])
def test_files_are_read_in_the_declared_order(tmp_path: Path, order: Any, result: Any) -> None:
    write(tmp_path, "a", [5 * MINUTE], 2)
    write(tmp_path, "b", [0], 1)
    assert in_order(tmp_path, None, order) == result


def test_the_builder_sets_the_order(tmp_path: Path) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    assert builder.build().transient_splits == "unordered"
    builder.monitor_continuously(Duration.of_seconds(1)).set_files_in_time_order("path")
    assert builder.build().transient_splits == "sequence"


def test_an_unknown_order_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"files_in_time_order is 'name'; expected 'modification_time', 'path'"):
        json_lines(tmp_path, files_in_time_order="name")
