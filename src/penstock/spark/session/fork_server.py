"""A process that has imported Spark's and Penstock's modules, and forks the helper processes of Spark.

Spark starts a Python process for each source, for each plan and for each sink of a query. Each would import pyspark, pyarrow and
this package, which takes about a second of processor time. The fork server imports them once, while the JVM starts.
`fork_client.py` is the other side of its socket.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from penstock.folders import private_folder, remove_private_folder
from penstock.spark.session import fork_client
from penstock.spark.session.daemon import preload

# What the helper processes of Spark import before and while they unpickle sources and sinks.
_MODULES = (
    "pyspark.daemon",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "penstock.spark.query.control",
    "penstock.spark.query.router",
    "penstock.spark.query.sources",
)
_REQUEST_TIMEOUT = 10.0  # seconds; a client sends its request at once


class ForkServer:
    """The running server, as seen by the process that started it. It ends with that process, or with `close`."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int, folder: Path, executable: Path) -> None:
        self._process = process
        self._lifeline = lifeline
        self._folder = folder
        self.executable = str(executable)  # behaves like `python -m MODULE`

    @classmethod
    def start(cls, python: str = sys.executable, modules: Sequence[str] = _MODULES) -> Self:
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
                [python, "-m", __name__, str(listener.fileno()), str(lifeline_end), *modules],
                stdin=subprocess.DEVNULL,
                pass_fds=[listener.fileno(), lifeline_end],
                process_group=0,
                # Spark starts its Python processes with this, so that all of them compute the same hashes of strings.
                env={"PYTHONHASHSEED": "0", **os.environ},
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


class _Forks:
    """The loop of the server: forks a process per request, and reports its end to the client."""

    def __init__(self, listener: socket.socket, lifeline: int) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(lifeline, selectors.EVENT_READ)
        self._lifeline = lifeline
        self._children: dict[int, socket.socket] = {}
        self._wake, wake_end = socket.socketpair()
        self._wake.setblocking(False)
        wake_end.setblocking(False)
        self._wake_end = wake_end
        self._selector.register(self._wake, selectors.EVENT_READ)
        signal.set_wakeup_fd(wake_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes the selector

    def serve(self) -> _Request | None:
        """Serves requests. Returns None when the starting process has ended, and the request in each forked process."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    if (request := self._accept()) is not None:
                        return request
                elif key.fileobj is self._wake:
                    self._wake.recv(4096)
                elif key.fd == self._lifeline:
                    return None
                else:
                    self._receive_signal(key.data)
            self._report_ended()

    def _accept(self) -> _Request | None:
        """Forks a process. Returns the request in the forked process and None in the server."""
        connection, _ = self._listener.accept()
        try:
            request = _Request(connection)
            child = os.fork()
        except (OSError, ValueError, struct.error):  # the client starts an interpreter instead
            connection.close()
            return None
        if child == 0:
            connection.close()
            self._leave()
            return request
        request.close()
        self._children[child] = connection
        self._selector.register(connection, selectors.EVENT_READ, child)
        self._send(connection, child)
        return None

    def _leave(self) -> None:
        """Frees what belongs to the server, in a forked process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for connection in (self._listener, self._wake, self._wake_end, *self._children.values()):
            connection.close()
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

    def _report_ended(self) -> None:
        while self._children:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            connection = self._children.pop(child)
            self._send(connection, os.waitstatus_to_exitcode(status))
            if connection.fileno() in self._selector.get_map():
                self._selector.unregister(connection)
            connection.close()

    def _send(self, connection: socket.socket, number: int) -> None:
        try:
            connection.sendall(struct.pack("!i", number))
        except OSError:  # the client was killed
            return


def _run(request: _Request) -> None:
    """Runs the requested module as `python -m` does."""
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
    sys.argv[:] = [request.module, *request.arguments]
    sys.modules.pop(request.module, None)  # it becomes __main__, and may be imported again under its name
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def main(arguments: list[str]) -> None:
    listener, lifeline, *modules = arguments
    preload(modules)
    request = _Forks(socket.socket(fileno=int(listener)), int(lifeline)).serve()
    if request is not None:
        _run(request)


if __name__ == "__main__":
    main(sys.argv[1:])
