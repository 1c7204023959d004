"""HDFS with a real NameNode and DataNode: sources, sinks and savepoints, over the native protocol and HTTP.

The tests check results over plain HTTP, without the tested code. The calls of every file system, and jobs
that crash during compaction, are in test_file_system.py.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import penstock as ps
from penstock import Duration, StreamExecutionEnvironment
from penstock.cli.main import app
from penstock.connectors import BucketAssigner, Encoder, FileSink, FileSource, RollingPolicy, StreamFormat, WriteTask
from penstock.connectors.file.system.file_system import FileSystem, file_system
from penstock.connectors.file.system.hdfs import hdfs_file_system
from penstock.connectors.file.system.web_hdfs import web_hdfs_file_system
from penstock.errors import JobError
from penstock.savepoints import open_savepoint
from penstock.savepoints.catalogue import find_savepoints
from penstock.state import ValueStateDescriptor
from penstock.testing import Harness, PushSource
from tests.hdfs_server import Hdfs
from tests.waiting import until

pytestmark = pytest.mark.long


@pytest.fixture(params=["hdfs", "webhdfs"])
def folder(request: pytest.FixtureRequest, hdfs: Hdfs) -> str:
    return hdfs.new_folder(request.param)


def put(path: str, data: bytes | str) -> None:
    system = file_system(path)
    file = system.create(path)
    file.write(data.encode() if isinstance(data, str) else data)
    system.close(file)


# -- sources


def all_of(source: FileSource) -> list[Any]:
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=2)
    out = harness.collect(env.from_source(source))
    harness.run()
    return out


def test_subfolders_and_compressed_files_are_read_and_hidden_files_are_not(folder: str) -> None:
    put(f"{folder}/in/a.txt", "a\n")
    put(f"{folder}/in/2024/05/b.txt.gz", gzip.compress(b"b\n" * 3))
    put(f"{folder}/in/country=de, 5% #1?/c.txt", "c\n")
    for hidden in (".d.txt", "_e/f.txt", "2024/.g/h.txt"):
        put(f"{folder}/in/{hidden}", "hidden\n")
    assert sorted(all_of(FileSource(f"{folder}/in"))) == ["a", "b", "b", "b", "c"]
    assert all_of(FileSource(f"{folder}/in/2024/05/b.txt.gz")) == ["b", "b", "b"]


def test_a_large_file_is_read_in_parts(folder: str) -> None:
    expected = [f"{n:07d}-{'x' * (n % 90)}" for n in range(150_000)]
    put(f"{folder}/in/large.txt", "\n".join(expected) + "\n")
    assert file_system(folder).get_status(f"{folder}/in/large.txt").size > 7 << 20  # type: ignore[union-attr]
    assert sorted(all_of(FileSource(f"{folder}/in", bytes_per_batch=1_500_000))) == expected


def read_next(source: FileSource, offset: Any) -> tuple[list[Any], Any]:
    """Reads the elements after an offset. Returns them and the next offset."""
    end = source.latest(offset)
    return [v for task in source.plan(offset, end, 2) for chunk in source.read(task) for v in chunk.values], end


def test_new_files_are_found_once_they_have_their_names(folder: str, tmp_path: Path) -> None:
    put(f"{folder}/in/a.txt", "a\n")
    lines = StreamFormat.text_line_format()
    source = (
        FileSource.for_record_stream_format(lines, f"{folder}/in").monitor_continuously(Duration.of_millis(1)).build()
    )
    source.attach(str(tmp_path))
    values, offset = read_next(source, source.initial())
    assert values == ["a"]
    put(f"{folder}/in/new/.b.txt", "b\nc\n")
    values, offset = read_next(source, offset)
    assert values == [], "it is not finished"
    file_system(folder).publish(f"{folder}/in/new/.b.txt", f"{folder}/in/new/b.txt")
    values, offset = read_next(source, offset)
    assert values == ["b", "c"]
    assert read_next(source, offset)[0] == []


@pytest.mark.parametrize(
    ("now", "code"), [("other\n", "FILE_CHANGED"), ("longer\n", "FILE_CHANGED"), (None, "FILE_VANISHED")]
)
def test_changed_or_removed_file(folder: str, tmp_path: Path, now: str | None, code: str) -> None:
    put(f"{folder}/in/a.txt", "lines\n")
    source = FileSource(f"{folder}/in")
    source.attach(str(tmp_path))
    file_system(folder).remove(f"{folder}/in/a.txt")
    if now is not None:
        put(f"{folder}/in/a.txt", now)
    with pytest.raises(JobError) as caught:
        read_next(source, source.initial())
    assert caught.value.code == code


def test_a_lost_block_is_an_error_and_not_content(folder: str, hdfs: Hdfs) -> None:
    others = hdfs.blocks()
    put(f"{folder}/in/a.txt", "a\n" * 200)
    lost = hdfs.blocks() - others
    assert lost
    for file in lost:
        file.unlink()
    system = file_system(folder)
    with pytest.raises(OSError):  # noqa: PT011 - each client has its own message
        system.open(f"{folder}/in/a.txt").read()
    system.remove(f"{folder}/in/a.txt")  # a NameNode waits for lost blocks when it starts


def test_file_removed_between_the_responses_of_namenode_and_datanode(
    hdfs: Hdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error message of the DataNode over HTTP must not become content."""
    folder = hdfs.new_folder("webhdfs")
    put(f"{folder}/in/a.txt", "a\n" * 200)
    source = FileSource(f"{folder}/in")
    source.attach(str(tmp_path))
    get = requests.Session.get

    def removed_before(*args: Any, **options: Any) -> Any:
        file_system(folder).remove(f"{folder}/in/a.txt")
        return get(*args, **options)

    monkeypatch.setattr(requests.Session, "get", removed_before)
    with pytest.raises(JobError) as caught:
        read_next(source, source.initial())
    assert caught.value.code == "FILE_VANISHED"


