"""File systems: the same calls on each of them, and jobs that read and write an object store or HDFS."""

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
from penstock.connectors.file.system.file_system import FileSystem, absolute_path, file_system
from penstock.connectors.secret import allow_pickling_secrets
from penstock.devservers.server import free_port
from penstock.errors import ConfigError
from penstock.testing import Harness
from tests.unit.connectors.conftest import ObjectStore

Root = tuple[FileSystem, str]
HDFS = [pytest.param(scheme, marks=pytest.mark.long) for scheme in ("hdfs", "webhdfs")]


@pytest.fixture(params=["s3", *HDFS])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    if request.param == "s3":
        result: ObjectStore = request.getfixturevalue("s3")
        return result
    return ObjectStore(request.getfixturevalue("hdfs").new_folder(request.param), {})


@pytest.fixture(params=["local", "s3", "memory", *HDFS])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    if request.param == "local":
        path, options = str(tmp_path / "root"), {}
    elif request.param == "s3":
        store = request.getfixturevalue("s3")
        path, options = f"{store.path}/root", store.options
    elif request.param in ("hdfs", "webhdfs"):
        path, options = f"{request.getfixturevalue('hdfs').new_folder(request.param)}/root", {}
    else:
        path, options = f"memory://{uuid.uuid4().hex}/root", {}
    return file_system(path, options), path


def put(system: FileSystem, path: str, data: bytes) -> None:
    file = system.create(path)
    file.write(data)
    assert file.tell() == len(data)
    system.close(file)


def test_written_file_is_read_from_any_position(root: Root) -> None:
    system, path = root
    put(system, f"{path}/a/b.txt", b"one\ntwo\nthree")
    with system.open(f"{path}/a/b.txt") as file:
        file.seek(4)
        assert (file.readline(), file.read()) == (b"two\n", b"three")
    put(system, f"{path}/a/b.txt", b"again")
    with system.open(f"{path}/a/b.txt") as file:
        assert file.read() == b"again"
    result = system.get_status(f"{path}/a/b.txt")
    assert result is not None
    assert (result.path, result.size) == (f"{path}/a/b.txt", 5)
    assert system.get_status(f"{path}/a") is None
    assert system.get_status(f"{path}/nothing") is None
    assert system.is_folder(f"{path}/a")
    assert not system.is_folder(f"{path}/nothing")


def test_listing_skips_hidden_names(root: Root) -> None:
    system, path = root
    for name in ("b", "deep/er/a", ".hidden/c", "deep/_tmp/d", "_e"):
        put(system, f"{path}/{name}", b"x")
    assert [(f.path, f.size) for f in system.list_recursively(path)] == [(f"{path}/b", 1), (f"{path}/deep/er/a", 1)]
    assert system.list_names(f"{path}/.hidden") == ["c"]
    assert system.list_names(f"{path}/nothing") == []


def test_publish_moves_a_file(root: Root) -> None:
    system, path = root
    put(system, f"{path}/.hidden/a", b"new")
    system.publish(f"{path}/.hidden/a", f"{path}/in/a/folder/b")
    assert [f.path for f in system.list_recursively(path)] == [f"{path}/in/a/folder/b"]
    assert system.list_names(f"{path}/.hidden") == []
    put(system, f"{path}/.hidden/a", b"newer")
    system.publish(f"{path}/.hidden/a", f"{path}/in/a/folder/b")
    with system.open(f"{path}/in/a/folder/b") as file:
        assert file.read() == b"newer"
    with pytest.raises(FileNotFoundError):
        system.publish(f"{path}/.hidden/a", f"{path}/in/a/folder/c")


def test_remove(root: Root) -> None:
    system, path = root
    put(system, f"{path}/.hidden/a", b"x")
    put(system, f"{path}/.hidden/b", b"x")
    system.remove(f"{path}/.hidden/a")
    system.remove(f"{path}/.hidden/a")
    assert system.list_names(f"{path}/.hidden") == ["b"]
    system.remove_folder(f"{path}/.hidden")
    system.remove_folder(f"{path}/.hidden")
    assert system.list_names(f"{path}/.hidden") == []


def test_absolute_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_path("out") == str(tmp_path / "out")
    assert absolute_path("hdfs://name:8020/a/") == "hdfs://name:8020/a"


@pytest.mark.parametrize("path", ["nonsense://a/b", "s3://a/b"])
def test_unavailable_file_system(path: str) -> None:
    with pytest.raises(ConfigError, match=r"FILE_SYSTEM.*storage_options"):
        file_system(path, {"no_such_option": 1})


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("hdfs://127.0.0.1:1/a", {"user": "alice"}, "no option user.*HADOOP_USER_NAME"),
        ("hdfs://alice@127.0.0.1:1/a", {}, "not support a user in the path.*HADOOP_USER_NAME"),
        ("webhdfs://127.0.0.1/a", {}, "contain the port.*9870"),
        ("webhdfs://127.0.0.1:1/a", {"user": "alice", "token": "t"}, "delegation token"),
    ],
)
def test_unknown_hdfs_options(path: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s)FILE_SYSTEM.*{message}"):
        file_system(path, options)


