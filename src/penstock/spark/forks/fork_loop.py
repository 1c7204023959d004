"""The loop of the fork server, in its own process: answers the clients, and forks processes."""

from __future__ import annotations

import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from penstock.spark.forks.call_header import SOURCE_MODULE
from penstock.spark.forks.dispatcher import Dispatcher, Task, is_shared
from penstock.spark.forks.fork_request import ForkRequest
from penstock.spark.forks.forked_workers import ForkedWorkers, is_worker_daemon, run_worker, set_command_line

# Spark uses the workers of these daemons only while a query starts. It starts a daemon again if it needs it later.
_USED_AT_START = (
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
)
CLIENTS_SIZE = 4096  # bytes of a message about clients


def encode_clients(clients: Sequence[int]) -> bytes:
    return struct.pack(f"!{len(clients)}i", *clients)


def decode_clients(data: bytes) -> list[int] | None:
    return list(struct.unpack(f"!{len(data) // 4}i", data)) if data else None


class _Daemon:
    """A request for a worker daemon, the connection to its client, and the workers."""

    def __init__(self, request: ForkRequest, connection: socket.socket) -> None:
        self.request = request
        self.connection = connection
        stdin, stdout, _ = request.streams
        self.workers = ForkedWorkers(request.environment["PYTHON_WORKER_FACTORY_SOCK_DIR"], stdin, stdout)
        # Spark looks for a file of this worker with the id of its process.
        self.is_shared = is_shared(request.arguments[0]) and "PYTHON_FAULTHANDLER_DIR" not in request.environment
        self.client = _process_of(connection)
        self.represented_by: _Daemon | None = None  # its client has ended, and Spark uses that of another daemon
        self.represents = False  # its client is used for other daemons
        self.was_used = False
        self._idle_since: float | None = None

    def is_over(self, idle_seconds: float, dispatcher: Dispatcher) -> bool:
        """Whether Spark needs the daemon no more. Called again and again."""
        is_used = self.workers.any_running() or dispatcher.has_connections(self.request)
        is_used = is_used or self.represented_by is not None or self.represents
        if is_used or self.request.arguments[0] not in _USED_AT_START:
            self._idle_since = None
            return False
        if self._idle_since is None:
            self._idle_since = time.monotonic()
        return time.monotonic() - self._idle_since >= idle_seconds


