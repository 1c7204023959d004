"""Which versions of its state Spark can load from a checkpoint. Version n is the state before batch n.

Each partition of each stateful operator has a file of changes per version, and now and then a snapshot: a list of files that
are shared by snapshots. A version can be loaded from a snapshot before it and all changes since.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from penstock.spark.checkpoint_files import fault_of


class Partition:
    """The files of one partition's state."""

    def __init__(self, folder: Path, deep: bool) -> None:
        self._folder = folder
        self._deep = deep
        self._faults: dict[str, str] = {}

    def last_loadable(self, version: int) -> int:
        """The newest version, up to this one, that can be loaded; 0 is the empty state, which always can."""
        snapshots = sorted((int(f.stem) for f in self._folder.glob("*.zip") if f.stem.isdecimal()), reverse=True)
        best = 0  # changes alone do not do: a snapshot tells which columns there are, and Spark makes one of version 1
        for snapshot in (s for s in snapshots if s <= version):
            if self._snapshot_fault(snapshot):
                continue
            reached = snapshot
            while reached < version and not self._fault(self._folder / f"{reached + 1}.changelog"):
                reached += 1
            best = max(best, reached)
            if best == version:
                break
        return best

    def bad_snapshots(self) -> list[Path]:
        """Snapshots that were found damaged: the ones before them and all changes may do without."""
        return [self._folder / name for name, fault in self._faults.items() if fault and name.endswith(".zip")]

    def faults(self) -> list[str]:
        """What was found wrong, file by file."""
        return [f"{self._folder / name} {fault}" for name, fault in self._faults.items() if fault]

    def newer_than(self, version: int) -> list[Path]:
        files = [*self._folder.glob("*.zip"), *self._folder.glob("*.changelog")]
        return [f for f in files if f.stem.isdecimal() and int(f.stem) > version]

    def _fault(self, file: Path) -> str:
        if file.name not in self._faults:
            self._faults[file.name] = fault_of(file, self._deep)
        return self._faults[file.name]

    def _snapshot_fault(self, version: int) -> str:
        file = self._folder / f"{version}.zip"
        if not (fault := self._fault(file)):
            fault = self._faults[file.name] = self._shared_fault(file)
        return fault

    def _shared_fault(self, snapshot: Path) -> str:
        """What is wrong with the files that a snapshot names."""
        try:
            with zipfile.ZipFile(snapshot) as packed:
                told = json.loads(packed.read("metadata").decode().partition("\n")[2])
            files = [(f["dfsSstFileName"], int(f["sizeBytes"])) for f in told["sstFiles"]]
        except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
            return f"cannot be understood ({type(error).__name__}: {error})"
        for name, size in files:
            file = self._folder / "SSTs" / name
            if not (fault := fault_of(file, self._deep)) and file.stat().st_size != size:
                fault = f"has {file.stat().st_size:,} bytes and should have {size:,}"
            if fault:
                return f"needs {name}, which {fault}"
        return ""


def partitions(spark: Path, deep: bool) -> list[Partition]:
    """All partitions of all operators of a checkpoint."""
    return [
        Partition(folder, deep)
        for operator in sorted((spark / "state").glob("*"))
        if operator.name.isdecimal()
        for folder in sorted(operator.iterdir())
        if folder.name.isdecimal()
    ]


def last_common(found: list[Partition], version: int) -> int:
    """The newest version, up to this one, that all partitions can load."""
    while True:
        reached = min((partition.last_loadable(version) for partition in found), default=version)
        if reached == version:
            return version
        version = reached
