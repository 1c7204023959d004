"""A process that has imported Spark's and Penstock's modules, and forks all Python processes of Spark.

Spark starts a Python process for each source, for each plan, for each sink of a query, and for each task slot. Each would import
pyspark, pyarrow and this package, which takes about a second of processor time. The fork server imports them once, while the JVM
starts. `fork_client.py` is the other side of its socket. `forked_workers.py` replaces Spark's worker daemons.

    >>> with ForkServer.start(modules=["json"]) as server:
    ...     subprocess.run([server.executable, "-m", "calendar", "2026", "11"], capture_output=True).returncode
    0
"""

from __future__ import annotations

import io
import json
import os
import runpy
import selectors
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from penstock.folders import private_folder, remove_private_folder
from penstock.spark.session import fork_client
from penstock.spark.session.daemon import WORKER_MODULES, preload
from penstock.spark.session.forked_workers import ForkedWorkers, is_worker_daemon, run_worker, set_command_line

# What the workers and the other processes of Spark import before and while they unpickle sources and sinks.
_MODULES = (
    "pyspark.daemon",
    "pyspark.worker",
    *WORKER_MODULES,
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.streaming.python_streaming_source_runner",
)
_REQUEST_TIMEOUT = 10.0  # seconds; a client sends its request at once
# Spark uses the workers of these daemons only while a query starts. It starts a daemon again if it needs it later.
_USED_AT_START = (
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
)
_IDLE_SECONDS = 60.0  # after its last worker has ended, such a daemon ends
_Task = Callable[[], None]


