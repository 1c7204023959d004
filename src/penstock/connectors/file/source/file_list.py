"""The files that a source has found, in order, kept with the checkpoint: an offset is a place in this list."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from penstock.connectors.file.system import FoundFile


class FileList:
    """Grows at its end only, and every entry is on disk before it is used."""

    def __init__(self) -> None:
        self._path = ""
        self._known: set[str] = set()
        self.files: list[FoundFile] = []

    def attach(self, folder: str) -> bool:
        """Takes up the list of a checkpoint; False: there is none yet."""
        self._path = os.path.join(folder, "files.jsonl")
        self._set(())
        if not os.path.exists(self._path):
            return False
        with open(self._path, encoding="utf-8") as lines:
            self._set(as_found(json.loads(line)) for line in lines if line.endswith("\n"))
        return True

    def add(self, found: Iterable[FoundFile]) -> None:
        """Adds files that are not in the list yet, oldest first."""
        fresh = {file.path: file for file in found if file.path not in self._known}
        self._append(sorted(fresh.values(), key=lambda file: (file.modified, file.path)), "a")

    def replace(self, files: list[FoundFile]) -> None:
        """Begins with the list of a saved position, unless it does already."""
        if self.files[: len(files)] != files:
            self._set(())
            self._append(files, "w")

    def _append(self, files: list[FoundFile], mode: str) -> None:
        if not files and mode == "a":
            return
        with open(self._path, mode, encoding="utf-8") as lines:
            lines.writelines(json.dumps(file) + "\n" for file in files)
            lines.flush()
            os.fsync(lines.fileno())
        self.files += files
        self._known.update(file.path for file in files)

    def _set(self, files: Iterable[FoundFile]) -> None:
        self.files = list(files)
        self._known = {file.path for file in self.files}


def as_found(entry: list[Any]) -> FoundFile:
    """An entry of a list; older ones have no time."""
    return FoundFile(*entry) if len(entry) == 3 else FoundFile(entry[0], entry[1], 0)
