"""A process that has imported Spark's and Penstock's modules, and forks all Python processes of Spark.

Spark starts a Python process for each source, for each plan, for each sink of a query, and for each task slot. Each would import
pyspark, pyarrow and this package, which takes about a second of processor time. The fork server imports them once, while the JVM
starts. `fork_client.py` is the other side of its socket. `forked_workers.py` replaces Spark's worker daemons.

    >>> with ForkServer.start(modules=["json"]) as server:
    ...     subprocess.run([server.executable, "-m", "calendar", "2026", "11"], capture_output=True).returncode
    0
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from penstock.folders import private_folder, remove_private_folder
from penstock.spark.forks import fork_client
from penstock.spark.forks.deferred_pandas import defer_pandas
from penstock.spark.forks.file_pages import release_file_pages
from penstock.spark.forks.fork_loop import CLIENTS_SIZE, ForkLoop, decode_clients, encode_clients
from penstock.spark.session.daemon import WORKER_MODULES, preload

# What the workers and the other processes of Spark import before and while they unpickle sources and sinks.
_MODULES = (
    "pyspark.daemon",
    "pyspark.worker",
    *(module for module in WORKER_MODULES if module != "pandas"),
    "pyspark.testing.utils",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.write_into_data_source",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.streaming.python_streaming_source_runner",
)
_IDLE_SECONDS = 60.0  # after its last worker has ended, such a daemon ends


class ForkServer:
    """The running server, as seen by the process that started it. It ends with that process, or with `close`."""

    def __init__(
        self, process: subprocess.Popen[bytes], lifeline: socket.socket, folder: Path, executable: Path
    ) -> None:
        self._process = process
        self._lifeline = lifeline
        self._is_closed = False
        self._folder = folder
        self.executable = str(executable)  # behaves like `python -m MODULE`

    @classmethod
    def start(
        cls, python: str = sys.executable, modules: Sequence[str] = _MODULES, idle_seconds: float = _IDLE_SECONDS
    ) -> Self:
        """Starts the server. Clients wait until it has imported the modules. Raises OSError if there is no place for its socket.

        It imports pandas too if this process has, because functions probably use it.
        """
        if "pandas" in sys.modules:
            modules = [*modules, "pandas"]
        folder = private_folder("fork", socket_name="socket")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        lifeline_end, lifeline = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            address = str(folder / "socket")
            listener.bind(address)
            listener.listen(64)
            executable = _write_executable(folder / "python", address, python)
            process = subprocess.Popen(
                [
                    python,
                    "-m",
                    __name__,
                    str(listener.fileno()),
                    str(lifeline_end.fileno()),
                    str(idle_seconds),
                    *modules,
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=[listener.fileno(), lifeline_end.fileno()],
                process_group=0,
                # Spark starts its Python processes with a fixed seed, so that all of them compute the same hashes of strings,
                # and its workers with one thread for numpy, which numpy reads when it is imported.
                # A heap for each thread would keep several times the memory that was in use at most.
                env={"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", **os.environ},
            )
        except BaseException:
            lifeline.close()
            remove_private_folder(folder)
            raise
        finally:
            listener.close()
            lifeline_end.close()
        return cls(process, lifeline, folder, executable)

    def close(self) -> None:
        """Ends the server. Processes that it has forked continue."""
        if self._lifeline.fileno() >= 0:
            self._is_closed = True
            self._lifeline.shutdown(socket.SHUT_RDWR)  # a thread may wait in receive_clients
            self._lifeline.close()
            self._process.wait()
            remove_private_folder(self._folder)

    def has_died(self) -> bool:
        """Whether the server has ended although nobody has closed it."""
        return not self._is_closed and self._process.wait() is not None

    def receive_clients(self) -> list[int] | None:
        """Waits until there are several clients of worker daemons that do the same. The first is to be kept; None at the end."""
        try:
            return decode_clients(self._lifeline.recv(CLIENTS_SIZE))
        except OSError:  # it has not read all that it was sent
            return None

    def release_clients(self, clients: Sequence[int]) -> None:
        """The first client now represents the daemons of the others, which end."""
        self._lifeline.send(encode_clients(clients))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _write_executable(file: Path, address: str, python: str) -> Path:
    command = shlex.join([python, "-I", "-S", fork_client.__file__, address, python])
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    file.chmod(0o700)
    return file


def main(arguments: list[str]) -> None:
    listener, lifeline, idle_seconds, *modules = arguments
    if "pandas" not in modules:
        defer_pandas()
    preload(modules)
    release_file_pages()
    task = ForkLoop(
        socket.socket(fileno=int(listener)), socket.socket(fileno=int(lifeline)), float(idle_seconds)
    ).serve()
    if task is not None:
        task()


if __name__ == "__main__":
    main(sys.argv[1:])
