"""Which files a source reads, and whether they may be cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from penstock.connectors.file.system import FileSystem, FoundFile, is_hidden
from penstock.errors import ConfigError


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """Finds files below paths, in their folders too; none whose name, or folder's name, begins with a dot or an underscore.

    A pattern has the signs of the shell. It is about the name, or with a slash about the path below the source's own.

    >>> FileEnumeratorProvider(pattern="*.csv").takes("2024/a.csv"), FileEnumeratorProvider(pattern="2024/*").takes("2025/a")
    (True, False)
    """

    splittable: bool = True  # large files may be read by several tasks and in several batches
    pattern: str = "*"
    accepts: Callable[[str], bool] | None = None  # decides by the path, beside the pattern

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """All files; large ones are cut where their format allows it."""
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """All files, each read by one task in one batch."""
        return FileEnumeratorProvider(splittable=False)

    def takes(self, below: str) -> bool:
        """Whether a file is read, by its path below the source's own."""
        return fnmatchcase(below if "/" in self.pattern else os.path.basename(below), self.pattern)

    def find(self, system: FileSystem, root: str) -> Iterator[FoundFile]:
        """The files of one path."""
        single = system.find(root)
        if single is not None:
            if not is_hidden(os.path.basename(root)):
                yield single
            return
        if not system.is_folder(root):
            raise ConfigError(
                "FILE_NOT_FOUND", f"The file source's path {root} does not exist. Create it, or correct the path."
            )
        for file in system.below(root):
            below = file.path[len(root) :].lstrip("/")
            if self.takes(below) and (self.accepts is None or self.accepts(file.path)):
                yield file


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Which task reads which part of which file. Spark places tasks, so there is one kind."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Oldest files first, in shares of about the same size."""
        return FileSplitAssignerProvider()
