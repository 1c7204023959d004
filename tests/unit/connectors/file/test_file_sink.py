"""The file sink: names, buckets, sizes, times, and exactly-once output if a batch runs again."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import Row, StreamExecutionEnvironment, Types, WatermarkStrategy
from penstock.connectors import (
    BucketAssigner,
    BucketContext,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    JsonLinesSink,
    OutputFileConfig,
    RollingPolicy,
    WriteTask,
)
from penstock.connectors.file.sink import journal
from penstock.connectors.file.system.file_system import LocalFileSystem
from penstock.errors import ConfigError, JobError, UnsupportedOperation, UserFunctionError
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.testing import At, Harness, PushSource

EACH_BATCH = RollingPolicy.on_checkpoint_rolling_policy()


def sink(
    folder: Path, *, rolling: RollingPolicy = EACH_BATCH, buckets: BucketAssigner | None = None, compact: Any = None
) -> FileSink:
    builder = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    builder = builder.with_bucket_assigner(buckets or BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(rolling)
    if compact is not None:
        builder.enable_compact(*compact)
    files = OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    return builder.with_output_file_config(files).build()


def write(to: FileSink, batch: int, *tasks: list[Any], attempt: str = "a") -> list[Any]:
    prepared = []
    for partition, values in enumerate(tasks):
        writer = to.writer(WriteTask(batch, partition, attempt))
        writer.write(values, None, None)
        prepared.append(writer.prepare())
    return [p for p in prepared if p is not None]


def visible(folder: Path) -> list[Path]:
    output_files = [f for f in folder.rglob("*") if f.is_file()]
    return sorted(f for f in output_files if not any(part.startswith(".") for part in f.relative_to(folder).parts))


def hidden(folder: Path) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.is_file() and f not in visible(folder))


def lines(folder: Path) -> list[str]:
    return sorted(line for file in visible(folder) for line in file.read_text().splitlines())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the sink, in seconds since the epoch."""
    now = [0.0]
    monkeypatch.setattr("penstock.connectors.file.sink.sink.time.time", lambda: now[0])
    return now


# -- batches


def test_files_appear_when_the_batch_is_committed(tmp_path: Path) -> None:
    to = sink(tmp_path)
    prepared = write(to, 0, ["a", "b"], ["c"], [])
    assert visible(tmp_path) == []
    assert len(hidden(tmp_path)) == 2
    to.commit(0, prepared)
    assert lines(tmp_path) == ["a", "b", "c"]
    assert len(visible(tmp_path)) == 2
    assert hidden(tmp_path) == []


def test_aborted_files_are_removed(tmp_path: Path) -> None:
    to = sink(tmp_path)
    to.abort(0, write(to, 0, ["a"]))
    writer = to.writer(WriteTask(1, 0, "a"))
    writer.write(["b"], None, None)
    writer.abort()
    assert visible(tmp_path) == hidden(tmp_path) == []


def test_repeated_batch_is_written_once(tmp_path: Path, clock: list[float]) -> None:
    memory, out = tmp_path / "memory", tmp_path / "out"
    memory.mkdir()
    buckets = BucketAssigner.date_time_bucket_assigner(timezone_id="UTC")
    first = sink(out, buckets=buckets)
    first.attach(str(memory))
    first.commit(0, write(first, 0, ["zero"]))
    first.commit(1, write(first, 1, ["a"], ["b"], ["c"]))
    clock[0] += 3600

    resumed = sink(out, buckets=buckets)  # another process, an hour later, with other tasks
    resumed.attach(str(memory))
    resumed.commit(1, write(resumed, 1, ["a", "b", "c"], attempt="b"))
    assert lines(out) == ["a", "b", "c", "zero"]
    assert hidden(out) == []
    assert {f.parent.name for f in visible(out)} == {"1970-01-01--00"}

    resumed.commit(2, write(resumed, 2, ["d"]))
    assert lines(out) == ["a", "b", "c", "d", "zero"]
    assert {f.parent.name for f in visible(out)} == {"1970-01-01--00", "1970-01-01--01"}


def test_two_jobs_can_write_to_one_folder(tmp_path: Path) -> None:
    for word in ("a", "b"):
        to = sink(tmp_path)
        to.commit(0, write(to, 0, [word]))
    assert lines(tmp_path) == ["a", "b"]


