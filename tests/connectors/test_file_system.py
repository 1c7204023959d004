"""Files that are not local: the same calls on every file system, and jobs that read and write an object store."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from penstock import StreamExecutionEnvironment
from penstock.connectors import (
    BucketAssigner,
    Encoder,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    JsonLinesSink,
    RollingPolicy,
    StreamFormat,
    WriteTask,
    json_lines,
)
from penstock.connectors.file.system import FileSystem, absolute, file_system
from penstock.connectors.secret import secrets_may_travel
from penstock.errors import ConfigError
from penstock.testing import Harness
from tests.connectors.conftest import ObjectStore

Root = tuple[FileSystem, str]


@pytest.fixture(params=["local", "s3", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    if request.param == "local":
        path, options = str(tmp_path / "root"), {}
    elif request.param == "s3":
        store = request.getfixturevalue("s3")
        path, options = f"{store.path}/root", store.options
    else:
        path, options = f"memory://{uuid.uuid4().hex}/root", {}
    return file_system(path, options), path


def put(system: FileSystem, path: str, data: bytes) -> None:
    file = system.create(path)
    file.write(data)
    assert file.tell() == len(data)
    system.close(file)


def test_what_is_written_is_read_from_any_place(root: Root) -> None:
    system, path = root
    put(system, f"{path}/a/b.txt", b"one\ntwo\nthree")
    with system.open(f"{path}/a/b.txt") as file:
        file.seek(4)
        assert (file.readline(), file.read()) == (b"two\n", b"three")
    put(system, f"{path}/a/b.txt", b"again")
    with system.open(f"{path}/a/b.txt") as file:
        assert file.read() == b"again"
    found = system.find(f"{path}/a/b.txt")
    assert found is not None
    assert (found.path, found.size) == (f"{path}/a/b.txt", 5)
    assert system.find(f"{path}/a") is None
    assert system.find(f"{path}/nothing") is None
    assert system.is_folder(f"{path}/a")
    assert not system.is_folder(f"{path}/nothing")


def test_listing_leaves_hidden_names_out(root: Root) -> None:
    system, path = root
    for name in ("b", "deep/er/a", ".hidden/c", "deep/_tmp/d", "_e"):
        put(system, f"{path}/{name}", b"x")
    assert [(f.path, f.size) for f in system.below(path)] == [(f"{path}/b", 1), (f"{path}/deep/er/a", 1)]
    assert system.names(f"{path}/.hidden") == ["c"]
    assert system.names(f"{path}/nothing") == []


def test_publishing_gives_a_file_its_name(root: Root) -> None:
    system, path = root
    put(system, f"{path}/.hidden/a", b"new")
    system.publish(f"{path}/.hidden/a", f"{path}/in/a/folder/b")
    assert [f.path for f in system.below(path)] == [f"{path}/in/a/folder/b"]
    assert system.names(f"{path}/.hidden") == []
    put(system, f"{path}/.hidden/a", b"newer")
    system.publish(f"{path}/.hidden/a", f"{path}/in/a/folder/b")
    with system.open(f"{path}/in/a/folder/b") as file:
        assert file.read() == b"newer"
    with pytest.raises(FileNotFoundError):
        system.publish(f"{path}/.hidden/a", f"{path}/in/a/folder/c")


def test_removing(root: Root) -> None:
    system, path = root
    put(system, f"{path}/.hidden/a", b"x")
    put(system, f"{path}/.hidden/b", b"x")
    system.remove(f"{path}/.hidden/a")
    system.remove(f"{path}/.hidden/a")
    assert system.names(f"{path}/.hidden") == ["b"]
    system.remove_folder(f"{path}/.hidden")
    system.remove_folder(f"{path}/.hidden")
    assert system.names(f"{path}/.hidden") == []


def test_paths_mean_the_same_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("out") == str(tmp_path / "out")
    assert absolute("hdfs://name:8020/a/") == "hdfs://name:8020/a"


@pytest.mark.parametrize("path", ["nonsense://a/b", "s3://a/b"])
def test_a_file_system_that_cannot_be_had(path: str) -> None:
    with pytest.raises(ConfigError, match=r"FILE_SYSTEM.*storage_options"):
        file_system(path, {"no_such_option": 1})


# -- jobs


def lines_of(store: ObjectStore, folder: str) -> list[str]:
    system = file_system(store.path, store.options)
    found = []
    for file in system.below(f"{store.path}/{folder}"):
        with system.open(file.path) as content:
            found += content.read().decode().splitlines()
    return sorted(found)


def words(store: ObjectStore, *folders: str) -> None:
    system = file_system(store.path, store.options)
    for folder in folders:
        put(system, f"{store.path}/{folder}", "".join(f"{folder} {n}\n" for n in range(500)).encode())


def test_a_job_reads_and_writes_an_object_store(s3: ObjectStore) -> None:
    words(s3, "in/a", "in/deep/b")
    env = StreamExecutionEnvironment()
    source = FileSource(f"{s3.path}/in", bytes_per_batch=1500, storage_options=s3.options)
    read = env.from_source(source).map(str.upper)
    sink = FileSink.for_row_format(f"{s3.path}/out", Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.by(lambda word: word.split()[0].replace("/", "-")))
    read.sink_to(sink.with_storage_options(s3.options).build())
    read.map(lambda word: {"word": word}).sink_to(JsonLinesSink(f"{s3.path}/json", storage_options=s3.options))
    Harness(env, real_sinks=True, parallelism=2).run()
    expected = sorted(f"{name} {n}".upper() for name in ("in/a", "in/deep/b") for n in range(500))
    assert lines_of(s3, "out") == expected
    system = file_system(s3.path, s3.options)
    assert len(list(system.below(f"{s3.path}/out"))) == 2, "one file for each folder, though there were many batches"
    written = FileSource.for_record_stream_format(StreamFormat.json_line_format(), f"{s3.path}/json")
    again = StreamExecutionEnvironment()
    harness = Harness(again)
    out = harness.collect(again.from_source(written.with_storage_options(s3.options).build()))
    harness.run()
    assert sorted(row["word"] for row in out) == expected


@pytest.mark.parametrize("crash", ["before", "after"])
def test_a_crash_while_files_are_joined_in_an_object_store(
    s3: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()

    def sink() -> FileSink:
        builder = FileSink.for_row_format(f"{s3.path}/out", Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).with_storage_options(s3.options)
        made = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
        made.attach(str(tmp_path))
        return made

    def write(to: FileSink, batch: int, attempt: str) -> list[Any]:
        writer = to.writer(WriteTask(batch, 0, attempt))
        writer.write([f"{batch}-{n}" for n in range(3)], None, None)
        return [writer.prepare()]

    first = sink()
    first.commit(0, write(first, 0, "a"))
    assert lines_of(s3, "out") == []
    system = type(first.system())
    publish: Callable[..., None] = system.publish

    def killed(*args: Any) -> None:
        if crash == "after":
            publish(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(system, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            first.commit(1, write(first, 1, "a"))
    resumed = sink()
    resumed.commit(1, write(resumed, 1, "b"))
    assert lines_of(s3, "out") == [f"{batch}-{n}" for batch in (0, 1) for n in range(3)]
    resumed.finish()
    assert resumed.system().names(resumed.hidden("")[:-1]) == []


def test_keys_of_a_store_are_shown_nowhere(s3: ObjectStore) -> None:
    source = json_lines(f"{s3.path}/in", storage_options=s3.options)
    sink = FileSink(f"{s3.path}/out", Encoder.json_lines(), rolling=RollingPolicy(), storage_options=s3.options)
    for made in (source, sink):
        assert s3.options["secret_key"] not in repr(vars(made))
        with pytest.raises(ConfigError, match="SECRET_WRITTEN"):
            cloudpickle.dumps(made)
        with secrets_may_travel():
            assert cloudpickle.loads(cloudpickle.dumps(made))._options == made._options
