"""The versions of state that Spark can load from a checkpoint. Version n is the state before batch n.

Each partition of each stateful operator has a changelog file per version and occasional snapshots. A snapshot lists files that
several snapshots share. A version can be loaded from an earlier snapshot and all changelogs since.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from penstock.spark.checkpoint.checkpoint_files import find_fault


class StatePartition:
    """The state files of one partition of a stateful operator."""

    def __init__(self, folder: Path, deep: bool) -> None:
        self._folder = folder
        self._deep = deep
        self._faults: dict[str, str] = {}

    def last_loadable(self, version: int) -> int:
        """The newest version up to the given one that can be loaded. Version 0, the empty state, always can."""
        snapshots = sorted((int(f.stem) for f in self._folder.glob("*.zip") if f.stem.isdecimal()), reverse=True)
        best = 0  # changelogs need a snapshot, which describes the columns; Spark writes the first one at version 1
        for snapshot in (s for s in snapshots if s <= version):
            if self._find_snapshot_fault(snapshot):
                continue
            reached = snapshot
            while reached < version and not self._find_fault(self._folder / f"{reached + 1}.changelog"):
                reached += 1
            best = max(best, reached)
            if best == version:
                break
        return best

    def damaged_snapshots(self) -> list[Path]:
        """Snapshots that were found to be damaged. Earlier snapshots and changelogs may replace them."""
        return [self._folder / name for name, fault in self._faults.items() if fault and name.endswith(".zip")]

    def faults(self) -> list[str]:
        """Messages about all damage that was found, one per file."""
        return [f"{self._folder / name} {fault}" for name, fault in self._faults.items() if fault]

    def files_after(self, version: int) -> list[Path]:
        """Snapshots and changelogs of versions after the given one."""
        files = [*self._folder.glob("*.zip"), *self._folder.glob("*.changelog")]
        return [f for f in files if f.stem.isdecimal() and int(f.stem) > version]

    def _find_fault(self, file: Path) -> str:
        if file.name not in self._faults:
            self._faults[file.name] = find_fault(file, self._deep)
        return self._faults[file.name]

    def _find_snapshot_fault(self, version: int) -> str:
        file = self._folder / f"{version}.zip"
        if not (fault := self._find_fault(file)):
            fault = self._faults[file.name] = self._find_shared_fault(file)
        return fault

    def _find_shared_fault(self, snapshot: Path) -> str:
        """A message about damage of the files that a snapshot lists; empty if none is found."""
        try:
            with zipfile.ZipFile(snapshot) as packed:
                metadata = json.loads(packed.read("metadata").decode().partition("\n")[2])
            files = [(f["dfsSstFileName"], int(f["sizeBytes"])) for f in metadata["sstFiles"]]
        except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
            return f"cannot be decoded ({type(error).__name__}: {error})"
        for name, size in files:
            file = self._folder / "SSTs" / name
            if not (fault := find_fault(file, self._deep)) and file.stat().st_size != size:
                fault = f"has {file.stat().st_size:,} bytes instead of {size:,}"
            if fault:
                return f"needs {name}, which {fault}"
        return ""


def state_partitions(spark: Path, deep: bool) -> list[StatePartition]:
    """All state partitions of a checkpoint."""
    return [
        StatePartition(folder, deep)
        for operator in sorted((spark / "state").glob("*"))
        if operator.name.isdecimal()
        for folder in sorted(operator.iterdir())
        if folder.name.isdecimal()
    ]


def last_common_version(partitions: list[StatePartition], version: int) -> int:
    """The newest version up to the given one that all partitions can load."""
    while True:
        reached = min((partition.last_loadable(version) for partition in partitions), default=version)
        if reached == version:
            return version
        version = reached
