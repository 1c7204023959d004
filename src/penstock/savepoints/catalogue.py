"""Finds the savepoints of a folder, selects those that exceed a retention, and removes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from penstock.connectors.file.system.file_system import absolute_path, file_system
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


def find_savepoints(directory: str) -> list[Savepoint]:
    """The savepoints in a folder, oldest first; none if the folder does not exist."""
    directory = absolute_path(directory)
    system = file_system(directory)
    if not system.is_folder(directory):
        return []
    folders = [
        file.path.removesuffix(f"/{MANIFEST_FILE}")
        for file in system.list_recursively(directory)
        if file.path.endswith(f"/{MANIFEST_FILE}")
    ]
    savepoints = []
    for folder in folders:
        try:
            savepoints.append(open_savepoint(folder))
        except CheckpointError:  # of a newer version, or damaged; `verify` reports it
            continue
    return sorted(savepoints, key=lambda s: s.manifest.created)


def remove_savepoint(savepoint: Savepoint) -> None:
    """Removes a savepoint. The manifest is removed first, so that an interrupted removal leaves no savepoint."""
    savepoint.system.remove(f"{savepoint.path}/{MANIFEST_FILE}")
    savepoint.system.remove_folder(savepoint.path)