class ForkLoop:
    """Forks a process per request, or passes it on to one that it has forked before, and reports its end to the client."""

    def __init__(self, listener: socket.socket, lifeline: socket.socket, idle_seconds: float) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._lifeline = lifeline
        self._idle_seconds = idle_seconds
        self._is_over = False  # the starting process has ended
        self._children: dict[int, socket.socket] = {}  # connections to the clients of forked processes
        self._daemons: list[_Daemon] = []
        self._dispatcher = Dispatcher(self)
        self._wake, wake_end = socket.socketpair()
        self._wake.setblocking(False)
        wake_end.setblocking(False)
        self._wake_end = wake_end
        self.on_read(listener, self._accept)
        self.on_read(lifeline, self._release_clients)
        self.on_read(self._wake, self._drain_wake)
        signal.set_wakeup_fd(wake_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # wakes the selector
        signal.signal(
            signal.SIGTERM, signal.SIG_IGN
        )  # Spark takes this process for the worker; see Dispatcher.request_kill

    def on_read(self, file: socket.socket | int, handler: Callable[[], Task | None]) -> None:
        """Calls a handler when a file can be read. A handler that has forked returns a task in the forked process."""
        self._selector.register(file, selectors.EVENT_READ, handler)

    def off_read(self, file: socket.socket | int) -> None:
        """Calls the handler no more."""
        self._selector.unregister(file)

    def serve(self) -> Task | None:
        """Serves requests. Returns None when the starting process has ended, and its task in each forked process."""
        while True:
            for key, _ in self._selector.select(self._timeout()):
                handler: Callable[[], Task | None] = key.data
                if key.fd in self._selector.get_map() and (task := handler()) is not None:
                    return task
            if self._is_over:
                for daemon in list(self._daemons):
                    self._end_daemon(daemon)
                self._dispatcher.end_all()
                return None
            self._report_ended()
            self._dispatcher.check_times()
            for daemon in [d for d in self._daemons if d.is_over(self._idle_seconds, self._dispatcher)]:
                self._end_daemon(daemon)

    def _timeout(self) -> float | None:
        times = [self._dispatcher.seconds_to_check(), self._idle_seconds if self._daemons else None]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def _drain_wake(self) -> None:
        self._wake.recv(4096)

    def _accept(self) -> Task | None:
        """Forks a process, or starts a worker daemon. Returns the task in the forked process and None in the server."""
        connection, _ = self._listener.accept()
        request = None
        try:
            request = ForkRequest(connection)
            if is_worker_daemon(request.module, request.arguments, request.environment):
                self._start_daemon(request, connection)
                return None
            if _connects_to_spark(request) and self._dispatch_source(request, connection):
                return None
            child = os.fork()
        except (OSError, ValueError, struct.error):  # the client starts an interpreter instead
            if request is not None:  # otherwise Spark would not notice the end of that interpreter
                request.close()
            connection.close()
            return None
        if child == 0:
            self.leave()
            connection.close()
            return lambda: _run(request)
        request.close()
        self._children[child] = connection
        self.on_read(connection, lambda: self._receive_signal(child))
        self._send(connection, child)
        return None

    def _dispatch_source(self, request: ForkRequest, client: socket.socket) -> bool:
        """Connects to Spark in place of the process of a source, which is a thread then. Its client ends at once."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(request.environment["PYTHON_WORKER_FACTORY_SOCK_PATH"])
            connection.sendall(struct.pack("!i", os.getpid()))
        except OSError:
            connection.close()
            return False
        request.close()
        self._dispatcher.add(connection, request.module, request)
        self._send(client, os.getpid())
        self._send(client, 0)
        client.close()
        return True

    def leave(self, used: ForkRequest | None = None) -> None:
        """Frees what belongs to the server, in a forked process. It uses the streams of one request."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._selector.close()
        for connection in (self._listener, self._wake, self._wake_end, *self._children.values()):
            connection.close()
        for daemon in self._daemons:
            daemon.connection.close()
            daemon.workers.listener.close()
            if daemon.request is not used:
                daemon.request.close()
        self._dispatcher.leave()
        self._lifeline.close()

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

    def _start_daemon(self, request: ForkRequest, connection: socket.socket) -> None:
        daemon = _Daemon(request, connection)
        self._send(connection, os.getpid())
        self._daemons.append(daemon)
        self.on_read(connection, lambda: self._end_daemon(daemon))  # its client ends or forwards SIGTERM
        self.on_read(
            daemon.workers.stdin,
            lambda: None if daemon.workers.kill_requested(self._dispatcher.request_kill) else self._end_daemon(daemon),
        )
        self.on_read(daemon.workers.listener, lambda: self._fork_worker(daemon))

    def _fork_worker(self, daemon: _Daemon) -> Task | None:
        """Forks a worker for a connection of Spark, or dispatches its calls.

        Returns the task in the forked process and None in the server.
        """
        connection, _ = daemon.workers.listener.accept()
        if daemon.is_shared:
            self._send(connection, os.getpid())
            self._dispatcher.add(connection, daemon.request.arguments[0], daemon.request)
            if not daemon.was_used:  # now Spark has read all that the client of the daemon has written
                daemon.was_used = True
                self._propose_release()
            return None
        try:
            child = os.fork()
        except OSError as error:
            connection.sendall(struct.pack("!i", -(error.errno or 1)))  # Spark reports the number
            child = -1
        if child == 0:
            self.leave(daemon.request)
            return lambda: _run_worker(daemon.request, connection)
        connection.close()
        if child > 0:
            daemon.workers.add(child)
        return None

    def _end_daemon(self, daemon: _Daemon) -> None:
        if daemon not in self._daemons:
            return
        self._daemons.remove(daemon)
        self._selector.unregister(daemon.workers.listener)
        daemon.workers.end()
        self._dispatcher.end_daemon(daemon.request)
        if daemon.represented_by is None:
            self._release(daemon)
        for other in [d for d in self._daemons if d.represented_by is daemon]:
            self._end_daemon(other)

    def _release(self, daemon: _Daemon) -> None:
        """Ends the client of a daemon."""
        for file in (daemon.connection, daemon.workers.stdin):
            self._selector.unregister(file)
        self._send(daemon.connection, 0)
        daemon.connection.close()
        daemon.request.close()

    def _propose_release(self) -> None:
        """Reports to the starting process which clients of daemons are superfluous."""
        daemons = [d for d in self._daemons if d.is_shared and d.was_used and d.represented_by is None and d.client]
        if len(daemons) > 1:
            kept = next((d for d in daemons if d.represents), daemons[0])
            message = encode_clients([kept.client, *(d.client for d in daemons if d is not kept)])
            with suppress(OSError):  # nobody reads it
                self._lifeline.send(message, socket.MSG_DONTWAIT)

    def _release_clients(self) -> None:
        try:
            clients = decode_clients(self._lifeline.recv(CLIENTS_SIZE))
        except OSError:
            clients = None
        if clients is None:
            self._is_over = True
            return
        kept = next((d for d in self._daemons if d.client == clients[0]), None)
        for daemon in [d for d in self._daemons if d.client in clients[1:] and d.represented_by is None]:
            if kept is not None and kept is not daemon:
                daemon.represented_by, kept.represents = kept, True
                self._release(daemon)

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


def _process_of(client: socket.socket) -> int:
    """The id of the process at the other end; 0 if it is not known."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process: int = struct.unpack("3i", credentials)[0]
    return process


def _connects_to_spark(request: ForkRequest) -> bool:
    """Whether a request is for the process of a source, which connects to a socket of Spark."""
    return request.module == SOURCE_MODULE and "PYTHON_WORKER_FACTORY_SOCK_PATH" in request.environment


def _run(request: ForkRequest) -> None:
    """Runs the requested module as `python -m` does."""
    request.become()
    sys.argv[:] = [request.module, *request.arguments]
    set_command_line([sys.executable, "-m", *sys.argv])
    sys.modules.pop(request.module, None)  # it becomes __main__, and may be imported again under its name
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def _run_worker(request: ForkRequest, connection: socket.socket) -> None:
    """Runs a worker of a daemon."""
    request.become_worker()
    run_worker(connection, request.arguments[0], request.module)
