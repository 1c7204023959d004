"""Files that are not local: the same calls on every file system, and jobs that read and write an object store or HDFS."""

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
from penstock.servers.server import free_port
from penstock.testing import Harness
from tests.connectors.conftest import ObjectStore

Root = tuple[FileSystem, str]
HDFS = [pytest.param(scheme, marks=pytest.mark.long) for scheme in ("hdfs", "webhdfs")]


@pytest.fixture(params=["s3", *HDFS])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    if request.param == "s3":
        found: ObjectStore = request.getfixturevalue("s3")
        return found
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


@pytest.mark.parametrize(
    ("path", "options", "told"),
    [
        ("hdfs://127.0.0.1:1/a", {"user": "alice"}, "no option user.*HADOOP_USER_NAME"),
        ("hdfs://alice@127.0.0.1:1/a", {}, "no user from a path.*HADOOP_USER_NAME"),
        ("webhdfs://127.0.0.1/a", {}, "needs the port.*9870"),
        ("webhdfs://127.0.0.1:1/a", {"user": "alice", "token": "t"}, "delegation token"),
    ],
)
def test_options_that_hdfs_does_not_take(path: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s)FILE_SYSTEM.*{told}"):
        file_system(path, options)


def test_hdfs_without_a_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(*args: Any, **options: Any) -> None:
        raise OSError("Unable to load libjvm\n" + "dlopen(libjvm.so) failed\n" * 80)

    monkeypatch.setattr("penstock.connectors.file.hdfs.find_spec", lambda name: None)
    monkeypatch.setattr("pyarrow.fs.HadoopFileSystem", no_library)
    with pytest.raises(
        ConfigError, match=r"HDFS_CLIENT.*Unable to load libjvm.*pip install hdfs-native.*webhdfs://"
    ) as told:
        file_system("hdfs://name.without.client:8020/a")
    assert "dlopen" not in str(told.value)


@pytest.mark.parametrize("scheme", ["webhdfs", "hdfs"])
def test_a_file_system_that_does_not_answer_is_not_an_empty_one(scheme: str) -> None:
    options = {"dfs.client.failover.max.attempts": 0} if scheme == "hdfs" else {}
    path = f"{scheme}://127.0.0.1:{free_port()}/in"
    system = file_system(path, options)
    for ask in (system.find, system.is_folder, system.names, lambda at: list(system.below(at))):
        with pytest.raises(OSError, match="refused"):
            ask(path)
    with pytest.raises(OSError, match="refused"):
        FileSource(path, storage_options=options).attach("nowhere")


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
    assert len(list(system.below(f"{store.path}/out"))) == 2, "one file for each folder, though there were many batches"
    written = FileSource.for_record_stream_format(StreamFormat.json_line_format(), f"{store.path}/json")
    again = StreamExecutionEnvironment()
    harness = Harness(again)
    out = harness.collect(again.from_source(written.with_storage_options(store.options).build()))
    harness.run()
    assert sorted(row["word"] for row in out) == expected


@pytest.mark.parametrize("crash", ["before", "after"])
def test_a_crash_while_files_are_joined_in_a_store(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()

    def sink() -> FileSink:
        builder = FileSink.for_row_format(f"{store.path}/out", Encoder.simple_string_encoder())
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).with_storage_options(store.options)
        made = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
        made.attach(str(tmp_path))
        return made

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
