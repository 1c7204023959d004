"""The development servers of a user: one of each kind, recorded in the registry folder."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from penstock.atomic_file import write_atomic
from penstock.devservers.kinds import KINDS, create_kind
from penstock.devservers.server import HOST, ProgressCallback, end_process, log_file, start_server
from penstock.errors import ConfigError
from penstock.jobs.registry.process import ProcessId
from penstock.jobs.registry.registry import registry_of

Status = Literal["running", "lost", "stopped"]


class ServerEntry(msgspec.Struct, frozen=True):
    """The record of a started server."""

    name: str
    version: str
    port: int
    process: ProcessId
    folder: str

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def status(self) -> Status:
        return "running" if self.process.is_alive() else "lost"

    @property
    def log(self) -> str:
        return str(log_file(Path(self.folder)))


def up(
    name: str, port: int | None, versions: Mapping[str, str], on_progress: ProgressCallback
) -> tuple[ServerEntry, bool]:
    """Starts a server unless it is running. Returns its record, and whether it was started by this call."""
    kind = create_kind(name, versions)
    with _locked(name):
        entry = find_entry(name)
        if entry is not None and entry.status == "running":
            if port is not None and port != entry.port:
                raise ConfigError(
                    "SERVER_RUNS",
                    f"The server '{name}' is already running on {entry.address}. Use it, or run 'penstock dev down {name}' first.",
                )
            return entry, False
        server = start_server(kind, _folder(name), port, on_progress)
        entry = ServerEntry(name, server.version, server.port, server.process, str(server.folder))
        write_atomic(_file(name), msgspec.json.encode(entry), durable=False)
        return entry, True


def down(name: str, delete_data: bool = False) -> ServerEntry | None:
    """Ends the process that `up` started. Returns None if there is none. The data is kept unless `delete_data` is set."""
    create_kind(name)
    with _locked(name):
        entry = find_entry(name)
        if entry is not None and entry.process.is_here:
            end_process(entry.process)
        _file(name).unlink(missing_ok=True)
        if delete_data:
            shutil.rmtree(_folder(name) / "data", ignore_errors=True)
        return entry


def entries() -> list[ServerEntry]:
    """All servers that were started and not stopped."""
    return [entry for name in KINDS if (entry := find_entry(name)) is not None]


def find_entry(name: str) -> ServerEntry | None:
    try:
        return msgspec.json.decode(_file(name).read_bytes(), type=ServerEntry)
    except (OSError, msgspec.DecodeError):
        return None


def _folder(name: str) -> Path:
    return registry_of().folder / "servers" / name


def _file(name: str) -> Path:
    return _folder(name) / "server.json"


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Holds the lock of a server, so that concurrent commands do not start it twice."""
    folder = _folder(name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
