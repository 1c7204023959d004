"""The ordered list of files that a source has found, stored with the checkpoint. Offsets refer to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, Literal, get_args

from penstock.atomic_file import write_atomic
from penstock.connectors.checkpoint_file import damaged_file_error, read_checkpoint_file
from penstock.connectors.file.system.file_system import FileStatus

FileOrder = Literal["modification_time", "path"]
FILE_ORDERS: tuple[FileOrder, ...] = get_args(FileOrder)


class FileList:
    """An append-only list. Each entry is on disk before it is used. Files that are found together are added in order."""

    def __init__(self, order: FileOrder = "modification_time") -> None:
        self._order = order
        self._path = ""
        self._stored: int | None = None  # files that the checkpoint contained; None: need not be checked
        self._known: set[str] = set()
        self.files: list[FileStatus] = []

    def attach(self, folder: str) -> bool:
        """Loads the list of a checkpoint. Returns False if there is none yet."""
        self._path = os.path.join(folder, "files.jsonl")
        self._set(())
        self._stored = 0
        data = read_checkpoint_file(self._path)
        if data is None:
            return False
        complete = data[: data.rfind(b"\n") + 1]
        try:
            self._set(to_file_status(json.loads(line)) for line in complete.splitlines())
        except (ValueError, TypeError, LookupError) as error:
            raise damaged_file_error(self._path, error) from error
        if len(complete) < len(data):  # a process was killed while it wrote the last line, which nothing used yet
            write_atomic(self._path, complete, durable=True)
        self._stored = len(self.files)
        return True

    def check_offset(self, file: int, byte: int) -> None:
        """Checks the first offset after `attach`. The files of an offset are in the list before the offset is used."""
        stored, self._stored = self._stored, None
        needed = file + (1 if byte else 0)
        if stored is not None and needed > stored:
            raise damaged_file_error(self._path, f"it contains {stored} files, and the job has begun to read {needed}")

    def add(self, found: Iterable[FileStatus]) -> None:
        """Adds files that are not in the list yet, oldest first or by path."""
        new = {file.path: file for file in found if file.path not in self._known}
        by_path = self._order == "path"
        self._append(sorted(new.values(), key=lambda file: (0 if by_path else file.modified, file.path)), "a")

    def replace(self, files: list[FileStatus]) -> None:
        """Replaces the list by that of a saved position, unless it already starts with it."""
        self._stored = None
        if self.files[: len(files)] != files:
            self._set(())
            self._append(files, "w")

    def _append(self, files: list[FileStatus], mode: str) -> None:
        if not files and mode == "a":
            return
        with open(self._path, mode, encoding="utf-8") as lines:
            lines.writelines(json.dumps(file) + "\n" for file in files)
            lines.flush()
            os.fsync(lines.fileno())
        self.files += files
        self._known.update(file.path for file in files)

    def _set(self, files: Iterable[FileStatus]) -> None:
        self.files = list(files)
        self._known = {file.path for file in self.files}


def to_file_status(entry: list[Any]) -> FileStatus:
    """Converts an entry of the file. Entries of older versions have no modification time."""
    return FileStatus(*entry) if len(entry) == 3 else FileStatus(entry[0], entry[1], 0)