class ForkServer:
    """The running server, as seen by the process that started it. It ends with that process, or with `close`."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int, folder: Path, executable: Path) -> None:
        self._process = process
        self._lifeline = lifeline
        self._folder = folder
        self.executable = str(executable)  # behaves like `python -m MODULE`

    @classmethod
    def start(
        cls, python: str = sys.executable, modules: Sequence[str] = _MODULES, idle_seconds: float = _IDLE_SECONDS
    ) -> Self:
        """Starts the server. Clients wait until it has imported the modules. Raises OSError if there is no place for its socket."""
        folder = private_folder("fork", socket_name="socket")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        lifeline_end, lifeline = os.pipe()
        try:
            address = str(folder / "socket")
            listener.bind(address)
            listener.listen(64)
            executable = _write_executable(folder / "python", address, python)
            process = subprocess.Popen(
                [python, "-m", __name__, str(listener.fileno()), str(lifeline_end), str(idle_seconds), *modules],
                stdin=subprocess.DEVNULL,
                pass_fds=[listener.fileno(), lifeline_end],
                process_group=0,
                # Spark starts its Python processes with a fixed seed, so that all of them compute the same hashes of strings,
                # and its workers with one thread for numpy, which numpy reads when it is imported.
                env={"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", **os.environ},
            )
        except BaseException:
            os.close(lifeline)
            remove_private_folder(folder)
            raise
        finally:
            listener.close()
            os.close(lifeline_end)
        return cls(process, lifeline, folder, executable)

    def close(self) -> None:
        """Ends the server. Processes that it has forked continue."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
            self._process.wait()
            remove_private_folder(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _write_executable(file: Path, address: str, python: str) -> Path:
    command = shlex.join([python, "-I", "-S", fork_client.__file__, address, python])
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    file.chmod(0o700)
    return file


class _Request:
    """A module to run, and the streams, environment and working folder of the process that runs it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(_REQUEST_TIMEOUT)
        head, self.streams, _, _ = socket.recv_fds(connection, 4, 3)
        (size,) = struct.unpack("!I", head)
        content = json.loads(connection.recv(size, socket.MSG_WAITALL))
        connection.settimeout(None)
        _, self.module, *self.arguments = content["command"]
        self.environment: dict[str, str] = content["environment"]
        self.folder: str = content["folder"]

    def close(self) -> None:
        for stream in self.streams:
            os.close(stream)
        self.streams = []


class _Daemon:
    """A request for a worker daemon, the connection to its client, and the workers."""

    def __init__(self, request: _Request, connection: socket.socket) -> None:
        self.request = request
        self.connection = connection
        stdin, stdout, _ = request.streams
        self.workers = ForkedWorkers(request.environment["PYTHON_WORKER_FACTORY_SOCK_DIR"], stdin, stdout)
        self._idle_since: float | None = None

    def is_over(self, idle_seconds: float) -> bool:
        """Whether Spark needs the daemon no more. Called again and again."""
        if self.request.arguments[0] not in _USED_AT_START or self.workers.any_running():
            self._idle_since = None
            return False
        if self._idle_since is None:
            self._idle_since = time.monotonic()
        return time.monotonic() - self._idle_since >= idle_seconds


class _Forks:
    """The loop of the server: forks a process per request, and reports its end to the client."""

    def __init__(self, listener: socket.socket, lifeline: int, idle_seconds: float) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._lifeline = lifeline
        self._idle_seconds = idle_seconds
        self._children: dict[int, socket.socket] = {}  # connections to the clients of forked processes
        self._daemons: list[_Daemon] = []
        self._wake, wake_end = socket.socketpair()
        self._wake.setblocking(False)
        wake_end.setblocking(False)
        self._wake_end = wake_end
        self._on_read(listener, self._accept)
        self._on_read(lifeline, lambda: None)
        self._on_read(self._wake, self._drain_wake)
        signal.set_wakeup_fd(wake_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes the selector

    def _on_read(self, file: socket.socket | int, handler: Callable[[], _Task | None]) -> None:
        """Calls a handler when a file can be read. A handler that has forked returns a task in the forked process."""
        self._selector.register(file, selectors.EVENT_READ, handler)

    def serve(self) -> _Task | None:
        """Serves requests. Returns None when the starting process has ended, and its task in each forked process."""
        while True:
            for key, _ in self._selector.select(self._idle_seconds if self._daemons else None):
                if key.fd == self._lifeline:
                    for daemon in list(self._daemons):
                        self._end_daemon(daemon)
                    return None
                handler: Callable[[], _Task | None] = key.data
                if key.fd in self._selector.get_map() and (task := handler()) is not None:
                    return task
            self._report_ended()
            for daemon in [d for d in self._daemons if d.is_over(self._idle_seconds)]:
                self._end_daemon(daemon)

    def _drain_wake(self) -> None:
        self._wake.recv(4096)

    def _accept(self) -> _Task | None:
        """Forks a process, or starts a worker daemon. Returns the task in the forked process and None in the server."""
        connection, _ = self._listener.accept()
        request = None
        try:
            request = _Request(connection)
            if is_worker_daemon(request.module, request.arguments, request.environment):
                self._start_daemon(request, connection)
                return None
            child = os.fork()
        except (OSError, ValueError, struct.error):  # the client starts an interpreter instead
            if request is not None:  # otherwise Spark would not notice the end of that interpreter
                request.close()
            connection.close()
            return None
        if child == 0:
            self._leave()
            connection.close()
            return lambda: _run(request)
        request.close()
        self._children[child] = connection
        self._on_read(connection, lambda: self._receive_signal(child))
        self._send(connection, child)
        return None

    def _leave(self, used: _Request | None = None) -> None:
        """Frees what belongs to the server, in a forked process. It uses the streams of one request."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for connection in (self._listener, self._wake, self._wake_end, *self._children.values()):
            connection.close()
        for daemon in self._daemons:
            daemon.connection.close()
            daemon.workers.listener.close()
            if daemon.request is not used:
                daemon.request.close()
        os.close(self._lifeline)

    def _receive_signal(self, child: int) -> None:
        """Forwards a signal of a client. If the client was killed, so is its process."""
        try:
            received = self._children[child].recv(1)
        except OSError:
            received = b""
        os.kill(child, received[0] if received else signal.SIGKILL)
        if not received:
            self._selector.unregister(self._children[child])

    # -- worker daemons

    def _start_daemon(self, request: _Request, connection: socket.socket) -> None:
        daemon = _Daemon(request, connection)
        self._send(connection, os.getpid())
        self._daemons.append(daemon)
        self._on_read(connection, lambda: self._end_daemon(daemon))  # its client ends or forwards SIGTERM
        self._on_read(
            daemon.workers.stdin, lambda: None if daemon.workers.kill_requested() else self._end_daemon(daemon)
        )
        self._on_read(daemon.workers.listener, lambda: self._fork_worker(daemon))

    def _fork_worker(self, daemon: _Daemon) -> _Task | None:
        """Forks a worker for a connection of Spark. Returns the task in the forked process and None in the server."""
        connection, _ = daemon.workers.listener.accept()
        try:
            child = os.fork()
        except OSError as error:
            connection.sendall(struct.pack("!i", -(error.errno or 1)))  # Spark reports the number
            child = -1
        if child == 0:
            self._leave(daemon.request)
            return lambda: _run_worker(daemon.request, connection)
        connection.close()
        if child > 0:
            daemon.workers.add(child)
        return None

    def _end_daemon(self, daemon: _Daemon) -> None:
        if daemon not in self._daemons:
            return
        self._daemons.remove(daemon)
        for file in (daemon.connection, daemon.workers.stdin, daemon.workers.listener):
            self._selector.unregister(file)
        daemon.workers.end()
        self._send(daemon.connection, 0)
        daemon.connection.close()
        daemon.request.close()

    # -- the end of processes

    def _report_ended(self) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            for daemon in self._daemons:
                daemon.workers.remove(child)
            connection = self._children.pop(child, None)
            if connection is None:  # a worker
                continue
            self._send(connection, os.waitstatus_to_exitcode(status))
            if connection.fileno() in self._selector.get_map():
                self._selector.unregister(connection)
            connection.close()

    def _send(self, connection: socket.socket, number: int) -> None:
        try:
            connection.sendall(struct.pack("!i", number))
        except OSError:  # the client was killed
            return


def _become(request: _Request) -> None:
    """Sets the streams, environment, working folder and path of this forked process to those of a request."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
    request.close()
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(line_buffering=True, write_through=bool(os.environ.get("PYTHONUNBUFFERED")))
    paths = [request.folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = [*dict.fromkeys(paths), *(path for path in sys.path if path not in paths)]


def _run(request: _Request) -> None:
    """Runs the requested module as `python -m` does."""
    _become(request)
    sys.argv[:] = [request.module, *request.arguments]
    set_command_line([sys.executable, "-m", *sys.argv])
    sys.modules.pop(request.module, None)  # it becomes __main__, and may be imported again under its name
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def _run_worker(request: _Request, connection: socket.socket) -> None:
    """Runs a worker of a daemon. Its standard input is empty, because that of the daemon belongs to the daemon."""
    os.close(request.streams[0])
    request.streams[0] = os.open(os.devnull, os.O_RDONLY)
    _become(request)
    run_worker(connection, request.arguments[0], request.module)


def main(arguments: list[str]) -> None:
    listener, lifeline, idle_seconds, *modules = arguments
    preload(modules)
    task = _Forks(socket.socket(fileno=int(listener)), int(lifeline), float(idle_seconds)).serve()
    if task is not None:
        task()


if __name__ == "__main__":
    main(sys.argv[1:])
