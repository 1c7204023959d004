"""File systems of fsspec, called directly, because pyarrow's bridge shows an unreachable store as empty."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from datetime import datetime
from typing import Any

from penstock.connectors.file.system.file_system import BUFFER, FileStatus
from penstock.connectors.file.system.listing import ListingFileSystem, join_path


class FsspecFileSystem(ListingFileSystem):
    """A file system of fsspec, whose paths have no scheme."""

    def __init__(self, system: Any, prefix: str, *, renames: bool) -> None:
        super().__init__(prefix)
        self._system = system
        self._renames = renames  # whether `mv` is atomic and overwrites an existing file

    def open(self, path: str) -> Any:
        from pyarrow import PythonFile

        return io.BufferedReader(PythonFile(self._system.open(self._inside(path), "rb"), mode="r"), BUFFER)

    def create(self, path: str) -> Any:
        from pyarrow import PythonFile

        inside = self._inside(path)
        self._system.makedirs(os.path.dirname(inside), exist_ok=True)
        return PythonFile(self._system.open(inside, "wb"), mode="w")

    def _info(self, path: str) -> dict[str, Any] | None:
        try:
            info: dict[str, Any] = self._system.info(self._inside(path))
        except FileNotFoundError:
            return None
        return info

    def get_status(self, path: str) -> FileStatus | None:
        info = self._info(path)
        return None if info is None or info["type"] != "file" else _file_status(path, info)

    def is_folder(self, path: str) -> bool:
        info = self._info(path)
        return info is not None and info["type"] == "directory"

    def _list_folder(self, folder: str) -> list[tuple[str, FileStatus | None]]:
        """Lists a folder without the cache that some file systems have."""
        inside = self._inside(folder)
        try:
            self._system.invalidate_cache(inside)
            infos = self._system.ls(inside, detail=True)
        except FileNotFoundError:
            return []
        own = inside.strip("/")  # an object store may include the folder itself
        names = {info["name"].rstrip("/").rsplit("/", 1)[-1]: info for info in infos if info["name"].strip("/") != own}
        return [
            (name, None if info["type"] == "directory" else _file_status(join_path(folder, name), info))
            for name, info in sorted(names.items(), key=lambda entry: entry[0])
        ]

    def publish(self, written: str, final: str) -> None:
        source, target = self._inside(written), self._inside(final)
        self._system.makedirs(os.path.dirname(target), exist_ok=True)
        if self._renames:
            self._system.mv(source, target)
            return
        self._system.cp_file(source, target)
        self._system.rm_file(source)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm_file(self._inside(path))

    def remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm(self._inside(path), recursive=True)


def _file_status(path: str, info: dict[str, Any]) -> FileStatus:
    return FileStatus(path, info["size"], _modified(info))


def _modified(info: dict[str, Any]) -> int:
    """Returns the modification time in nanoseconds since the epoch, or 0 if it is missing or has an unknown form.

    >>> _modified({"modificationTime": 1500}), _modified({"mtime": 1.5}), _modified({})
    (1500000000, 1500000000, 0)
    """
    if "modificationTime" in info:  # HDFS uses milliseconds
        return int(info["modificationTime"]) * 1_000_000
    time = info.get("mtime")
    seconds = time.timestamp() if isinstance(time, datetime) else time
    return int(seconds * 1_000_000_000) if isinstance(seconds, (int, float)) else 0
