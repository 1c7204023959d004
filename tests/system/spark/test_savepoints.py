"""Savepoints of running jobs contain the state after their batch, whatever the job does meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import (
    DataGeneratorSource,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    JsonLinesSink,
)
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.savepoints import Savepoint, open_savepoint
from tests.system.spark.checkpoint_state import read_state
from tests.system.spark.processes import lines_of
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark

Keyed = dict[tuple[str, str], dict[bytes, bytes]]


class Counted(ps.KeyedProcessFunction):
    """State of several kinds, some with TTL, and timers that are not due."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))
        seen = ps.MapStateDescriptor("seen", int, str)
        seen.enable_time_to_live(ps.StateTtlConfig.new_builder(ps.Time.hours(1)).build())
        self.seen = runtime_context.get_map_state(seen)
        self.last = runtime_context.get_list_state(ps.ListStateDescriptor("last", int))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.put(count % 5, str(value))
        self.last.update([value, value + 1])
        ctx.timer_service().register_event_time_timer(10**15)
        yield value, count

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield -1, 0


class Ruled(ps.KeyedBroadcastProcessFunction):
    RULES = ps.MapStateDescriptor("rules", str, int)
    fails_at: Path | None = None

    def __init__(self) -> None:
        self._fails = self.fails_at  # an attribute, so that it is pickled for the workers

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ps.ValueStateDescriptor("sum", int))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[0] < 0 and self._fails is not None and self._fails.exists():
            self._fails.unlink()  # after the timers of the first operator, whose slots have written their parts
            raise ValueError("it fails once")
        self.sum.update((self.sum.value() or 0) + value[1])
        yield list(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.RULES).put(f"rule {value % 7}", value)


def wide(env: ps.StreamExecutionEnvironment, out: Path, name: str) -> ps.JobClient:
    """A job with two levels. Keys of the first are objects that cannot be decoded from their bytes."""
    numbers = env.from_source(DataGeneratorSource(lambda n: n, rate=2000), None, "numbers")
    rules = env.from_source(DataGeneratorSource(lambda n: n, rate=50), None, "rules")
    in_order = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
    counted = (
        numbers.assign_timestamps_and_watermarks(in_order)
        .key_by(lambda n: frozenset({n % 501, "x" * (n % 3 * 300)}))
        .process(Counted())
        .uid("counted")
    )
    ruled = counted.key_by(lambda v: str(v[0] % 50)).connect(rules.broadcast(Ruled.RULES)).process(Ruled()).uid("ruled")
    ruled.sink_to(JsonLinesSink(out)).uid("out")
    return env.execute_async(name)


def entries_of(savepoint: Savepoint) -> Keyed:
    found: Keyed = {}
    for block, flat in savepoint.blocks():
        entries = dict(zip(flat[::2], flat[1::2], strict=True))
        known = found.setdefault((block.operator, block.state), {})
        assert not known.keys() & entries.keys(), "an entry is there twice"
        known.update(entries)
    return found


def entries_at(spark: SparkSession, savepoint: Savepoint) -> tuple[Keyed, dict[int, SlotMetadata]]:
    """Reads the same from the state store of Spark, and the clocks by level."""
    manifest = savepoint.manifest
    levels = max(level.level for level in manifest.levels)
    slots = read_state(spark, f"{manifest.checkpoint}/spark", manifest.parallelism, levels, manifest.batch)
    found: Keyed = {}
    metas = {}
    for (level, _), (meta, entries) in slots.items():
        metas[level] = meta
        names = {t.number.to_bytes(2, "big"): (t.operator, t.name) for t in meta.tables}
        for key, value in entries.items():
            found.setdefault(names[key[:2]], {})[key[2:]] = value
    return found, metas


def check(spark: SparkSession, savepoint: Savepoint) -> None:
    """Checks that a savepoint equals the state store of Spark after its batch."""
    assert savepoint.verify() == []
    manifest = savepoint.manifest
    expected, metas = entries_at(spark, savepoint)
    assert entries_of(savepoint) == expected
    states = {(o.uid, s.name): s for o in manifest.operators for s in o.states}
    assert {name: s.entries for name, s in states.items() if s.entries} == {n: len(e) for n, e in expected.items()}
    assert states["counted", "count"].entries == states["counted", "__keys__"].entries > 400
    assert states["counted", "seen"].ttl == 3_600_000
    assert states["ruled", "slot:rules"].entries == 7
    for level in manifest.levels:
        meta = metas[level.level]
        meta.tables, broadcast, meta.broadcast = [], meta.broadcast, {}
        assert msgspec.json.decode(level.clocks, type=SlotMetadata) == meta
        assert level.broadcast == broadcast
    names = [path.name for path in Path(savepoint.path).iterdir()]
    assert sorted(names) == sorted(["manifest.json", *(file.name for file in manifest.files)])


def timers_in(savepoint: Savepoint) -> int:
    return sum(s.entries for o in savepoint.manifest.operators for s in o.states if s.kind == "timers")


def check_last(savepoint: Savepoint, lines: int) -> None:
    """Checks that the batch of the savepoint was the last one, and that the sinks have all elements read until then."""
    manifest = savepoint.manifest
    commits = Path(manifest.checkpoint, "spark", "commits")
    assert manifest.batch == max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    numbers = next(s for s in manifest.sources if s.name == "numbers")
    assert lines == numbers.position["n"]


