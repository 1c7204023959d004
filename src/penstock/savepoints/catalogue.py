"""Finds the savepoints of a folder, selects those that exceed a retention, and removes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from penstock.connectors.file.system.file_system import FileSystem, absolute_path, file_system
from penstock.errors import CheckpointError
from penstock.savepoints.manifest import MANIFEST_FILE
from penstock.savepoints.savepoint import Savepoint, open_savepoint


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits of the savepoints of a job; None for no limit. The newest savepoint is never removed."""

    count: int | None = None
    age: int | None = None  # milliseconds
    size: int | None = None  # bytes of all savepoints

    @property
    def unbounded(self) -> bool:
        return self.count is None and self.age is None and self.size is None

    def select_removable(
        self, savepoints: Iterable[Savepoint], now: int, used: Collection[str] = ()
    ) -> list[tuple[Savepoint, str]]:
        """The savepoints of one job that exceed the limits, and the reason. Those in `used` (paths) stay, but count."""
        newest_first = sorted(savepoints, key=lambda s: -s.manifest.created)
        removable = []
        remaining = self.size
        for number, savepoint in enumerate(newest_first):
            remaining = None if remaining is None else remaining - savepoint.size
            reason = ""
            if self.count is not None and number >= self.count:
                reason = f"there are {self.count} newer ones"
            elif self.age is not None and now - savepoint.manifest.created > self.age:
                reason = "it is too old"
            elif remaining is not None and remaining < 0:
                reason = "newer ones use the allowed size"
            if number and reason and savepoint.path not in used:
                removable.append((savepoint, reason))
                remaining = None if remaining is None else remaining + savepoint.size
        return removable


def find_savepoints(directory: str, follow_links: bool = True) -> list[Savepoint]:
    """The savepoints in a folder, oldest first; none if the folder does not exist.

    Without `follow_links`, savepoints that are in the folder only by a symbolic link are left out.
    """
    directory = absolute_path(directory)
    system = file_system(directory)
    if not system.is_folder(directory):
        return []
    folders = [
        file.path.removesuffix(f"/{MANIFEST_FILE}")
        for file in system.list_recursively(directory)
        if file.path.endswith(f"/{MANIFEST_FILE}")
        and (follow_links or not _is_behind_link(system, directory, file.path))
    ]
    savepoints = []
    for folder in folders:
        try:
            savepoints.append(open_savepoint(folder))
        except (CheckpointError, OSError):  # of a newer version, damaged or unreadable; `verify` reports it
            continue
    return sorted(savepoints, key=lambda s: s.manifest.created)


def _is_behind_link(system: FileSystem, directory: str, path: str) -> bool:
    """Whether a path in a folder, or a folder between them, is a symbolic link."""
    below = path.removeprefix(directory.rstrip("/")).strip("/").split("/")
    return any(system.is_link("/".join((directory.rstrip("/"), *below[:end]))) for end in range(1, len(below) + 1))


def remove_savepoint(savepoint: Savepoint) -> None:
    """Removes the files of a savepoint, and its folder if it contains nothing else.

    The manifest is removed first, so that an interrupted removal leaves no savepoint.

    Raises:
        CheckpointError: the path is a symbolic link.
    """
    path, system = savepoint.path, savepoint.system
    if system.is_link(path) or system.is_link(f"{path}/{MANIFEST_FILE}"):
        raise CheckpointError(
            "SAVEPOINT_IS_LINK",
            f"The savepoint {path} is a symbolic link, so its files are in another folder. They were not removed. Delete the "
            "link yourself, or delete the savepoint by its own path.",
        )
    manifest = savepoint.manifest
    names = [*(file.name for file in manifest.files), *(file.name for file in manifest.sink_files)]
    names = [name for name in names if "/" not in name]
    for name in (MANIFEST_FILE, f"_{MANIFEST_FILE}", *names):
        system.remove(f"{path}/{name}")
    system.remove_empty_folder(path)
