"""Calls of Spark share processes: those of a task, and those for the sources and sinks of a job."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock.spark.forks.call_header import SOURCE_MODULE, TASK_MODULE
from penstock.spark.forks.fork_server import ForkServer
from tests.waiting import until

COMMIT_MODULE = "pyspark.sql.worker.python_streaming_sink_runner"
# Replaces Spark's modules. A call is a header and lines; each line is answered.
FAKES = f"""
import os, sys, threading, time, types

def main(infile, outfile):
    while True:
        line = infile.readline()
        if line == b"end\\n":
            outfile.write(b"ended\\n")
            return
        if line == b"fail\\n":
            sys.exit(-1)
        if line == b"hang\\n":
            outfile.write(b"hanging\\n")
            outfile.flush()
            time.sleep(600)
        if not line:
            raise BrokenPipeError
        if line.startswith(b"ask"):
            main_thread = threading.current_thread() is threading.main_thread()
            outfile.write(b"%d %s\\n" % (os.getpid(), b"main" if main_thread else b"other"))
            outfile.flush()

for name in {[TASK_MODULE, SOURCE_MODULE, COMMIT_MODULE]!r}:
    module = types.ModuleType(name)
    module.main = main
    sys.modules[name] = module
"""


class Call:
    """A connection of Spark, and the calls on it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.connection.settimeout(60)

    def begin(self, header: bytes) -> Call:
        self.connection.sendall(header + b"\n")
        return self

    def ask(self) -> tuple[int, str]:
        """Returns the process that runs the call, and its thread."""
        self.connection.sendall(b"ask\n")
        process, thread = self._line().split()
        return int(process), thread

    def end(self) -> None:
        self.connection.sendall(b"end\n")
        assert self._line() == "ended"

    def hang(self) -> None:
        self.connection.sendall(b"hang\n")
        assert self._line() == "hanging"

    def send(self, text: bytes) -> None:
        self.connection.sendall(text)

    def is_closed(self) -> bool:
        try:
            return self.connection.recv(1) == b""
        except ConnectionError:
            return True

    def _line(self) -> str:
        line = b""
        while not line.endswith(b"\n"):
            received = self.connection.recv(1)
            assert received, "the connection is closed"
            line += received
        return line.decode().strip()


