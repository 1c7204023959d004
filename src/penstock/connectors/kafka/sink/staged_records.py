"""Records that tasks leave for the driver, which writes a whole batch in one transaction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from penstock.connectors.kafka.record_serializer import Records
from penstock.connectors.sink import WriteTask


@dataclass(slots=True)
class Staged:
    """What one task left: a file in the checkpoint, or the records themselves where there is no checkpoint."""

    task: WriteTask
    file: str = ""
    kept: list[bytes] = field(default_factory=list)

    def records(self) -> Iterator[Records]:
        """The records, some at a time."""
        if not self.file:
            yield from (msgspec.msgpack.decode(part, type=Records) for part in self.kept)
            return
        with open(self.file, "rb") as file:
            while head := file.read(8):
                yield msgspec.msgpack.decode(file.read(int.from_bytes(head)), type=Records)


class Stage:
    """The folder in which records wait."""

    def __init__(self, memory: str) -> None:
        self._folder = Path(memory, "staged") if memory else None

    def open(self, task: WriteTask) -> StagedFile:
        """What one task writes to."""
        if self._folder is None:
            return StagedFile(task, None)
        self._folder.mkdir(parents=True, exist_ok=True)
        return StagedFile(task, self._folder / f"{task.batch:012d}-{task.partition}-{task.attempt}")

    def clear(self, batch: int) -> None:
        """Removes what was left for this batch and those before it, also by killed tasks."""
        for file in self._folder.iterdir() if self._folder is not None and self._folder.is_dir() else ():
            if int(file.name.partition("-")[0]) <= batch:
                with suppress(FileNotFoundError):
                    file.unlink()


class StagedFile:
    """Takes the records of one task."""

    def __init__(self, task: WriteTask, path: Path | None) -> None:
        self._task = task
        self._path = path
        self._file: Any = None
        self._kept: list[bytes] = []

    def add(self, records: Records) -> None:
        data = msgspec.msgpack.encode(records)
        if self._path is None:
            self._kept.append(data)
            return
        if self._file is None:
            self._file = open(self._path, "wb")  # noqa: SIM115 - closed by finish or remove
        self._file.write(len(data).to_bytes(8))
        self._file.write(data)

    def finish(self) -> Staged | None:
        """What the driver is told; None when there were no records."""
        if self._file is None:
            return Staged(self._task, kept=self._kept) if self._kept else None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return Staged(self._task, str(self._path))

    def remove(self) -> None:
        if self._file is not None and self._path is not None:
            with suppress(OSError):  # a full disk cannot take what is left, and it is not wanted
                self._file.close()
            self._path.unlink(missing_ok=True)