def test_missing_hdfs_client_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(*args: Any, **options: Any) -> None:
        raise OSError("Unable to load libjvm\n" + "dlopen(libjvm.so) failed\n" * 80)

    monkeypatch.setattr("penstock.connectors.file.system.hdfs.find_spec", lambda name: None)
    monkeypatch.setattr("pyarrow.fs.HadoopFileSystem", no_library)
    with pytest.raises(
        ConfigError, match=r"HDFS_CLIENT.*Unable to load libjvm.*pip install hdfs-native.*webhdfs://"
    ) as message:
        file_system("hdfs://name.without.client:8020/a")
    assert "dlopen" not in str(message.value)


@pytest.mark.parametrize("scheme", ["webhdfs", "hdfs"])
def test_unreachable_file_system_is_not_empty(scheme: str) -> None:
    options = {"dfs.client.failover.max.attempts": 0} if scheme == "hdfs" else {}
    path = f"{scheme}://127.0.0.1:{free_port()}/in"
    system = file_system(path, options)
    for ask in (system.get_status, system.is_folder, system.list_names, lambda at: list(system.list_recursively(at))):
        with pytest.raises(OSError, match="refused"):
            ask(path)
    with pytest.raises(OSError, match="refused"):
        FileSource(path, storage_options=options).attach("nowhere")


# -- jobs


def lines_of(store: ObjectStore, folder: str) -> list[str]:
    system = file_system(store.path, store.options)
    result = []
    for file in system.list_recursively(f"{store.path}/{folder}"):
        with system.open(file.path) as content:
            result += content.read().decode().splitlines()
    return sorted(result)


def words(store: ObjectStore, *folders: str) -> None:
    system = file_system(store.path, store.options)
    for folder in folders:
        put(system, f"{store.path}/{folder}", "".join(f"{folder} {n}\n" for n in range(500)).encode())


def test_a_job_reads_and_writes_a_store(store: ObjectStore) -> None:
    words(store, "in/a", "in/deep/b")
    env = StreamExecutionEnvironment()
    source = FileSource(f"{store.path}/in", bytes_per_batch=1500, storage_options=store.options)
    read = env.from_source(source).map(str.upper)
    sink = FileSink.for_row_format(f"{store.path}/out", Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.by(lambda word: word.split()[0].replace("/", "-")))
    read.sink_to(sink.with_storage_options(store.options).build())
    read.map(lambda word: {"word": word}).sink_to(JsonLinesSink(f"{store.path}/json", storage_options=store.options))
    Harness(env, real_sinks=True, parallelism=2).run()
    expected = sorted(f"{name} {n}".upper() for name in ("in/a", "in/deep/b") for n in range(500))
    assert lines_of(store, "out") == expected
    system = file_system(store.path, store.options)
    assert len(list(system.list_recursively(f"{store.path}/out"))) == 2, (
        "one file for each folder, though there were many batches"
    )
    written = FileSource.for_record_stream_format(StreamFormat.json_line_format(), f"{store.path}/json")
    again = StreamExecutionEnvironment()
    harness = Harness(again)
    out = harness.collect(again.from_source(written.with_storage_options(store.options).build()))
    harness.run()
    assert sorted(row["word"] for row in out) == expected


@pytest.mark.parametrize("crash", ["before", "after"])
def test_crash_during_compaction_in_a_store(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()

    def sink() -> FileSink:
        builder = FileSink.for_row_format(f"{store.path}/out", Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).with_storage_options(store.options)
        connector = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
        connector.attach(str(tmp_path))
        return connector

    def write(to: FileSink, batch: int, attempt: str) -> list[Any]:
        writer = to.writer(WriteTask(batch, 0, attempt))
        writer.write([f"{batch}-{n}" for n in range(3)], None, None)
        return [writer.prepare()]

    first = sink()
    first.commit(0, write(first, 0, "a"))
    assert lines_of(store, "out") == []
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
    assert lines_of(store, "out") == [f"{batch}-{n}" for batch in (0, 1) for n in range(3)]
    resumed.finish()
    assert resumed.system().list_names(resumed.hidden("")[:-1]) == []


def test_keys_of_a_store_are_redacted(s3: ObjectStore) -> None:
    source = json_lines(f"{s3.path}/in", storage_options=s3.options)
    sink = FileSink(f"{s3.path}/out", Encoder.json_lines(), rolling=RollingPolicy(), storage_options=s3.options)
    for connector in (source, sink):
        assert s3.options["secret_key"] not in repr(vars(connector))
        with pytest.raises(ConfigError, match="SECRET_WRITTEN"):
            cloudpickle.dumps(connector)
        with allow_pickling_secrets():
            assert cloudpickle.loads(cloudpickle.dumps(connector))._options == connector._options