# -- sinks


def sink(folder: str, memory: Path, rolling: RollingPolicy | None = None) -> FileSink:
    builder = FileSink.for_row_format(f"{folder}/out", Encoder.simple_string_encoder())
    builder = builder.with_bucket_assigner(BucketAssigner.by(lambda word: f"first={word[0]}"))
    file_sink = builder.with_rolling_policy(rolling or RollingPolicy.on_checkpoint_rolling_policy()).build()
    memory.mkdir(exist_ok=True)
    file_sink.attach(str(memory))
    return file_sink


def write(to: FileSink, batch: int, *words: str, attempt: str = "a") -> list[Any]:
    writer = to.writer(WriteTask(batch, 0, attempt))
    writer.write(list(words), None, None)
    return [writer.prepare()]


def test_only_complete_files_of_committed_batches_are_visible(folder: str, hdfs: Hdfs, tmp_path: Path) -> None:
    to, out = sink(folder, tmp_path / "m"), f"{folder}/out"
    writer = to.writer(WriteTask(0, 0, "a"))
    large = "a" * (6 << 20)  # more than a client keeps to itself
    writer.write([large, "plum"], None, None)
    assert hdfs.files(out), "files are being written"
    assert hdfs.visible(out) == {}
    prepared = [writer.prepare()]
    pending = hdfs.files(out)
    assert len(pending) == 2
    assert hdfs.visible(out) == {}
    to.commit(0, prepared)
    assert sorted(name.split("/")[0] for name in hdfs.visible(out)) == ["first=a", "first=p"]
    assert hdfs.lines(out) == [large, "plum"]
    assert sorted(hdfs.files(out).values()) == sorted(pending.values()), "they were renamed, not copied"


def test_batch_committed_twice_is_written_once(folder: str, hdfs: Hdfs, tmp_path: Path) -> None:
    first = sink(folder, tmp_path / "m")
    first.commit(0, write(first, 0, "apple"))
    before = hdfs.files(f"{folder}/out")
    resumed = sink(folder, tmp_path / "m")
    resumed.commit(0, write(resumed, 0, "apple", attempt="b"))
    assert hdfs.files(f"{folder}/out") == before
    resumed.commit(1, write(resumed, 1, "apple"))
    assert hdfs.lines(f"{folder}/out") == ["apple", "apple"]


def test_files_of_a_failed_batch_are_removed(folder: str, hdfs: Hdfs, tmp_path: Path) -> None:
    to = sink(folder, tmp_path / "m")
    to.abort(0, write(to, 0, "apple"))
    writer = to.writer(WriteTask(0, 0, "b"))
    writer.write(["plum"], None, None)
    writer.abort()
    assert hdfs.files(f"{folder}/out") == {}


def test_files_roll_by_size_over_batches(folder: str, hdfs: Hdfs, tmp_path: Path) -> None:
    to, out = sink(folder, tmp_path / "m", RollingPolicy.default_rolling_policy(part_size=12)), f"{folder}/out"
    to.commit(0, write(to, 0, "a1", "a2"))
    to.commit(1, write(to, 1, "a3"))
    assert hdfs.visible(out) == {}, "nine bytes of twelve"
    to.commit(2, write(to, 2, "a4", "b1"))
    (full,) = hdfs.visible(out)
    assert hdfs.content(f"{out}/{full}") == "a1\na2\na3\na4\n"
    to.finish()
    assert hdfs.lines(out) == ["a1", "a2", "a3", "a4", "b1"]
    assert hdfs.files(out) == hdfs.visible(out)


