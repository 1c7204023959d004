"""A server on loopback: started, waited for, stopped."""

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

from penstock.errors import ConfigError
from penstock.jobs.process import ProcessName, start_of
from penstock.servers import guard

HOST = "127.0.0.1"
_READY_WITHIN = 60.0
_STOP_WITHIN = 30.0
_POLL = 0.05
_LAST_LINES = 12

Told = Callable[[str], None]

_left_running: list[subprocess.Popen[bytes]] = []  # held, as Python warns of a child that is forgotten while it runs


class ServerKind(Protocol):
    """What is to be known of a kind of server. A new one is a class with these, and a line in `kinds.py`."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def prepare(self, folder: Path, port: int, told: Told) -> list[str]:
        """Makes all that the server needs in its folder, and gives the command that starts it."""

    def is_ready(self, port: int, log: str) -> bool:
        """Whether it answers by now; `log` is what it has written so far."""


@dataclass
class RunningServer:
    """A server that answers."""

    kind: str
    version: str
    port: int
    process: ProcessName
    folder: Path
    _child: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return log_of(self.folder)

    def is_alive(self) -> bool:
        if self._child is not None:
            self._child.poll()  # a child that has ended is a zombie until it is asked
        return self.process.is_alive()

    def stop(self) -> None:
        """Ends the server in order; if it does not end, at once."""
        end(self.process)
        self._let_go()

    def kill(self) -> None:
        """Ends the server as a crash does."""
        end(self.process, signal.SIGKILL)
        self._let_go()

    def _let_go(self) -> None:
        if self._child is not None:
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()
            self._child.wait()


def log_of(folder: Path) -> Path:
    return folder / "server.log"


def start(kind: ServerKind, folder: Path, port: int | None, told: Told, guarded: bool = False) -> RunningServer:
    """Starts a server and waits until it answers. A guarded one ends with this process, however that ends."""
    chosen = free_port() if port is None else port
    check_free(kind.name, chosen)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = kind.prepare(folder, chosen, told)
    log = log_of(folder)
    log.write_bytes(b"")
    told(f"starting {kind.name} {kind.version}")
    child, pid = _guarded(command, log) if guarded else _free(command, log)
    server = RunningServer(kind.name, kind.version, chosen, _name_of(pid), folder, child)
    try:
        _wait_until_ready(kind, server)
    except BaseException:
        server.kill()
        raise
    return server


def _free(command: list[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Lives on when this process ends, and when its terminal closes."""
    with log.open("ab") as file:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    _left_running.append(child)
    return child, child.pid


def _guarded(command: list[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    child = subprocess.Popen(
        [sys.executable, "-I", guard.__file__, str(log), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None
    return child, int(child.stdout.readline())


def _name_of(pid: int) -> ProcessName:
    return ProcessName(socket.gethostname(), pid, start_of(pid))


def _wait_until_ready(kind: ServerKind, server: RunningServer) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    while not kind.is_ready(server.port, server.log.read_text(errors="replace")):
        alive = server.is_alive()
        if not alive or time.monotonic() > deadline:
            lines = server.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            how = f"did not answer within {_READY_WITHIN:.0f} s" if alive else "ended while it started"
            raise ConfigError(
                "SERVER_START", f"The server '{kind.name}' {how}. Its log {server.log} ends with:\n" + "\n".join(lines)
            )
        time.sleep(_POLL)


def end(process: ProcessName, how: signal.Signals = signal.SIGTERM) -> None:
    """Ends a process if it is still the one that was started, and waits until it has ended."""
    deadline = time.monotonic() + _STOP_WITHIN
    if process.is_alive():
        os.kill(process.pid, how)
    while process.is_alive():
        if time.monotonic() > deadline:
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(_POLL)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def check_free(name: str, port: int) -> None:
    """Nothing when a server can listen on the port; else an error that says what to do."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                "PORT_TAKEN",
                f"The server '{name}' cannot listen on {HOST}:{port}: {error.strerror}. Give another one with --port, or none: "
                "then a free one is chosen.",
            ) from error
