"""Files of what fsspec reaches, by its own calls: pyarrow's bridge shows a store that does not answer as an empty one."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from penstock.connectors.file.system import BUFFER, FileSystem, FoundFile, is_hidden


class FsspecFiles(FileSystem):
    """A file system of fsspec's, which knows paths without their scheme."""

    def __init__(self, system: Any, prefix: str, *, renames: bool) -> None:
        self._system = system
        self._prefix = prefix  # what is before a path of the file system's own
        self._renames = renames  # `mv` is one step, and replaces a file that is there

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._prefix) or "/"

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

    def find(self, path: str) -> FoundFile | None:
        info = self._info(path)
        return None if info is None or info["type"] != "file" else FoundFile(path, info["size"], _modified(info))

    def is_folder(self, path: str) -> bool:
        info = self._info(path)
        return info is not None and info["type"] == "directory"

    def _listed(self, folder: str) -> list[tuple[str, dict[str, Any]]]:
        """Names and facts of what is in a folder, as it is now: some file systems remember what they listed."""
        inside = self._inside(folder)
        try:
            self._system.invalidate_cache(inside)
            infos = self._system.ls(inside, detail=True)
        except FileNotFoundError:
            return []
        own = inside.strip("/")  # an object store may list the folder itself
        names = {info["name"].rstrip("/").rsplit("/", 1)[-1]: info for info in infos if info["name"].strip("/") != own}
        return sorted(names.items(), key=lambda entry: entry[0])

    def below(self, path: str) -> Iterator[FoundFile]:
        for name, info in self._listed(path):
            if is_hidden(name):
                continue
            at = f"{path.rstrip('/')}/{name}"
            if info["type"] == "directory":
                yield from self.below(at)
            else:
                yield FoundFile(at, info["size"], _modified(info))

    def names(self, folder: str) -> list[str]:
        return [name for name, info in self._listed(folder) if info["type"] == "file"]

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


def _modified(info: dict[str, Any]) -> int:
    """When a file was written, in nanoseconds since 1970; 0 where the file system does not say, or says it in its own way.

    >>> _modified({"modificationTime": 1500}), _modified({"mtime": 1.5}), _modified({})
    (1500000000, 1500000000, 0)
    """
    if "modificationTime" in info:  # HDFS counts milliseconds
        return int(info["modificationTime"]) * 1_000_000
    time = info.get("mtime")
    seconds = time.timestamp() if isinstance(time, datetime) else time
    return int(seconds * 1_000_000_000) if isinstance(seconds, (int, float)) else 0
