"""The savepoints of a folder: which there are, which are too many, and how one is removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from penstock.connectors.file.system import absolute, file_system
from penstock.errors import CheckpointError
from penstock.savepoints.manifest import NAME
from penstock.savepoints.savepoint import Savepoint, open_savepoint


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept of a job's savepoints; None: as many as there are. The newest one is always kept."""

    count: int | None = None
    age: int | None = None  # milliseconds
    size: int | None = None  # bytes of all of them

    @property
    def unbounded(self) -> bool:
        return self.count is None and self.age is None and self.size is None

    def unwanted(
        self, savepoints: Iterable[Savepoint], now: int, used: Collection[str] = ()
    ) -> list[tuple[Savepoint, str]]:
        """The savepoints of one job that are to go, and why. Those in `used` (paths) stay, and count."""
        newest_first = sorted(savepoints, key=lambda s: -s.manifest.created)
        gone = []
        room = self.size
        for number, savepoint in enumerate(newest_first):
            room = None if room is None else room - savepoint.size
            reason = ""
            if self.count is not None and number >= self.count:
                reason = f"there are {self.count} newer ones"
            elif self.age is not None and now - savepoint.manifest.created > self.age:
                reason = "it is too old"
            elif room is not None and room < 0:
                reason = "newer ones take up the room"
            if number and reason and savepoint.path not in used:
                gone.append((savepoint, reason))
                room = None if room is None else room + savepoint.size
        return gone


def found_in(directory: str) -> list[Savepoint]:
    """The savepoints in a folder, the oldest first; none if there is no such folder."""
    directory = absolute(directory)
    system = file_system(directory)
    if not system.is_folder(directory):
        return []
    folders = [file.path.removesuffix(f"/{NAME}") for file in system.below(directory) if file.path.endswith(f"/{NAME}")]
    found = []
    for folder in folders:
        try:
            found.append(open_savepoint(folder))
        except CheckpointError:  # of a later version, or damaged: `verify` tells
            continue
    return sorted(found, key=lambda s: s.manifest.created)


def remove(savepoint: Savepoint) -> None:
    """Removes a savepoint: first its manifest, so that what is left when this is cut short is no savepoint."""
    savepoint.system.remove(f"{savepoint.path}/{NAME}")
    savepoint.system.remove_folder(savepoint.path)
