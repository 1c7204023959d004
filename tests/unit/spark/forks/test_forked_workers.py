"""The fork server as Spark's worker daemon: Spark's side of the protocol is in this file, so that no JVM is needed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from penstock.spark.forks.fork_server import ForkServer
from penstock.spark.forks.forked_workers import ForkedWorkers, is_worker_daemon
from tests.waiting import until

# Its name starts with pyspark, so pyspark.daemon imports it as the module of its workers.
WORKER = """
import os, sys

def main(infile, outfile):
    for line in infile:
        if line == b"end\\n":
            outfile.write(b"ended")
            return
        if line == b"fail\\n":
            raise RuntimeError("found me")
        outfile.write(b"%d %s" % (os.getpid(), line.upper()))
        outfile.flush()
    sys.exit(1)  # as pyspark.worker when its connection ends
"""


class Daemon:
    """A worker daemon, as Spark starts and uses it."""

    def __init__(
        self,
        server: ForkServer,
        folder: Path,
        sockets: Path,
        reuse: bool = True,
        module: str = "pyspark_echo_worker",
    ) -> None:
        self.sockets = sockets
        (folder / "pyspark_echo_worker.py").write_text(WORKER)
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHON_UNIX_DOMAIN_ENABLED": "true",
            "PYTHON_WORKER_FACTORY_SOCK_DIR": str(self.sockets),
            "PYTHONPATH": os.pathsep.join(paths),
            **({"SPARK_REUSE_WORKER": "1"} if reuse else {}),
        }
        self.errors = folder / "errors"
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(
                [server.executable, "-m", "pyspark.daemon", module],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdout is not None
        size = self.process.stdout.read(4)
        self.address = self.process.stdout.read(struct.unpack("!i", size)[0]).decode() if size else ""

    def connect(self) -> Worker:
        return Worker(self.address)

    def write(self, data: bytes) -> None:
        """Writes to the pipe by which Spark names workers that must be killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close_stdin(self) -> None:
        """What the end of Spark's JVM does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Worker:
    """A connection to a worker."""

    def __init__(self, address: str) -> None:
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.settimeout(30)
        self.connection.connect(address)
        (self.pid,) = struct.unpack("!i", self.connection.recv(4, socket.MSG_WAITALL))
        self.process = psutil.Process(self.pid)

    def ask(self, text: str) -> str:
        self.connection.sendall(f"{text}\n".encode())
        return self.connection.recv(1000).decode()

    def wait_for_end(self) -> None:
        """Waits until the connection is closed, which is how Spark notices, and until the process has ended."""
        with contextlib.suppress(ConnectionResetError):
            assert self.connection.recv(1) == b""
        until(lambda: not self.process.is_running(), seconds=30)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer.start(modules=["pyspark.daemon"]) as server:
        yield server


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A folder with a short path, because the names of sockets have at most 108 characters."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        yield Path(folder)


@pytest.fixture
def daemon(server: ForkServer, tmp_path: Path, sockets: Path) -> Iterator[Daemon]:
    daemon = Daemon(server, tmp_path, sockets)
    yield daemon
    daemon.close()


def test_each_connection_has_a_worker_of_its_own(server: ForkServer, daemon: Daemon) -> None:
    workers = [daemon.connect() for _ in range(3)]
    assert [worker.ask("hello") for worker in workers] == [f"{worker.pid} HELLO\n" for worker in workers]
    assert len({worker.pid for worker in workers}) == 3
    assert {worker.process.ppid() for worker in workers} == {server._process.pid}, "no process of a daemon in between"
    assert "pyspark.daemon pyspark_echo_worker" in " ".join(workers[0].process.cmdline())


def test_a_killed_worker_is_noticed_and_replaced(daemon: Daemon) -> None:
    killed, other = daemon.connect(), daemon.connect()
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait_for_end()
    assert other.ask("and you") == f"{other.pid} AND YOU\n"
    new = daemon.connect()
    assert new.ask("again") == f"{new.pid} AGAIN\n"


def test_a_worker_that_fails_ends_with_its_stack_on_stderr(daemon: Daemon) -> None:
    failing = daemon.connect()
    failing.connection.sendall(b"fail\n")
    failing.wait_for_end()
    assert "RuntimeError: found me" in daemon.errors.read_text()
    assert daemon.connect().ask("next").endswith(" NEXT\n")


def test_a_worker_is_used_again_if_spark_allows_it(daemon: Daemon) -> None:
    worker = daemon.connect()
    assert worker.ask("end") == "ended"
    assert worker.ask("second task") == f"{worker.pid} SECOND TASK\n"


def test_a_worker_that_is_not_used_again_ends(server: ForkServer, tmp_path: Path, sockets: Path) -> None:
    daemon = Daemon(server, tmp_path, sockets, reuse=False)
    worker = daemon.connect()
    assert worker.ask("end") == "ended"
    worker.connection.shutdown(socket.SHUT_WR)
    worker.wait_for_end()
    daemon.close()


def test_a_worker_ends_when_spark_closes_its_connection(daemon: Daemon) -> None:
    worker, other = daemon.connect(), daemon.connect()
    worker.connection.close()
    until(lambda: not worker.process.is_running())
    assert other.ask("still there").endswith("STILL THERE\n")


def test_spark_kills_only_workers_of_the_daemon(daemon: Daemon) -> None:
    worker, other = daemon.connect(), daemon.connect()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    daemon.write(struct.pack("!ii", stranger.pid, worker.pid))
    worker.wait_for_end()
    assert stranger.poll() is None
    assert other.ask("left").endswith("LEFT\n")
    stranger.communicate(b"\n")


@pytest.mark.parametrize("way", ["stdin", "sigterm", "killed client"])
def test_nothing_is_left_of_a_daemon_that_ends(server: ForkServer, daemon: Daemon, tmp_path: Path, way: str) -> None:
    workers = [daemon.connect(), daemon.connect()]
    if way == "stdin":
        daemon.close_stdin()
        assert daemon.process.wait(30) == 0
    elif way == "sigterm":
        daemon.process.terminate()
        assert daemon.process.wait(30) == 0
    else:
        daemon.process.kill()
    for worker in workers:
        worker.wait_for_end()
    until(lambda: not list(daemon.sockets.iterdir()))
    again = Daemon(server, tmp_path, daemon.sockets)
    assert again.connect().ask("next daemon").endswith("NEXT DAEMON\n")
    again.close()


def test_two_daemons_are_independent(server: ForkServer, daemon: Daemon, tmp_path: Path) -> None:
    other = Daemon(server, tmp_path, daemon.sockets)
    worker, kept = daemon.connect(), other.connect()
    daemon.close_stdin()
    worker.wait_for_end()
    assert kept.ask("kept") == f"{kept.pid} KEPT\n"
    other.close()


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
def test_workers_end_with_the_server(tmp_path: Path, sockets: Path, number: int | None) -> None:
    """It ends with the program that started it, or is killed."""
    with ForkServer.start(modules=[]) as server:
        daemon = Daemon(server, tmp_path, sockets)
        worker = daemon.connect()
        if number is None:
            server.close()
            assert daemon.process.wait(30) == 0
            assert not list(sockets.iterdir())
        else:
            os.kill(server._process.pid, number)
            assert daemon.process.wait(30) == 1
            worker.connection.close()  # Spark does so when a daemon has ended
        until(lambda: not worker.process.is_running(), seconds=30)
        daemon.close()


def test_a_daemon_without_a_place_for_its_socket_ends(server: ForkServer, tmp_path: Path) -> None:
    """An interpreter runs it then, whose end Spark notices because no other process has its standard output."""
    too_long = tmp_path / ("x" * 100)
    too_long.mkdir()
    daemon = Daemon(server, tmp_path, too_long)
    assert daemon.address == ""
    assert daemon.process.wait(30) == 1
    daemon.close()
    assert "AF_UNIX path too long" in daemon.errors.read_text()
    assert not list(too_long.iterdir())


def test_a_request_is_cut_off(sockets: Path) -> None:
    stdin_end, stdin = os.pipe()
    stdout_end, stdout = os.pipe()
    workers = ForkedWorkers(str(sockets), stdin_end, stdout)
    os.write(stdin, b"\0\0")
    os.close(stdin)
    assert not workers.kill_requested()
    workers.end()
    assert not list(sockets.iterdir())
    for file in (stdin_end, stdout_end, stdout):
        os.close(file)


def test_which_commands_are_daemons() -> None:
    environment = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "PYTHON_WORKER_FACTORY_SOCK_DIR": "/s"}
    assert is_worker_daemon("pyspark.daemon", ["pyspark.worker"], environment)
    assert not is_worker_daemon("pyspark.daemon", [], environment)
    assert not is_worker_daemon("pyspark.worker", ["pyspark.worker"], environment)
    assert not is_worker_daemon("pyspark.daemon", ["pyspark.worker"], {"PYTHON_UNIX_DOMAIN_ENABLED": "true"})
    assert not is_worker_daemon("pyspark.daemon", ["pyspark.worker"], {**environment, "PYTHON_UNIX_DOMAIN_ENABLED": ""})


def test_a_daemon_that_spark_uses_at_the_start_of_queries_ends_when_it_is_idle(tmp_path: Path, sockets: Path) -> None:
    with ForkServer.start(modules=["pyspark.daemon"], idle_seconds=0.1) as server:
        always_used = Daemon(server, tmp_path, sockets)
        at_start = Daemon(server, tmp_path, sockets, module="pyspark.sql.worker.lookup_data_sources")
        assert at_start.process.wait(timeout=60) == 0
        with pytest.raises(FileNotFoundError):  # so Spark starts a new daemon
            at_start.connect()
        assert always_used.connect().ask("still there").endswith("STILL THERE\n")
        for daemon in (always_used, at_start):
            daemon.close()