def test_folder_without_write_permission(hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    for open_files, scheme in ((hdfs_file_system, "hdfs"), (web_hdfs_file_system, "webhdfs")):
        path = hdfs.new_folder(scheme)
        system: FileSystem = open_files(path, {})
        with pytest.raises(PermissionError, match="user=alice"):
            system.close(system.create(f"{path}/a"))


# -- savepoints


class Sum(ps.KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", int))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        yield ctx.get_current_key(), self.total.value()


def sums() -> tuple[StreamExecutionEnvironment, Any]:
    env = StreamExecutionEnvironment()
    numbers = env.from_source(PushSource(["s"]), source_name="numbers").uid("numbers")
    return env, numbers.key_by(lambda n: n % 10).process(Sum()).uid("sums")


def test_a_savepoint_is_written_listed_verified_and_restored(folder: str, hdfs: Hdfs) -> None:
    env, _ = sums()
    harness = Harness(env, parallelism=2)
    with harness.batch():
        for n in range(1000):
            harness.push(n)
    path = harness.savepoint(f"{folder}/saved/first")
    assert [s.path for s in find_savepoints(f"{folder}/saved")] == [path]
    assert open_savepoint(path).verify() == []

    env, totals = sums()
    restored = Harness(env, parallelism=3)
    out = restored.collect(totals)
    restored.restore_savepoint(path).push(3)
    assert out == [(3, sum(range(3, 1000, 10)) + 3)]

    shell = CliRunner()
    listed = shell.invoke(app, ["savepoints", "list", f"{folder}/saved", "--json"])
    assert [json.loads(line)["path"] for line in listed.stdout.splitlines()] == [path], listed.stderr
    assert shell.invoke(app, ["savepoints", "verify", path]).exit_code == 0
    damaged = next(name for name in hdfs.files(path) if name.endswith(".state"))
    system = file_system(path)
    with system.open(f"{path}/{damaged}") as file:
        content = bytearray(file.read())
    content[len(content) // 2] ^= 1
    put(f"{path}/{damaged}", bytes(content))
    assert shell.invoke(app, ["savepoints", "verify", path]).exit_code != 0
    assert shell.invoke(app, ["savepoints", "delete", path]).exit_code == 0
    assert hdfs.files(f"{folder}/saved") == {}


# -- on Spark


def test_job_on_spark_stops_with_a_savepoint_and_continues(
    spark: SparkSession, folder: str, hdfs: Hdfs, tmp_path: Path
) -> None:
    """Workers and savepoint processes use HDFS; the second job continues where the first stopped."""

    def started(name: str, **options: Any) -> ps.JobClient:
        places = {"execution.checkpointing.dir": str(tmp_path / name), "state.local.dir": str(tmp_path / "local")}
        env = StreamExecutionEnvironment(ps.Configuration({**places, **options})).set_parallelism(2)
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{folder}/in")
        source = lines.monitor_continuously(Duration.of_millis(100)).build()
        totals = env.from_source(source, source_name="in").uid("in").map(int).key_by(lambda n: n % 2).process(Sum())
        out = FileSink.for_row_format(f"{folder}/out", Encoder.simple_string_encoder())
        out.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        totals.uid("sums").map(str).sink_to(out.build()).uid("out")
        return env.execute_async(name)

    put(f"{folder}/in/a.txt", "1\n2\n3\n")
    first = started("first")
    until(lambda: len(hdfs.lines(f"{folder}/out")) == 3)
    path = first.stop_with_savepoint(False, f"{folder}/saved").result()
    assert open_savepoint(path).verify() == []
    put(f"{folder}/in/b.txt", "10\n20\n")
    second = started("second", **{"execution.savepoint.path": path})
    until(lambda: len(hdfs.lines(f"{folder}/out")) == 5)
    second.cancel().result()
    assert hdfs.lines(f"{folder}/out") == sorted(["(1, 1)", "(0, 2)", "(1, 4)", "(0, 12)", "(0, 32)"])


# -- NameNode restart


def test_restarted_namenode(folder: str, hdfs: Hdfs, tmp_path: Path) -> None:
    options = {} if folder.startswith("web") else {"dfs.client.failover.max.attempts": 0}
    put(f"{folder}/in/a.txt", "a\n")
    source = FileSource(f"{folder}/in", storage_options=options, bounded=False)
    source.attach(str(tmp_path))
    values, offset = read_next(source, source.initial())
    assert values == ["a"]
    hdfs.kill()
    try:
        source._next_discovery = 0.0
        with pytest.raises(OSError, match=r"refused|reset|closed|aborted"):
            source.latest(offset)
    finally:
        hdfs.start()
    put(f"{folder}/in/b.txt", "b\n")
    source._next_discovery = 0.0
    assert read_next(source, offset)[0] == ["b"]
