"""The file sink: names, folders, sizes, and every element once when a batch runs again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Row, StreamExecutionEnvironment, Types
from penstock.connectors import (
    BucketAssigner,
    Encoder,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
    WriteTask,
)
from penstock.errors import ConfigError, UnsupportedOperation
from penstock.testing import Harness


def sink(folder: Path, **settings: Any) -> FileSink:
    builder = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    builder = builder.with_bucket_assigner(settings.get("buckets", BucketAssigner.base_path_bucket_assigner()))
    if "part_size" in settings:
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=settings["part_size"]))
    files = OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    return builder.with_output_file_config(files).build()


def write(to: FileSink, batch: int, *tasks: list[Any], attempt: str = "a") -> list[Any]:
    prepared = []
    for partition, values in enumerate(tasks):
        writer = to.writer(WriteTask(batch, partition, attempt))
        writer.write(values, None, None)
        prepared.append(writer.prepare())
    return [p for p in prepared if p is not None]


def lines(folder: Path) -> list[str]:
    return sorted(line for file in folder.rglob("words-*.txt") for line in file.read_text().splitlines())


def test_files_appear_when_the_batch_is_committed(tmp_path: Path) -> None:
    to = sink(tmp_path)
    prepared = write(to, 0, ["a", "b"], ["c"], [])
    assert lines(tmp_path) == []
    assert all(file.name.startswith(".") for file in tmp_path.iterdir())
    to.commit(0, prepared)
    assert lines(tmp_path) == ["a", "b", "c"]
    assert len(list(tmp_path.iterdir())) == 2


def test_aborted_files_are_removed(tmp_path: Path) -> None:
    to = sink(tmp_path)
    to.abort(0, write(to, 0, ["a"]))
    writer = to.writer(WriteTask(1, 0, "a"))
    writer.write(["b"], None, None)
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_full_ends(tmp_path: Path) -> None:
    to = sink(tmp_path, part_size=5)
    to.commit(0, write(to, 0, ["aa", "b", "cc", "dddddddd", "e"]))
    found = sorted(tmp_path.iterdir())
    assert [file.read_text() for file in found] == ["aa\nb\n", "cc\n", "dddddddd\n", "e\n"]
    assert [file.name[-6:] for file in found] == ["-0.txt", "-1.txt", "-2.txt", "-3.txt"]


def test_a_batch_that_runs_again_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, out = tmp_path / "memory", tmp_path / "out"
    memory.mkdir()
    clock = [0.0]
    monkeypatch.setattr("penstock.connectors.file_sink.time.time", lambda: clock[0])
    buckets = BucketAssigner.date_time_bucket_assigner(timezone_id="UTC")
    first = sink(out, buckets=buckets)
    first.attach(str(memory))
    first.commit(0, write(first, 0, ["zero"]))
    first.commit(1, write(first, 1, ["a"], ["b"], ["c"]))
    clock[0] += 3600

    resumed = sink(out, buckets=buckets)  # another process, an hour later; its tasks are cut in another way
    resumed.attach(str(memory))
    resumed.commit(1, write(resumed, 1, ["a", "b", "c"], attempt="b"))
    assert lines(out) == ["a", "b", "c", "zero"]
    assert [folder.name for folder in out.iterdir()] == ["1970-01-01--00"]

    resumed.commit(2, write(resumed, 2, ["d"]))
    assert lines(out) == ["a", "b", "c", "d", "zero"]
    assert {folder.name for folder in out.iterdir()} == {"1970-01-01--00", "1970-01-01--01"}


def test_two_jobs_can_write_into_one_folder(tmp_path: Path) -> None:
    for word in ("a", "b"):
        to = sink(tmp_path)
        to.commit(0, write(to, 0, [word]))
    assert lines(tmp_path) == ["a", "b"]


def test_elements_of_a_declared_type_are_written_as_flink_does(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    row = Types.ROW([Types.STRING(), Types.BOOLEAN()])
    typed = env.from_collection([Row("a", True)], type_info=row)
    typed.filter(lambda r: True).sink_to(sink(tmp_path / "typed"))
    typed.map(lambda r: ("a", True)).sink_to(sink(tmp_path / "untyped"))
    Harness(env, real_sinks=True).run()
    assert lines(tmp_path / "typed") == ["+I[a, true]"]
    assert lines(tmp_path / "untyped") == ["('a', True)"]


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="BULK_FORMAT"):
        FileSink.for_bulk_format(str(tmp_path), None)
    with pytest.raises(UnsupportedOperation, match="FILE_COMPACTION"):
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).enable_compact(None, None)
    with pytest.raises(UnsupportedOperation, match="'EEE' in the date pattern"):
        BucketAssigner.date_time_bucket_assigner("yyyy-EEE")
    with pytest.raises(ConfigError, match="no time zone 'Nowhere'"):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Nowhere")
    with pytest.raises(ConfigError, match="part_size is 0"):
        RollingPolicy.default_rolling_policy(part_size=0)
    with pytest.raises(ConfigError, match="no charset 'UTF-9'"):
        Encoder.simple_string_encoder("UTF-9")
