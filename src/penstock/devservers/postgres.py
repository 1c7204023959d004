"""A PostgreSQL server on the loopback interface, from an installed PostgreSQL or the wheel of pgserver."""

from __future__ import annotations

import glob
import os
import pwd
import re
import shutil
import subprocess
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from penstock.devservers.server import HOST, ProgressCallback
from penstock.errors import ConfigError

FOLDER_VARIABLE = "PENSTOCK_POSTGRES_BIN"
USER = "postgres"
DATABASE = "postgres"


class PostgresServer:
    """A server that trusts local connections of the user postgres. With `brief`, its data may be lost in a crash."""

    name = "postgres"

    def __init__(self, brief: bool = False) -> None:
        self._brief = brief

    @cached_property
    def version(self) -> str:
        output = subprocess.run([_program("postgres"), "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"(\d+(\.\d+)*)", output)
        return found.group(1) if found else "unknown"

    def prepare(self, folder: Path, port: int, on_progress: ProgressCallback) -> list[str]:
        data = folder / "data"
        switch = _as_other_user(folder)
        if not (data / "PG_VERSION").exists():
            on_progress("creating a database")
            command = [_program("initdb"), "-D", str(data), "-U", USER, "--auth=trust", "--no-sync", "--encoding=UTF8"]
            done = subprocess.run([*switch, *command], capture_output=True, text=True, check=False, cwd=folder)
            if done.returncode:
                raise ConfigError("SERVER_START", f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")
        settings = [f"listen_addresses={HOST}", f"unix_socket_directories={folder}", "max_connections=50"]
        if self._brief:
            settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        arguments = [argument for setting in settings for argument in ("-c", setting)]
        return [*switch, _program("postgres"), "-D", str(data), "-p", str(port), *arguments]

    def is_ready(self, port: int, log: str) -> bool:
        return "ready to accept connections" in log


def _as_other_user(folder: Path) -> list[str]:
    """The server refuses to run as root. Then it runs as the user postgres or nobody, who must be able to enter the folder."""
    if os.getuid() != 0:
        return []
    for name in (USER, "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, user.pw_uid, user.pw_gid)
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    raise ConfigError("NO_POSTGRES", "PostgreSQL does not run as root, and there is no user postgres or nobody.")


def has_postgres() -> bool:
    """Whether there is a PostgreSQL server on this machine."""
    return _find("postgres") is not None and _find("initdb") is not None


def _find(name: str) -> str | None:
    folders = [os.environ.get(FOLDER_VARIABLE, ""), *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
    for folder in filter(None, [*folders, _wheel_folder()]):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return shutil.which(name)


def _wheel_folder() -> str:
    """The folder of the programs in the wheel of pgserver, or an empty text."""
    found = find_spec("pgserver")
    return (
        "" if found is None or found.origin is None else os.path.join(os.path.dirname(found.origin), "pginstall", "bin")
    )


def _program(name: str) -> str:
    found = _find(name)
    if found is None:
        raise ConfigError(
            "NO_POSTGRES",
            f"There is no PostgreSQL server ({name}) on this machine. Install PostgreSQL or the package pgserver, or set "
            f"{FOLDER_VARIABLE} to the folder of its programs.",
        )
    return found
