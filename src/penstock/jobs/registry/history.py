"""The checkpoints of a job, as its registry folder keeps them: the last ones, and the one in progress."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from penstock.jobs.checkpoints import Checkpoint
from penstock.jobs.whole_file import write_whole

_MOST = 1000  # checkpoints in a file; there are at most two files
_MOST_BYTES = 16 << 20
_encode = msgspec.json.encode
_decoder = msgspec.json.Decoder(Checkpoint)


class History:
    """One process adds, others read."""

    def __init__(self, folder: Path, most: int = _MOST, most_bytes: int = _MOST_BYTES) -> None:
        self._new, self._old = folder / "checkpoints.jsonl", folder / "checkpoints.old.jsonl"
        self._current = folder / "checkpoint.json"
        self._most, self._most_bytes = most, most_bytes
        self._count: int | None = None

    def add(self, checkpoints: list[Checkpoint]) -> None:
        """Takes in checkpoints that are over."""
        if not checkpoints:
            return
        if self._count is None:
            self._count = len(self._read(self._new))
        with open(self._new, "ab") as file:
            for checkpoint in checkpoints:
                file.write(_encode(checkpoint) + b"\n")
            size = file.tell()
        self._count += len(checkpoints)
        if self._count >= self._most or size >= self._most_bytes:
            os.replace(self._new, self._old)
            self._count = 0

    def put_current(self, checkpoint: Checkpoint | None) -> None:
        """Tells of the checkpoint in progress; None: there is none."""
        if checkpoint is None:
            self._current.unlink(missing_ok=True)
        else:
            write_whole(self._current, _encode(checkpoint))

    def latest(self, most: int | None = None) -> list[Checkpoint]:
        """The last checkpoints, oldest first; the one in progress at the end."""
        found = self._read(self._new)
        if most is None or len(found) < most:
            found = [*self._read(self._old), *found]
        lines = [*found[-(most or len(found)) :], *self._read(self._current)] if found else self._read(self._current)
        known = [_decoder.decode(line) for line in lines]
        return known[-most:] if most else known

    @staticmethod
    def _read(file: Path) -> list[bytes]:
        try:
            data = file.read_bytes()
        except OSError:
            return []
        if file.suffix == ".jsonl":
            data = data[: data.rfind(b"\n") + 1]  # the last line may be half written
        return data.splitlines()