class Spark:
    """Spark's side: it starts clients, and calls workers and sources."""

    def __init__(self, server: ForkServer, folder: Path, sockets: Path) -> None:
        self.server = server
        self.folder = folder
        self.sockets = sockets
        self.clients: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHON_UNIX_DOMAIN_ENABLED": "true", "SPARK_REUSE_WORKER": "1", **variables}
        client = subprocess.Popen(
            [self.server.executable, "-m", *command],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.clients.append(client)
        return client

    def daemon(self, module: str = TASK_MODULE) -> tuple[subprocess.Popen[bytes], str]:
        client = self.start("pyspark.daemon", module, PYTHON_WORKER_FACTORY_SOCK_DIR=str(self.sockets))
        assert client.stdout is not None
        (size,) = struct.unpack("!i", client.stdout.read(4))
        return client, client.stdout.read(size).decode()

    def source(self) -> Call:
        address = str(self.sockets / f"source-{len(self.clients)}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen()
        client = self.start(SOURCE_MODULE, PYTHON_WORKER_FACTORY_SOCK_PATH=address)
        listener.settimeout(60)
        connection, _ = listener.accept()
        assert connection.recv(4) == struct.pack("!i", self.server._process.pid)
        assert client.wait(60) == 0, "no process remains that only waits"
        listener.close()
        return Call(connection)

    def close(self) -> None:
        for client in self.clients:
            client.kill()
            client.wait()
            for pipe in (client.stdin, client.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def connect(address: str, server: ForkServer) -> Call:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(address)
    assert connection.recv(4) == struct.pack("!i", server._process.pid)
    return Call(connection)


def task(attempt: int, partition: int = 0, query: str = "penstock-run", writes: bool = False) -> bytes:
    context = json.dumps({"taskAttemptId": attempt, "localProperties": {"spark.job.description": query}}).encode()
    command = b"RouterWriter" if writes else b""
    return struct.pack("!ii", partition, 4) + b"3.11" + struct.pack("!i", len(context)) + context + command


def planner(folder: str) -> bytes:
    data = folder.encode()
    return b"penstock.spark.query" + struct.pack("!i", 6) + b"folder" + struct.pack("!i", len(data)) + data


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A folder with a short path, because the names of sockets have at most 108 characters."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        yield Path(folder)


@pytest.fixture
def spark(tmp_path: Path, sockets: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spark]:
    (tmp_path / "fakes.py").write_text(FAKES)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    with ForkServer.start(modules=["fakes"]) as server:
        spark = Spark(server, tmp_path, sockets)
        yield spark
        spark.close()


def test_the_calls_of_a_task_share_a_process(spark: Spark) -> None:
    _, address = spark.daemon()
    writer = connect(address, spark.server).begin(task(7, writes=True))
    function = connect(address, spark.server).begin(task(7))
    other = connect(address, spark.server).begin(task(8, partition=1))
    assert writer.ask() == (function.ask()[0], "other")
    assert function.ask()[1] == "main", "functions of users run in the main thread"
    assert other.ask()[0] != function.ask()[0], "another task runs at the same time"
    assert psutil.Process(other.ask()[0]).ppid() == spark.server._process.pid


def test_the_next_task_of_a_partition_finds_its_process(spark: Spark) -> None:
    _, address = spark.daemon()
    calls = [connect(address, spark.server).begin(task(n, partition=n)) for n in (0, 1)]
    processes = [call.ask()[0] for call in calls]
    for call in calls:
        call.end()
    for call, partition in zip(calls, (1, 0), strict=True):  # Spark takes any connection
        assert call.begin(task(10 + partition, partition)).ask()[0] == processes[partition]
    assert len(psutil.Process(spark.server._process.pid).children()) == 2


def test_a_query_of_the_user_does_not_share_a_process(spark: Spark) -> None:
    _, address = spark.daemon()
    first = connect(address, spark.server).begin(task(7, query="mine"))
    second = connect(address, spark.server).begin(task(7, query="mine"))
    assert first.ask()[0] != second.ask()[0]


def test_sources_and_sinks_of_a_job_share_a_process(spark: Spark) -> None:
    _, address = spark.daemon(COMMIT_MODULE)
    source, control, other = spark.source(), spark.source(), spark.source()
    commit = connect(address, spark.server).begin(planner("/runs/a"))
    source.begin(planner("/runs/a"))
    control.begin(planner("/runs/a"))
    other.begin(planner("/runs/b"))
    assert source.ask()[0] == control.ask()[0] == commit.ask()[0] != other.ask()[0]
    commit.end()
    assert commit.begin(planner("/runs/b")).ask()[0] == other.ask()[0], "Spark uses a connection for any job"


def test_a_killed_process_is_noticed_and_replaced(spark: Spark) -> None:
    _, address = spark.daemon()
    killed, other = (connect(address, spark.server).begin(task(n)) for n in (1, 2))
    os.kill(killed.ask()[0], signal.SIGKILL)
    assert killed.is_closed()
    assert other.ask()[1] == "main"
    assert connect(address, spark.server).begin(task(3)).ask()[0] != other.ask()[0]


def test_a_process_whose_function_failed_is_not_used_again(spark: Spark) -> None:
    _, address = spark.daemon()
    failing = connect(address, spark.server).begin(task(1))
    process = psutil.Process(failing.ask()[0])
    failing.send(b"fail\n")
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, seconds=30)
    failing.connection.shutdown(socket.SHUT_WR)
    assert failing.is_closed()
    assert connect(address, spark.server).begin(task(2)).ask()[0] != process.pid


def test_spark_kills_a_worker_by_the_end_of_its_connection(spark: Spark) -> None:
    client, address = spark.daemon()
    hanging, other = (connect(address, spark.server).begin(task(n)) for n in (1, 2))
    process = psutil.Process(hanging.ask()[0])
    hanging.hang()
    assert client.stdin is not None
    client.stdin.write(struct.pack("!i", spark.server._process.pid))
    client.stdin.flush()
    hanging.connection.close()
    until(lambda: not process.is_running(), seconds=30)
    assert other.ask()[1] == "main"


def test_a_hanging_source_ends_with_its_connection(spark: Spark) -> None:
    """The process of the next attempt of the job is another one."""
    source = spark.source().begin(planner("/runs/a"))
    process = psutil.Process(source.ask()[0])
    source.hang()
    source.connection.close()
    until(lambda: not process.is_running(), seconds=30)
    assert spark.source().begin(planner("/runs/a")).ask()[0] != process.pid


def test_one_client_represents_all_daemons(spark: Spark) -> None:
    clients, calls = [], []
    for module in (COMMIT_MODULE, TASK_MODULE):
        client, address = spark.daemon(module)
        clients.append(client)
        calls.append(connect(address, spark.server).begin(task(1) if module == TASK_MODULE else planner("/runs/a")))
    processes = [psutil.Process(call.ask()[0]) for call in calls]
    assert spark.server.receive_clients() == [client.pid for client in clients]
    spark.server.release_clients([client.pid for client in clients])
    assert clients[1].wait(60) == 0
    for call in calls:
        assert call.ask()[0] in {process.pid for process in processes}
    clients[0].terminate()
    assert clients[0].wait(60) == 0
    until(lambda: not processes[1].is_running(), seconds=30)
    assert calls[1].is_closed(), "all daemons end with it"


def test_all_processes_end_with_the_server(spark: Spark) -> None:
    _, address = spark.daemon()
    calls = [connect(address, spark.server).begin(task(1)), spark.source().begin(planner("/runs/a"))]
    processes = [psutil.Process(call.ask()[0]) for call in calls]
    spark.server.close()
    until(lambda: not any(process.is_running() for process in processes), seconds=30)