def test_savepoints_contain_the_state_after_their_batch_while_the_job_continues(
    spark: SparkSession, tmp_path: Path
) -> None:
    client = wide(environment(tmp_path), tmp_path / "out", "wide")
    (tmp_path / "file").write_text("no folder")
    until(lambda: len(lines_of(tmp_path / "out")) > 3000)
    with pytest.raises(CheckpointError, match="SAVEPOINT_UNWRITABLE"):
        client.stop_with_savepoint(False, str(tmp_path / "file")).result()
    both = [client.trigger_savepoint(str(tmp_path / "saved")) for _ in range(2)]
    paths = {future.result() for future in both}
    before = len(lines_of(tmp_path / "out"))
    until(lambda: len(lines_of(tmp_path / "out")) > before + 500)
    paths.add(client.stop_with_savepoint(False, str(tmp_path / "saved")).result())
    client.get_job_execution_result().result()
    savepoints = [open_savepoint(path) for path in paths]
    assert len({s.manifest.batch for s in savepoints}) == 3
    for savepoint in savepoints:
        check(spark, savepoint)
        assert timers_in(savepoint) > 400
    last = next(s for s in savepoints if s.manifest.ended == "stop")
    check_last(last, len(lines_of(tmp_path / "out")))


def test_a_drained_job_whose_batch_fails_and_runs_again(spark: SparkSession, tmp_path: Path) -> None:
    """The savepoint is that of the successful attempt. The files of the other one are removed."""
    Ruled.fails_at = tmp_path / "fails"
    options = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": 0}
    client = wide(environment(tmp_path, **options), tmp_path / "out", "drained")
    until(lambda: len(lines_of(tmp_path / "out")) > 2000)
    Ruled.fails_at.write_text("once")
    path = client.stop_with_savepoint(True, str(tmp_path / "saved")).result()
    result = client.get_job_execution_result().result()
    assert result.attempts == 2
    assert not Ruled.fails_at.exists()
    savepoint = open_savepoint(path)
    assert savepoint.manifest.ended == "drain"
    check(spark, savepoint)
    assert timers_in(savepoint) == 0
    fired = [line for line in lines_of(tmp_path / "out") if "-1" in str(line)]
    assert len(fired) > 400
    check_last(savepoint, len(lines_of(tmp_path / "out")) - len(fired))


def kill_writer() -> None:
    """Kills the first process that writes a savepoint part."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if b"penstock.spark.savepoint.savepoint_writer" in cmdline.read_bytes():
                    os.kill(int(cmdline.parent.name), signal.SIGKILL)
                    return
            except (FileNotFoundError, ProcessLookupError):
                continue


def test_a_writer_that_is_killed(spark: SparkSession, tmp_path: Path) -> None:
    """The savepoint fails and leaves no files. The job and later savepoints are not affected."""
    client = wide(environment(tmp_path), tmp_path / "out", "killed writer")
    until(lambda: len(lines_of(tmp_path / "out")) > 2000)
    killer = threading.Thread(target=kill_writer)
    killer.start()
    with pytest.raises(CheckpointError, match="SAVEPOINT_PART"):
        client.trigger_savepoint(str(tmp_path / "saved")).result()
    killer.join()
    until(lambda: not list((tmp_path / "saved").glob("*/*")))
    before = len(lines_of(tmp_path / "out"))
    until(lambda: len(lines_of(tmp_path / "out")) > before + 500)
    check(spark, open_savepoint(client.stop_with_savepoint(False, str(tmp_path / "saved")).result()))
    assert client.get_job_execution_result().result().attempts == 1


def test_a_second_job_starts_with_the_pending_elements_of_files_that_the_first_job_has_compacted(
    spark: SparkSession, tmp_path: Path
) -> None:
    def start(out: str, **options: Any) -> ps.JobClient:
        env = environment(tmp_path, **options)
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(4).build()
        builder = FileSink.for_row_format(tmp_path / out, Encoder.json_lines())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        sink = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
        numbers = env.from_source(DataGeneratorSource(lambda n: n, rate=200), None, "numbers").uid("numbers")
        numbers.sink_to(sink).uid("files")
        return env.execute_async(out)

    def visible(out: str) -> set[int]:
        numbers = [int(n) for file in (tmp_path / out).glob("compacted-*") for n in file.read_text().split()]
        assert len(numbers) == len(set(numbers))
        return set(numbers)

    first, saved = start("first"), None
    while saved is None or not saved.manifest.sink_files:  # none if the savepoint batch has compacted all files
        saved = open_savepoint(first.trigger_savepoint(str(tmp_path / "saved")).result())
    assert saved.verify() == []
    copies = [Path(saved.path, file.name).read_text().split() for file in saved.manifest.sink_files]
    pending = {int(number) for copied in copies for number in copied}
    until(lambda: pending < visible("first"))
    first.cancel().result()
    second = start("second", **{"execution.state-recovery.path": saved.path})
    until(lambda: len(visible("second")) > len(pending))
    second.cancel().result()
    assert sorted(visible("second")) == list(range(min(pending), max(visible("second")) + 1))