def test_json_lines_of_two_jobs_are_sorted_by_batch(tmp_path: Path) -> None:
    for word in ("a", "b"):
        to = JsonLinesSink(tmp_path)
        for batch in range(3):
            to.commit(batch, write(to, batch, [{"word": word, "batch": batch}]))
    output_files = [json.loads(line) for file in visible(tmp_path) for line in file.read_text().splitlines()]
    assert [row["batch"] for row in output_files] == [0, 0, 1, 1, 2, 2]
    assert sorted(row["word"] for row in output_files) == ["a", "a", "a", "b", "b", "b"]


def test_one_sink_for_two_streams(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    to = sink(tmp_path)
    env.from_collection(["a", "b"]).sink_to(to)
    env.from_collection(["c"]).sink_to(to)
    Harness(env, real_sinks=True).run()
    assert lines(tmp_path) == ["a", "b", "c"]


def test_a_program_that_runs_twice_keeps_both_outputs(tmp_path: Path) -> None:
    to = sink(tmp_path / "out")
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        to.attach(str(tmp_path / run))
        to.commit(0, write(to, 0, [run]))
    assert lines(tmp_path / "out") == ["a", "b"]


def test_resumed_task_with_the_same_number_writes_another_file(tmp_path: Path) -> None:
    to = sink(tmp_path)
    first, second = write(to, 0, ["a"]), write(to, 0, ["a"])
    assert len(hidden(tmp_path)) == 2
    to.commit(0, first)
    to.commit(0, second)
    assert lines(tmp_path) == ["a"]
    assert hidden(tmp_path) == []


# -- rolling


def test_full_file_is_completed(tmp_path: Path) -> None:
    to = sink(tmp_path, rolling=RollingPolicy.default_rolling_policy(part_size=5))
    to.commit(0, write(to, 0, ["aa", "b", "cc", "dddddddd", "e"]))
    assert [file.read_text() for file in visible(tmp_path)] == ["aa\nb\n", "cc\n", "dddddddd\n"]
    assert [file.name[-6:] for file in visible(tmp_path)] == ["-0.txt", "-1.txt", "-2.txt"]
    to.finish()
    assert lines(tmp_path) == ["aa", "b", "cc", "dddddddd", "e"]


def test_file_stays_hidden_until_the_rollover_interval(tmp_path: Path, clock: list[float]) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    policy = RollingPolicy.default_rolling_policy(rollover_interval=10_000, inactivity_interval=4_000)
    to = sink(tmp_path / "out", rolling=policy)
    to.attach(str(memory))
    for batch in range(5):
        clock[0] = batch * 2
        to.commit(batch, write(to, batch, [f"{batch}-a"], [f"{batch}-b"]))
        assert visible(tmp_path / "out") == []
        assert to.due() == min(10_000, batch * 2_000 + 4_000)
    clock[0] = 10
    to.commit(5, [])
    assert to.due() is None
    (file,) = visible(tmp_path / "out")
    assert file.read_text().split() == [f"{batch}-{task}" for batch in range(5) for task in "ab"]
    assert hidden(tmp_path / "out") == []

    to.commit(6, write(to, 6, ["late"]))
    clock[0] = 14
    to.commit(7, [])  # no write for four seconds
    assert len(visible(tmp_path / "out")) == 2


def test_custom_rolling_policy(tmp_path: Path) -> None:
    class EveryThirdBatch(RollingPolicy):
        part_size = 1 << 30

        def should_roll(self, part: Any, now: int) -> bool:
            return bool(part.batches == 3)

    to = sink(tmp_path, rolling=EveryThirdBatch())
    for batch in range(7):
        to.commit(batch, write(to, batch, [f"{batch}"]))
    assert [f.read_text().split() for f in visible(tmp_path)] == [["0", "1", "2"], ["3", "4", "5"]]


def test_pending_files_become_visible_when_a_bounded_job_ends(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    env.from_source(PushSource()).sink_to(sink(tmp_path, rolling=RollingPolicy.default_rolling_policy()))
    harness = Harness(env, real_sinks=True)
    harness.push("a")
    harness.push("b")
    assert visible(tmp_path) == []
    assert harness.next_wake() is not None
    harness.end()
    (file,) = visible(tmp_path)
    assert file.read_text() == "a\nb\n"
    assert [f.name for f in tmp_path.iterdir()] == [file.name], "nothing hidden is left"


# -- folders


def test_bucket_per_element(tmp_path: Path) -> None:
    to = sink(tmp_path, buckets=BucketAssigner.by(lambda word: f"first={word[0]}/size={len(word)}"))
    to.commit(0, write(to, 0, ["ab", "b", "ac", "bcd"], ["ad"]))
    assert {str(f.parent.relative_to(tmp_path)): f.read_text() for f in visible(tmp_path)} == {
        "first=a/size=2": "ad\n",
        "first=b/size=1": "b\n",
        "first=b/size=3": "bcd\n",
    } | {"first=a/size=2": "ad\n"}
    assert lines(tmp_path) == ["ab", "ac", "ad", "b", "bcd"]


def test_buckets_by_event_time(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    buckets = BucketAssigner.event_time_bucket_assigner("yyyy-MM-dd", "UTC")
    env.from_source(PushSource(), WatermarkStrategy.for_monotonous_timestamps()).sink_to(
        sink(tmp_path, buckets=buckets)
    )
    harness = Harness(env, real_sinks=True)
    harness.push_all([At("a", 0), At("b", 86_400_000), At("c", 1)])
    harness.end()
    output_files = {f.parent.name: f.read_text().split() for f in visible(tmp_path)}
    assert output_files == {"1970-01-01": ["a", "c"], "1970-01-02": ["b"]}
    untimed = StreamExecutionEnvironment()
    untimed.from_collection(["a"]).sink_to(sink(tmp_path, buckets=buckets))
    with pytest.raises(ConfigError, match="without a timestamp"):
        Harness(untimed, real_sinks=True).run()


def test_custom_assigner_gets_processing_time_and_timestamp(tmp_path: Path) -> None:
    class Both(BucketAssigner):
        def get_bucket_id(self, element: Any, context: BucketContext) -> str:
            return f"{element}-{context.timestamp()}-{context.current_processing_time() > 1_700_000_000_000}"

    env = StreamExecutionEnvironment()
    env.from_source(PushSource()).sink_to(sink(tmp_path, buckets=Both()))
    harness = Harness(env, real_sinks=True)
    harness.push("a", 7)
    harness.push("b")
    harness.end()
    assert {f.parent.name for f in visible(tmp_path)} == {"a-7-True", "b-None-True"}


@pytest.mark.parametrize("bucket", ["../above", "/", "a//b", ".hidden", "_tmp/x", 7, None])
def test_bucket_must_be_a_visible_subfolder(tmp_path: Path, bucket: Any) -> None:
    env = StreamExecutionEnvironment()
    env.from_collection(["word"]).sink_to(sink(tmp_path, buckets=BucketAssigner.by(lambda w: bucket))).name("files")
    with pytest.raises(ConfigError, match=r"BUCKET_ID.*In sink 'files', element 'word'"):
        Harness(env, real_sinks=True).run()
    assert visible(tmp_path) == hidden(tmp_path) == []


def test_more_buckets_than_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.file.sink.part_writer._MAX_OPEN", 3)
    to = sink(tmp_path, buckets=BucketAssigner.by(lambda n: f"{n % 10}"))
    to.commit(0, write(to, 0, list(range(40))))
    assert sorted(map(int, lines(tmp_path))) == list(range(40))
    assert len({f.parent for f in visible(tmp_path)}) == 10


# -- compaction


def each(batches: int) -> FileCompactStrategy:
    return FileCompactStrategy.builder().enable_compaction_on_checkpoint(batches).build()


def test_small_files_of_several_batches_are_compacted(tmp_path: Path) -> None:
    to = sink(tmp_path, compact=(each(3), FileCompactor.concat_file_compactor()))
    for batch in range(6):
        to.commit(batch, write(to, batch, [f"{batch}-a"], [f"{batch}-b"]))
        assert len(visible(tmp_path)) == (batch + 1) // 3
    assert [f.read_text().split() for f in visible(tmp_path)] == [
        [f"{batch}-{task}" for batch in of for task in "ab"] for of in ((0, 1, 2), (3, 4, 5))
    ]
    assert all(f.name.startswith("compacted-words-") for f in visible(tmp_path))


def test_small_files_are_compacted_at_the_size_threshold(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(10).set_num_compact_threads(3).build()
    buckets = BucketAssigner.by(lambda word: word[0])
    to = sink(tmp_path, buckets=buckets, compact=(strategy, FileCompactor.concat_file_compactor(b"--\n")))
    to.commit(0, write(to, 0, ["aaaa"], ["b"], ["cccccccccccc", "d"]))
    to.commit(1, write(to, 1, ["aaaa"], ["b"], ["dddddddddddddd"]))
    assert {f.parent.name: f.read_text().split() for f in visible(tmp_path)} == {
        "a": ["aaaa", "--", "aaaa"],
        "c": ["cccccccccccc"],
        "d": ["d", "--", "dddddddddddddd"],
    }
    to.finish()
    assert (tmp_path / "b").is_dir()
    assert hidden(tmp_path) == []


def test_identical_compactor_accepts_one_file(tmp_path: Path) -> None:
    to = sink(tmp_path, compact=(each(2), FileCompactor.identical_file_compactor()))
    to.commit(0, write(to, 0, ["a"]))
    to.commit(1, [])
    assert lines(tmp_path) == ["a"]
    with pytest.raises(ConfigError, match="COMPACT_SEVERAL"):
        FileCompactor.identical_file_compactor().compact([io.BytesIO(b"a"), io.BytesIO(b"b")], io.BytesIO())


def test_strategy_without_condition_is_rejected() -> None:
    with pytest.raises(ConfigError, match="has no condition"):
        FileCompactStrategy.builder().build()
    with pytest.raises(ConfigError, match="num_compact_threads is 0"):
        FileCompactStrategy.builder().set_num_compact_threads(0)
    with pytest.raises(ConfigError, match="num_checkpoints_before_compaction is 0"):
        FileCompactStrategy.builder().enable_compaction_on_checkpoint(0)


# -- bulk formats


class Columns(BulkFormat, BulkWriterFactory):
    """Rows of one number as Parquet."""

    extension = ".parquet"

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        for batch in pq.ParquetFile(file_object).iter_batches():
            yield batch.to_pylist()

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return ColumnWriter(file_object)


class ColumnWriter(BulkWriter):
    def __init__(self, file: IO[bytes]) -> None:
        self._writer = pq.ParquetWriter(file, pa.schema([("n", pa.int64())]))

    def write(self, values: list[Any]) -> None:
        self._writer.write_table(pa.Table.from_pylist(values))

    def finish(self) -> None:
        self._writer.close()


def bulk(folder: Path, compact: bool = False) -> FileSink:
    builder = FileSink.for_bulk_format(folder, Columns()).with_rolling_policy(EACH_BATCH)
    builder.with_bucket_assigner(BucketAssigner.by(lambda row: f"odd={row['n'] % 2}"))
    if compact:
        builder.enable_compact(each(3), FileCompactor.record_wise_file_compactor(Columns()))
    return builder.build()


def numbers_in(folder: Path) -> dict[str, list[int]]:
    files = [(f.parent.name, pq.ParquetFile(f).read().to_pylist()) for f in visible(folder)]
    return {name: sorted(row["n"] for at, rows in files if at == name for row in rows) for name, _ in files}


@pytest.mark.parametrize("compact", [False, True])
def test_files_of_a_bulk_format(tmp_path: Path, compact: bool) -> None:
    to = bulk(tmp_path, compact)
    for batch in range(3):
        to.commit(batch, write(to, batch, [{"n": 10 * batch + n} for n in range(5)], [{"n": 10 * batch + 7}]))
    expected = sorted(10 * batch + n for batch in range(3) for n in (0, 1, 2, 3, 4, 7))
    assert numbers_in(tmp_path) == {f"odd={odd}": [n for n in expected if n % 2 == odd] for odd in (0, 1)}
    assert len(visible(tmp_path)) == (2 if compact else 9)
    assert all(f.name.endswith(".parquet") for f in visible(tmp_path))
    assert hidden(tmp_path) == []
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(FileSource.for_bulk_file_format(Columns(), str(tmp_path)).build()))
    harness.run()
    assert sorted(row["n"] for row in out) == expected


def test_elements_that_a_bulk_format_rejects(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    env.from_collection([{"n": 1}, {"n": "two"}]).sink_to(
        FileSink(tmp_path, bulk_writer=Columns(), buckets=BucketAssigner.base_path_bucket_assigner())
    ).name("numbers")
    with pytest.raises(UserFunctionError, match=r"Sink 'numbers' raised"):
        Harness(env, real_sinks=True).run()
    assert visible(tmp_path) == hidden(tmp_path) == []


# -- crashes


class Crash(BaseException):
    """Stands for the end of the driver process."""


class Killed:
    """Counts the calls of the sink on the driver and raises Crash before or after one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.calls = 0
        self._at = at
        self._files: list[Any] = []
        for name in ("create", "close", "publish", "remove", "remove_folder", "get_status"):
            monkeypatch.setattr(LocalFileSystem, name, self._around(getattr(LocalFileSystem, name)))
        monkeypatch.setattr("penstock.connectors.file.sink.sink.save_journal", self._around(journal.save_journal))

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self.calls += 1
            if self.calls == self._at:
                raise Crash  # before
            done = call(*args)
            if hasattr(done, "close"):
                self._files.append(done)
            self.calls += 1
            if self.calls == self._at:
                raise Crash  # or after
            return done

        return counted

    def close(self) -> None:
        """Closes open files, as the end of a process does."""
        for file in self._files:
            file.close()


BATCHES: list[list[list[str]]] = [[["a", "bb"], ["c"]], [["d"], []], [["ee"], ["f", "g"]], [[], []], [["h"], ["a"]]]


def run_through(to: FileSink, first: int, attempt: str) -> None:
    for batch in range(first, len(BATCHES)):
        to.commit(batch, write(to, batch, *BATCHES[batch], attempt=attempt))
        done[0] = batch + 1
    to.finish()


done = [0]


@pytest.mark.parametrize("way", ["rolled by size", "joined", "each batch"])
def test_driver_is_killed_at_any_call(tmp_path: Path, way: str) -> None:
    expected = sorted(word for batch in BATCHES for task in batch for word in task)
    ways: dict[str, dict[str, Any]] = {
        "rolled by size": {"rolling": RollingPolicy.default_rolling_policy(part_size=7)},
        "joined": {"compact": (each(2), FileCompactor.concat_file_compactor())},
        "each batch": {},
    }
    settings = ways[way]
    buckets = BucketAssigner.by(lambda word: word[0] if word < "c" else "other")
    at, crashed = 0, True
    while crashed:
        at += 1
        out, memory = tmp_path / f"out-{at}", tmp_path / f"memory-{at}"
        memory.mkdir()
        done[0] = 0
        with pytest.MonkeyPatch.context() as patch:
            first = sink(out, buckets=buckets, **settings)
            first.attach(str(memory))
            with closing(Killed(patch, at)):
                try:
                    run_through(first, 0, "a")
                    crashed = False
                except Crash:
                    pass
        resumed = sink(out, buckets=buckets, **settings)
        resumed.attach(str(memory))
        run_through(resumed, done[0], "b")
        assert lines(out) == expected, f"{way}, killed at call {at}"
        assert hidden(out) == [], f"{way}, killed at call {at}"
    assert at > 40


def test_files_of_killed_tasks_are_removed(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    out = tmp_path / "out"
    to = sink(out, rolling=RollingPolicy.default_rolling_policy())
    to.attach(str(memory))
    write(to, 0, ["lost"], attempt="killed")
    to.commit(0, write(to, 0, ["kept"]))
    running = write(to, 1, ["running"])
    assert len(hidden(out)) == 3
    again = sink(out, rolling=RollingPolicy.default_rolling_policy())
    again.attach(str(memory))
    assert sorted(f.read_text() for f in hidden(out)) == ["kept\n", "running\n"]
    again.commit(1, running)
    again.finish()
    assert lines(out) == ["kept", "running"]


def test_removed_hidden_file(tmp_path: Path) -> None:
    to = sink(tmp_path, rolling=RollingPolicy.default_rolling_policy())
    to.commit(0, write(to, 0, ["a"]))
    hidden(tmp_path)[0].unlink()
    with pytest.raises(JobError, match=r"PART_VANISHED.*must not be removed"):
        to.finish()


# -- types, invalid settings


def test_elements_of_a_declared_type_are_written_as_in_flink(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    row = Types.ROW([Types.STRING(), Types.BOOLEAN()])
    typed = env.from_collection([Row("a", True)], type_info=row)
    typed.filter(lambda r: True).sink_to(sink(tmp_path / "typed"))
    typed.map(lambda r: ("a", True)).sink_to(sink(tmp_path / "untyped"))
    Harness(env, real_sinks=True).run()
    assert lines(tmp_path / "typed") == ["+I[a, true]"]
    assert lines(tmp_path / "untyped") == ["('a', True)"]


def test_invalid_settings_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="'EEE' in the date pattern"):
        BucketAssigner.date_time_bucket_assigner("yyyy-EEE")
    with pytest.raises(ConfigError, match="Unknown time zone 'Nowhere'"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Nowhere")
    with pytest.raises(ConfigError, match="part_size is 0"):
        RollingPolicy.default_rolling_policy(part_size=0)
    with pytest.raises(ConfigError, match="Unknown charset 'UTF-9'"):
        Encoder.simple_string_encoder("UTF-9")
    with pytest.raises(ConfigError, match="bulk format got DefaultRollingPolicy"):
        FileSink.for_bulk_format(tmp_path, None).with_rolling_policy(RollingPolicy.default_rolling_policy())
