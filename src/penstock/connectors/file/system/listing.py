"""Base class of file systems that can only list one folder at a time."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.connectors.file.system.file_system import Enters, FileStatus, FileSystem, is_hidden


class ListingFileSystem(FileSystem):
    """Implements recursive listing with `_list_folder`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix  # scheme and host, which the client does not expect in paths

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._prefix) or "/"

    def _list_folder(self, folder: str) -> list[tuple[str, FileStatus | None]]:
        """Returns names in a folder, sorted, with the status of files and None for folders. Empty if it does not exist."""
        raise NotImplementedError

    def list_recursively(self, path: str, enters: Enters | None = None) -> Iterator[FileStatus]:
        for name, status in self._list_folder(path):
            if is_hidden(name):
                continue
            if status is None:
                folder = join_path(path, name)
                if enters is None or enters(folder):
                    yield from self.list_recursively(folder, enters)
            else:
                yield status

    def list_names(self, folder: str) -> list[str]:
        return [name for name, status in self._list_folder(folder) if status is not None]


def join_path(folder: str, name: str) -> str:
    """Returns the path of a name in a folder.

    >>> join_path("hdfs://host/orders/", "part-0")
    'hdfs://host/orders/part-0'
    """
    return f"{folder.rstrip('/')}/{name}"
