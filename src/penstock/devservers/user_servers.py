"""The servers that a user has running for development: one of each kind, remembered in the user's own folder."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from penstock.errors import ConfigError
from penstock.jobs.process import ProcessName
from penstock.jobs.registry import registry_of
from penstock.jobs.whole_file import write_whole
from penstock.servers.kinds import KINDS, kind_of
from penstock.servers.server import HOST, Told, end, log_of, start

Status = Literal["running", "lost", "stopped"]


class ServerEntry(msgspec.Struct, frozen=True):
    """What is remembered of a server that was started."""

    name: str
    version: str
    port: int
    process: ProcessName
    folder: str

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def status(self) -> Status:
        return "running" if self.process.is_alive() else "lost"

    @property
    def log(self) -> str:
        return str(log_of(Path(self.folder)))


def up(name: str, port: int | None, versions: Mapping[str, str], told: Told) -> tuple[ServerEntry, bool]:
    """A running server, and whether it was started just now: one that runs already is left as it is."""
    kind = kind_of(name, versions)
    with _alone(name):
        entry = entry_of(name)
        if entry is not None and entry.status == "running":
            if port is not None and port != entry.port:
                raise ConfigError(
                    "SERVER_RUNS",
                    f"The server '{name}' runs already, on {entry.address}. Use that, or run 'penstock dev down {name}' first.",
                )
            return entry, False
        server = start(kind, _folder(name), port, told)
        entry = ServerEntry(name, server.version, server.port, server.process, str(server.folder))
        write_whole(_file(name), msgspec.json.encode(entry))
        return entry, True


def down(name: str, delete_data: bool = False) -> ServerEntry | None:
    """Ends exactly the process that `up` started; None when there is none. Its data stay, unless they are to go."""
    kind_of(name)
    with _alone(name):
        entry = entry_of(name)
        if entry is not None and entry.process.is_here:
            end(entry.process)
        _file(name).unlink(missing_ok=True)
        if delete_data:
            shutil.rmtree(_folder(name) / "data", ignore_errors=True)
        return entry


def entries() -> list[ServerEntry]:
    """All servers that were started and not stopped."""
    return [entry for name in KINDS if (entry := entry_of(name)) is not None]


def entry_of(name: str) -> ServerEntry | None:
    try:
        return msgspec.json.decode(_file(name).read_bytes(), type=ServerEntry)
    except (OSError, msgspec.DecodeError):
        return None


def _folder(name: str) -> Path:
    return registry_of().folder / "servers" / name


def _file(name: str) -> Path:
    return _folder(name) / "server.json"


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Two commands at once do not start the same server twice."""
    folder = _folder(name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
