"""Records that tasks stage for the driver, which writes the batch in one transaction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from penstock.connectors.kafka.sink.record_serializer import RecordColumns
from penstock.connectors.sink import WriteTask


@dataclass(slots=True)
class StagedRecords:
    """Staged records of one task: a file in the checkpoint, or encoded records in memory if there is no checkpoint."""

    task: WriteTask
    file: str = ""
    in_memory: list[bytes] = field(default_factory=list)

    def records(self) -> Iterator[RecordColumns]:
        """Yields the records in blocks."""
        if not self.file:
            yield from (msgspec.msgpack.decode(part, type=RecordColumns) for part in self.in_memory)
            return
        with open(self.file, "rb") as file:
            while head := file.read(8):
                yield msgspec.msgpack.decode(file.read(int.from_bytes(head)), type=RecordColumns)


class StagingFolder:
    """The folder of the staged files."""

    def __init__(self, checkpoint: str) -> None:
        self._folder = Path(checkpoint, "staged") if checkpoint else None

    def open(self, task: WriteTask) -> StagedRecordsWriter:
        """Returns the writer of one task."""
        if self._folder is None:
            return StagedRecordsWriter(task, None)
        self._folder.mkdir(parents=True, exist_ok=True)
        return StagedRecordsWriter(task, self._folder / f"{task.batch:012d}-{task.partition}-{task.attempt}")

    def clear(self, batch: int) -> None:
        """Removes the files of this batch and earlier ones, including those of killed tasks."""
        for file in self._folder.iterdir() if self._folder is not None and self._folder.is_dir() else ():
            if int(file.name.partition("-")[0]) <= batch:
                with suppress(FileNotFoundError):
                    file.unlink()


class StagedRecordsWriter:
    """Stages the records of one task."""

    def __init__(self, task: WriteTask, path: Path | None) -> None:
        self._task = task
        self._path = path
        self._file: Any = None
        self._in_memory: list[bytes] = []

    def add(self, records: RecordColumns) -> None:
        data = msgspec.msgpack.encode(records)
        if self._path is None:
            self._in_memory.append(data)
            return
        if self._file is None:
            self._file = open(self._path, "wb")  # noqa: SIM115 - closed by finish or remove
        self._file.write(len(data).to_bytes(8))
        self._file.write(data)

    def finish(self) -> StagedRecords | None:
        """Returns the staged records, or None if there are none."""
        if self._file is None:
            return StagedRecords(self._task, in_memory=self._in_memory) if self._in_memory else None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return StagedRecords(self._task, str(self._path))

    def remove(self) -> None:
        if self._file is not None and self._path is not None:
            with suppress(OSError):  # flushing fails on a full disk; the file is deleted anyway
                self._file.close()
            self._path.unlink(missing_ok=True)
