"""Spark's worker daemon as a part of the fork server: Spark connects to a socket, and gets a forked worker.

Spark has a daemon per kind of worker, which is a process that only waits and forks. The fork server does the same for all
kinds, so that they need no processes of their own and share the memory of imported modules.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import sys
import traceback
import uuid
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any

from penstock.spark.session.garbage import garbage

_DAEMONS = ("pyspark.daemon", "penstock.spark.session.daemon")


def is_worker_daemon(module: str, arguments: list[str], environment: Mapping[str, str]) -> bool:
    """Whether a command starts a worker daemon whose workers the fork server can fork."""
    return (
        module in _DAEMONS
        and len(arguments) == 1
        and environment.get("PYTHON_UNIX_DOMAIN_ENABLED", "").lower() == "true"
        and "PYTHON_WORKER_FACTORY_SOCK_DIR" in environment
    )


class ForkedWorkers:
    """The workers of one daemon. `stdin` and `stdout` are the pipes that Spark has to a daemon."""

    def __init__(self, folder: str, stdin: int, stdout: int) -> None:
        self.stdin = stdin
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path = os.path.join(folder, f".{uuid.uuid4()}.sock")
        self._workers: set[int] = set()
        name = self._path.encode()
        try:
            self.listener.bind(self._path)
            self.listener.listen(1024)
            os.write(stdout, struct.pack("!i", len(name)) + name)  # Spark connects to it
        except OSError:
            self.end()
            raise

    def add(self, worker: int) -> None:
        self._workers.add(worker)

    def any_running(self) -> bool:
        return bool(self._workers)

    def remove(self, worker: int) -> None:
        """Removes a worker that has ended."""
        self._workers.discard(worker)

    def kill_requested(self, kill_shared: Callable[[], None] | None = None) -> bool:
        """Kills the worker that Spark has named. Returns False if Spark has ended the daemon instead.

        Workers that share processes have the id of the fork server.
        """
        try:
            request = os.read(self.stdin, 4)
        except OSError:
            return False
        if len(request) < 4:
            return False
        (worker,) = struct.unpack("!i", request)
        if worker in self._workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        elif worker == os.getpid() and kill_shared is not None:
            kill_shared()
        return True

    def end(self) -> None:
        """Ends the workers, as a daemon does when it ends."""
        self.listener.close()
        with suppress(OSError):
            os.unlink(self._path)
        for worker in self._workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGHUP)


def run_worker(connection: socket.socket, module: str, daemon_module: str) -> None:
    """Runs a worker in a forked process until Spark closes the connection, as `pyspark.daemon` does. Does not return."""
    from pyspark import daemon, util

    garbage.begin_forked_worker()
    sys.argv[:] = [daemon_module, module]
    set_command_line([sys.executable, "-m", daemon_module, module])
    faults: Callable[[], Any] = getattr(util, "enable_faulthandler", nullcontext)
    code = 1
    try:
        with faults():
            connection.sendall(struct.pack("!i", os.getpid()))
            while (code := daemon.worker(connection, True)) == 0 and os.environ.get("SPARK_REUSE_WORKER"):
                garbage.after_task()
            with suppress(OSError):  # Spark reads all output before it closes the connection
                while connection.recv(1024):
                    pass
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for output in (sys.stdout, sys.stderr):
            with suppress(Exception):
                output.flush()
        os._exit(code)


def set_command_line(arguments: list[str]) -> None:
    """Changes the command line of this process that `ps` shows, if the system is Linux and there is enough room for it."""
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        start, end = int(fields[45]), int(fields[46])
    except (OSError, IndexError, ValueError):
        return
    text = b"".join(argument.encode(errors="replace") + b"\0" for argument in arguments)
    if 0 < start < end and len(text) <= end - start:
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
