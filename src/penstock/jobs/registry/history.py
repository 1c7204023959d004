"""The checkpoint history of a job in the registry: the last checkpoints and the one in progress."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from penstock.atomic_file import remove_file, write_atomic
from penstock.jobs.registry.checkpoint_stats import CheckpointStats

_MAX_CHECKPOINTS = 1000  # per file; there are at most two files
_MAX_BYTES = 16 << 20  # per file
_encode = msgspec.json.encode
_decoder = msgspec.json.Decoder(CheckpointStats)


class CheckpointHistory:
    """The files of one job. One process writes them, others read."""

    def __init__(self, folder: Path, max_checkpoints: int = _MAX_CHECKPOINTS, max_bytes: int = _MAX_BYTES) -> None:
        self._new, self._old = folder / "checkpoints.jsonl", folder / "checkpoints.old.jsonl"
        self._current = folder / "checkpoint.json"
        self._max_checkpoints, self._max_bytes = max_checkpoints, max_bytes
        self._count: int | None = None

    def add(self, checkpoints: list[CheckpointStats]) -> None:
        """Appends completed and failed checkpoints."""
        if not checkpoints:
            return
        if self._count is None:
            self._count = len(self._read(self._new))
        if self._new.is_dir():
            remove_file(self._new)
        with open(self._new, "ab") as file:
            if file.tell() and not self._ends_with_line():
                file.write(b"\n")  # an earlier run was killed while it wrote
            for checkpoint in checkpoints:
                file.write(_encode(checkpoint) + b"\n")
            size = file.tell()
        self._count += len(checkpoints)
        if self._count >= self._max_checkpoints or size >= self._max_bytes:
            os.replace(self._new, self._old)
            self._count = 0

    def write_current(self, checkpoint: CheckpointStats | None) -> None:
        """Writes the checkpoint in progress; None removes it."""
        if checkpoint is None:
            remove_file(self._current)
        else:
            write_atomic(self._current, _encode(checkpoint), durable=False)

    def latest(self, limit: int | None = None) -> list[CheckpointStats]:
        """Returns the last checkpoints, oldest first, with the one in progress at the end."""
        lines = self._read(self._new)
        if limit is None or len(lines) < limit:
            lines = [*self._read(self._old), *lines]
        if limit is not None:
            lines = lines[-limit:]
        checkpoints = [stats for line in [*lines, *self._read(self._current)] if (stats := _decode(line)) is not None]
        return checkpoints if limit is None else checkpoints[-limit:]

    def _ends_with_line(self) -> bool:
        with open(self._new, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"

    @staticmethod
    def _read(file: Path) -> list[bytes]:
        try:
            data = file.read_bytes()
        except OSError:
            return []
        if file.suffix == ".jsonl":
            data = data[: data.rfind(b"\n") + 1]  # the last line may be incomplete
        return data.splitlines()


def _decode(line: bytes) -> CheckpointStats | None:
    """Returns None for a line that is damaged, or that another version of Penstock wrote."""
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError:
        return None
