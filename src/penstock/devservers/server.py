"""Starts and stops servers on the loopback interface."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from penstock.devservers import guard
from penstock.errors import ConfigError
from penstock.jobs.registry.process import ProcessId, process_start_time

HOST = "127.0.0.1"
_START_TIMEOUT = 60.0  # seconds
_STOP_TIMEOUT = 30.0  # seconds before a process is killed
_POLL = 0.05
_LAST_LINES = 12

ProgressCallback = Callable[[str], None]

# Referenced until they have ended, because Python warns about child processes that are collected while they run.
_left_running: list[subprocess.Popen[bytes]] = []


class ServerKind(Protocol):
    """A kind of server. A new kind is a class with these members and a line in `kinds.py`."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def prepare(self, folder: Path, port: int, on_progress: ProgressCallback) -> list[str]:
        """Creates the files of the server in its folder. Returns the command that starts it."""

    def is_ready(self, port: int, log: str) -> bool:
        """Whether the server answers. `log` is its output so far."""


@dataclass
class RunningServer:
    """A running server."""

    kind: str
    version: str
    port: int
    process: ProcessId
    folder: Path
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return log_file(self.folder)

    def is_alive(self) -> bool:
        if self._child is not None:
            self._child.poll()  # an ended child is a zombie until it is polled
        return self.process.is_alive()

    def stop(self) -> None:
        """Terminates the server. If it does not end in time, it is killed."""
        end_process(self.process)
        self._release()

    def kill(self) -> None:
        """Kills the server, like a crash."""
        end_process(self.process, signal.SIGKILL)
        self._release()

    def _release(self) -> None:
        if self._child is not None:
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            self._child.wait()


def log_file(folder: Path) -> Path:
    return folder / "server.log"


def start_server(
    kind: ServerKind, folder: Path, port: int | None, on_progress: ProgressCallback, guarded: bool = False
) -> RunningServer:
    """Starts a server and waits until it answers. With `guarded`, the server ends when this process ends."""
    chosen = free_port() if port is None else port
    check_port(kind.name, chosen)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = kind.prepare(folder, chosen, on_progress)
    log = log_file(folder)
    log.write_bytes(b"")
    on_progress(f"starting {kind.name} {kind.version}")
    child, pid = _start_guarded(command, log) if guarded else _start_independent(command, log)
    server = RunningServer(kind.name, kind.version, chosen, _process_id(pid), folder, child)
    try:
        _wait_until_ready(kind, server)
    except BaseException:
        server.kill()
        raise
    return server


def _start_independent(command: list[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a process that keeps running when this process ends or its terminal closes."""
    with log.open("ab") as file:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    _left_running.append(child)
    return child, child.pid


def _start_guarded(command: list[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    child = subprocess.Popen(
        [sys.executable, "-I", guard.__file__, str(log), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None
    return child, int(child.stdout.readline())


def _process_id(pid: int) -> ProcessId:
    return ProcessId(socket.gethostname(), pid, process_start_time(pid))


def _wait_until_ready(kind: ServerKind, server: RunningServer) -> None:
    deadline = time.monotonic() + _START_TIMEOUT
    while not kind.is_ready(server.port, server.log.read_text(errors="replace")):
        alive = server.is_alive()
        if not alive or time.monotonic() > deadline:
            lines = server.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            reason = f"did not answer within {_START_TIMEOUT:.0f} s" if alive else "ended during its start"
            raise ConfigError(
                "SERVER_START",
                f"The server '{kind.name}' {reason}. Its log {server.log} ends with:\n" + "\n".join(lines),
            )
        time.sleep(_POLL)


def end_process(process: ProcessId, signal_number: signal.Signals = signal.SIGTERM) -> None:
    """Sends a signal to a process, if its id was not reused, and waits until it has ended."""
    deadline = time.monotonic() + _STOP_TIMEOUT
    if process.is_alive():
        os.kill(process.pid, signal_number)
    while process.is_alive():
        if time.monotonic() > deadline:
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(_POLL)
    _left_running[:] = [child for child in _left_running if child.poll() is None]


def free_port() -> int:
    """Returns a free port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(name: str, port: int) -> None:
    """Raises ConfigError if a server cannot listen on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                "PORT_TAKEN",
                f"The server '{name}' cannot listen on {HOST}:{port}: {error.strerror}. Choose another port with "
                "--port, or omit it to use a free port.",
            ) from error
