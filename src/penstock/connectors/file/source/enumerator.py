"""Enumerates the files of a source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from penstock.connectors.file.system.file_system import FileStatus, FileSystem, is_hidden
from penstock.errors import ConfigError


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """Finds files in folders, recursively. Ignores files and folders whose names start with a dot or an underscore.

    `pattern` is a shell pattern. It is matched against the file name or, if it contains a slash, against the path relative to the
    path of the source.

    >>> FileEnumeratorProvider(pattern="*.csv").takes("2024/a.csv"), FileEnumeratorProvider(pattern="2024/*").takes("2025/a")
    (True, False)
    """

    splittable: bool = True  # whether several tasks and several batches may read a large file
    pattern: str = "*"
    accepts: Callable[[str], bool] | None = None  # an additional filter on the path
    enters: Callable[[str], bool] | None = None  # a filter on the paths of folders; others are not listed

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Reads all files. Large files are split if their format supports it."""
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Reads all files, each in one task and one batch."""
        return FileEnumeratorProvider(splittable=False)

    def takes(self, below: str) -> bool:
        """Whether a file matches the pattern, by its path relative to the source."""
        return fnmatchcase(below if "/" in self.pattern else os.path.basename(below), self.pattern)

    def find(self, system: FileSystem, root: str) -> Iterator[FileStatus]:
        """Yields the files of one path."""
        single = system.get_status(root)
        if single is not None:
            if not is_hidden(os.path.basename(root)):
                yield single
            return
        if not system.is_folder(root):
            raise ConfigError(
                "FILE_NOT_FOUND", f"The path {root} of the file source does not exist. Create it or correct the path."
            )
        for file in system.list_recursively(root, self.enters):
            below = file.path[len(root) :].lstrip("/")
            if self.takes(below) and (self.accepts is None or self.accepts(file.path)):
                yield file


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Assigns file splits to tasks. There is only one kind, because Spark places tasks."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Reads the oldest files first, in tasks of about the same size."""
        return FileSplitAssignerProvider()
