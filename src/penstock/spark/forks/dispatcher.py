"""Decides which process runs a call of Spark, in the fork server.

Spark keeps connections for later calls, and takes any of them for the next call. The fork server watches the connections on which
no call runs. When a call arrives, it passes the connection on: all calls of a task to one process, which runs no other task
meanwhile, and all calls for the sources and sinks of a job to another. When a call has ended, its connection is watched again.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from penstock.spark.forks.call_header import (
    LOOKUP_MODULE,
    PLANNER_MODULES,
    SOURCE_MODULE,
    TASK_MODULE,
    IncompleteHeaderError,
    read_job,
    read_task,
)
from penstock.spark.forks.fork_request import ForkRequest, become
from penstock.spark.forks.forked_workers import set_command_line
from penstock.spark.forks.shared_process import SharedProcess, receive_end, send_call

Task = Callable[[], None]
_HEADER_BYTES = 131072
_HEADER_WAITS = 20  # Spark sends a header at once, but the system may pass it on in pieces
_HEADER_PAUSE = 0.001  # seconds
_KILL_SECONDS = 1.0  # between Spark's request to kill a worker and the end of the connection
_PLANNER_GRACE = 0.3  # seconds between the end of a planner's connection and the end of its process
_IDLE_TASKS = 60.0  # seconds, as Spark's own workers
_IDLE_PLANNER = 5.0  # seconds


class Loop(Protocol):
    """The loop of the fork server."""

    def on_read(self, file: socket.socket | int, handler: Callable[[], Task | None]) -> None:
        """Calls a handler whenever a file can be read. A handler that has forked returns a task in the forked process."""

    def off_read(self, file: socket.socket | int) -> None:
        """Calls the handler no more."""

    def leave(self) -> None:
        """Frees what belongs to the server, in a forked process."""


@dataclass(eq=False)
class Connection:
    """A connection of Spark, for one call after the other."""

    number: int
    socket: socket.socket
    module: str
    request: ForkRequest  # of the daemon or source; the process gets its environment
    process: Process | None = None  # that runs a call
    hung_up: float | None = None  # when Spark closed it during a call


@dataclass(eq=False)
class Process:
    """A process that runs calls."""

    pid: int
    control: socket.socket
    request: ForkRequest
    is_planner: bool
    owner: str  # the task or the job whose calls it runs; empty if it is free for any
    running: dict[int, Connection] = field(default_factory=dict)
    idle_since: float = 0.0
    is_retiring: bool = False  # it gets no further calls


@dataclass(frozen=True)
class _Call:
    owner: str
    partition: int = 0


def is_shared(module: str) -> bool:
    """Whether the calls of a module are dispatched. A connection for another module has a process of its own."""
    return module == TASK_MODULE or module in PLANNER_MODULES


class Dispatcher:
    """The connections and processes of a fork server."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._connections: set[Connection] = set()
        self._processes: list[Process] = []
        self._numbers = 0
        self._kill_time = -_KILL_SECONDS  # when Spark last asked to kill a worker
        self._hang_ups = select.epoll()
        loop.on_read(self._hang_ups.fileno(), self._handle_hang_ups)

    # -- connections

    def add(self, connection: socket.socket, module: str, request: ForkRequest) -> None:
        """Adds a new connection of Spark."""
        self._numbers += 1
        found = Connection(self._numbers, connection, module, request)
        self._connections.add(found)
        self._watch(found)

    def has_connections(self, request: ForkRequest) -> bool:
        return any(c.request is request for c in self._connections)

    def _watch(self, connection: Connection) -> None:
        self._loop.on_read(connection.socket, lambda: self._begin_call(connection))

    def _drop(self, connection: Connection) -> None:
        self._connections.discard(connection)
        connection.socket.close()

    def _drain(self, connection: Connection) -> None:
        """Reads what Spark sends after a failed call, until Spark has read the error and closes the connection."""
        try:
            if connection.socket.recv(65536, socket.MSG_DONTWAIT):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._loop.off_read(connection.socket)
        self._drop(connection)

    # -- calls

    def _begin_call(self, connection: Connection) -> Task | None:
        """Passes the connection to a process. Returns the task in a forked process and None in the server."""
        try:
            call = self._read_header(connection)
        except BlockingIOError:
            return None
        self._loop.off_read(connection.socket)
        if call is None:
            self._drop(connection)
            return None
        process = self._find(connection, call)
        if process is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                child = os.fork()
            except OSError:  # Spark reports that its worker has ended
                ours.close()
                theirs.close()
                self._drop(connection)
                return None
            if child == 0:
                self._loop.leave()
                ours.close()
                return lambda: _run_process(connection, call, theirs)
            theirs.close()
            process = Process(child, ours, connection.request, connection.module != TASK_MODULE, call.owner)
            self._processes.append(process)
            self._loop.on_read(ours, lambda: self._end_call(process))
        process.owner = call.owner
        process.running[connection.number] = connection
        connection.process = process
        try:
            send_call(process.control, connection.socket, connection.number, connection.module)
        except OSError:  # the process has just ended
            self._lose(process)
            return None
        self._hang_ups.register(connection.socket, select.EPOLLRDHUP)
        return None

    def _read_header(self, connection: Connection) -> _Call | None:
        """Returns the call that has arrived; None if Spark has closed the connection."""
        alone = _Call(f"connection {connection.number}")
        for _ in range(_HEADER_WAITS):
            try:
                data = connection.socket.recv(_HEADER_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except ConnectionError:
                return None
            if not data:
                return None
            try:
                if connection.module == TASK_MODULE:
                    task = read_task(data)
                    return _Call(f"task {task.attempt}" if task.is_of_job else alone.owner, task.partition)
                if connection.module == LOOKUP_MODULE:
                    return alone
                if (folder := read_job(data)) is not None:
                    return _Call(f"job {folder}")
            except IncompleteHeaderError:
                pass
            except (ValueError, KeyError, TypeError):  # another version of Spark
                return alone
            time.sleep(_HEADER_PAUSE)
        return alone

    def _find(self, connection: Connection, call: _Call) -> Process | None:
        """The process that already runs calls of the same task or job, or an idle one."""
        usable = [p for p in self._processes if not p.is_retiring]
        if connection.module != TASK_MODULE:
            return next((p for p in usable if p.is_planner and p.owner == call.owner), None)
        pool = [p for p in usable if not p.is_planner and p.request is connection.request]
        for process in pool:
            if process.running and process.owner == call.owner:
                return process
        # A slot of a job is a partition. It should find what it has cached in the batch before.
        for offset in range(len(pool)):
            process = pool[(call.partition + offset) % len(pool)]
            if not process.running:
                return process
        return None

    def _end_call(self, process: Process) -> None:
        """A call has ended, or its process has."""
        ended = receive_end(process.control)
        if ended is None:
            self._lose(process)
            return
        number, code = ended
        connection = process.running.pop(number)
        connection.process = None
        if connection.hung_up is None:
            self._hang_ups.unregister(connection.socket)
        if code == 0:
            self._watch(connection)
        else:
            self._loop.on_read(connection.socket, lambda: self._drain(connection))
        # A process whose function has failed may be in any state. The sources of a job end when its query ends.
        if (code != 0 and not process.is_planner) or connection.module == SOURCE_MODULE:
            process.is_retiring = True
        if not process.running:
            process.idle_since = time.monotonic()
            if process.is_retiring:
                self._end(process)

    # -- the end of processes

    def _lose(self, process: Process) -> None:
        """Closes the connections of a process that has ended, so that Spark notices."""
        self._forget(process)
        for connection in process.running.values():
            if connection.hung_up is None:
                with suppress(OSError):  # it was not registered yet
                    self._hang_ups.unregister(connection.socket)
            self._drop(connection)

    def _end(self, process: Process) -> None:
        """Ends an idle process."""
        self._forget(process)

    def _forget(self, process: Process) -> None:
        if process in self._processes:
            self._processes.remove(process)
            self._loop.off_read(process.control)
            process.control.close()

    def _kill(self, process: Process, number: int = signal.SIGKILL) -> None:
        process.is_retiring = True
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)

    def request_kill(self) -> None:
        """Spark wants to kill a worker. It closes the connection next, which identifies the worker."""
        now = self._kill_time = time.monotonic()
        for process in self._processes:
            closed = [c.hung_up for c in process.running.values() if c.hung_up is not None]
            if not process.is_planner and closed and now - max(closed) < _KILL_SECONDS:
                self._kill(process)

    def _handle_hang_ups(self) -> None:
        closed = {file for file, _ in self._hang_ups.poll(0)}
        now = time.monotonic()
        for connection in [c for c in self._connections if c.process is not None and c.socket.fileno() in closed]:
            self._hang_ups.unregister(connection.socket)
            connection.hung_up = now
            assert connection.process is not None
            if not connection.process.is_planner and now - self._kill_time < _KILL_SECONDS:
                self._kill(connection.process)

    def end_daemon(self, request: ForkRequest) -> None:
        """Ends the connections of a daemon, and the processes that only it uses."""
        for process in list(self._processes):
            if process.request is request and not process.owner.startswith("job "):
                self._kill(process, signal.SIGHUP)
        for connection in [c for c in self._connections if c.request is request]:
            if connection.process is None:
                self._loop.off_read(connection.socket)
                self._drop(connection)

    def end_all(self) -> None:
        for process in self._processes:
            self._kill(process, signal.SIGHUP)

    def check_times(self) -> None:
        """Ends processes that were idle for long, and planners whose connection Spark has closed. Called again and again."""
        now = time.monotonic()
        for process in list(self._processes):
            if not process.running:
                limit = _IDLE_PLANNER if process.is_planner else _IDLE_TASKS
                if now - process.idle_since > limit:
                    self._end(process)
            elif process.is_planner and any(
                c.hung_up is not None and now - c.hung_up > _PLANNER_GRACE for c in process.running.values()
            ):
                self._kill(process)

    def seconds_to_check(self) -> float | None:
        """When `check_times` must be called next at the latest."""
        if any(c.hung_up is not None for p in self._processes if p.is_planner for c in p.running.values()):
            return _PLANNER_GRACE / 2
        return 1.0 if any(not p.running for p in self._processes) else None

    def leave(self) -> None:
        """Closes all files, in a forked process that does not belong to the server."""
        self._hang_ups.close()
        for connection in self._connections:
            connection.socket.close()
        for process in self._processes:
            process.control.close()


def _run_process(connection: Connection, call: _Call, control: socket.socket) -> None:
    """Runs calls in a forked process. Its output is that of the fork server: the client of a source ends early."""
    request = connection.request
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    become(request.environment, request.folder)
    if connection.module == TASK_MODULE:
        set_command_line([sys.executable, "-m", request.module, connection.module])
    else:
        set_command_line([sys.executable, "-m", SharedProcess.__module__, "for", call.owner])
    SharedProcess(control).run()
