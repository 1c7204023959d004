"""A process of the fork server that runs several calls of Spark at a time, each in a thread.

Spark has a connection for each call: two for a task that processes and writes rows, one per source, one per plan, one per
commit. The fork server sends the connections of one task, or of the sources and sinks of one job, to one such process.
"""

from __future__ import annotations

import importlib
import os
import queue
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from penstock.spark.forks.call_header import TASK_MODULE
from penstock.spark.session.garbage import garbage

_CALL = struct.Struct("!I")  # number of the connection, followed by the name of the module
_END = struct.Struct("!Ii")  # number of the connection, exit code
_PEEK = 65536  # bytes
_WRITER = b"RouterWriter"  # in the pickled function of a task that writes to the sinks


def send_call(control: socket.socket, connection: socket.socket, number: int, module: str) -> None:
    """Sends a call to a process, in the fork server."""
    socket.send_fds(control, [_CALL.pack(number) + module.encode()], [connection.fileno()])


def receive_end(control: socket.socket) -> tuple[int, int] | None:
    """Receives the number and exit code of a call that has ended; None if the process has ended."""
    try:
        data = control.recv(_END.size)
    except OSError:
        return None
    if len(data) < _END.size:
        return None
    number, code = _END.unpack(data)
    return number, code


@dataclass
class _Call:
    number: int
    module: str
    connection: socket.socket


class SharedProcess:
    """The calls of this process. Functions of users run in the main thread if it is free, as in other workers of Spark."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._main: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._main_is_free = True
        self._running = 0
        self._ends = False  # when no call runs any more
        self._lock = threading.Lock()

    def run(self) -> None:
        """Runs calls until the fork server closes the connection. Does not return."""
        from pyspark import util

        garbage.begin_forked_worker()
        _keep_task_context()
        faults: Callable[[], Any] = getattr(util, "enable_faulthandler", nullcontext)
        try:
            with faults():
                threading.Thread(target=self._receive, name="calls", daemon=True).start()
                while (call := self._main.get()) is not None:
                    self._run(call, in_main=True)
        finally:
            for output in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    output.flush()
            os._exit(0)

    def _receive(self) -> None:
        try:
            while True:
                data, files, _, _ = socket.recv_fds(self._control, 4096, 1)
                if not data:
                    break
                (number,) = _CALL.unpack_from(data)
                connection = socket.socket(fileno=files[0])
                self._start(_Call(number, data[_CALL.size :].decode(), connection))
        except OSError:
            traceback.print_exc()
        with self._lock:
            self._ends = True
            if not self._running:
                self._main.put(None)

    def _start(self, call: _Call) -> None:
        with self._lock:
            if not self._running:
                _forget_task_context()
            self._running += 1
            in_main = self._main_is_free and call.module == TASK_MODULE and not _is_writer(call.connection)
            if in_main:
                self._main_is_free = False
        if in_main:
            self._main.put(call)
        else:
            threading.Thread(target=self._run, args=(call, False), name=call.module, daemon=True).start()

    def _run(self, call: _Call, in_main: bool) -> None:
        """Runs a call until its end, and reports it. A process may get its next call as soon as it has reported."""
        size = int(os.environ.get("SPARK_BUFFER_SIZE", 65536))
        infile = os.fdopen(os.dup(call.connection.fileno()), "rb", size)
        outfile = os.fdopen(os.dup(call.connection.fileno()), "wb", size)
        code = 1
        try:
            importlib.import_module(call.module).main(infile, outfile)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except ConnectionError:  # Spark has closed the connection, as it does when a query ends
            code = 1
        except BaseException:
            traceback.print_exc()
        with self._lock:
            if in_main:
                self._main_is_free = True
        # Spark starts its next task when it has read the end of this one, and that task should find this process free.
        if code == 0:
            self._report(call, code)
        for file in (outfile, infile):
            try:
                file.close()
            except OSError:
                if code == 0:
                    traceback.print_exc()
        call.connection.close()
        if code != 0:
            self._report(call, code)
        with self._lock:
            self._running -= 1
            if self._ends and not self._running:
                self._main.put(None)
        garbage.after_task()

    def _report(self, call: _Call, code: int) -> None:
        with suppress(OSError):  # the fork server has ended
            self._control.sendall(_END.pack(call.number, code))


def _is_writer(connection: socket.socket) -> bool:
    """Whether a task writes to the sinks of a job. It runs while the task of the functions of users runs."""
    try:
        return _WRITER in connection.recv(_PEEK, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        return False


def _keep_task_context() -> None:
    """Keeps the context of a task when one of its calls ends. All calls of this process at a time are of the same task."""
    from pyspark import TaskContext

    set_context = TaskContext._setTaskContext

    def set_task_context(cls: Any, context: Any) -> None:
        if context is not None:
            set_context(context)

    kind: Any = TaskContext
    kind._setTaskContext = classmethod(set_task_context)


def _forget_task_context() -> None:
    from pyspark import BarrierTaskContext, TaskContext

    for kind in (TaskContext, BarrierTaskContext):
        kind._taskContext = None
