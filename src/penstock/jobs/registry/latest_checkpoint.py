"""The fixed folder of a job that always resumes itself (`execution.resume: latest`). It is found by the name of the job.

The folder contains a checkpoint folder per job id, and the file `latest.json`, which names the current one. A job that was rescaled
or started from a savepoint has a new checkpoint folder, and the start command finds it nevertheless.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from penstock.atomic_file import write_atomic
from penstock.config import Configuration
from penstock.errors import CheckpointError
from penstock.folders import default_checkpoint_folder

_FILE = "latest.json"


class _Pointer(msgspec.Struct, frozen=True):
    """The contents of `latest.json`."""

    checkpoint: str  # name of the folder
    savepoints: list[str] = []  # all savepoints that the job was started from


def named_folder(configuration: Configuration, name: str) -> str:
    """The fixed folder of the job with this name."""
    return default_checkpoint_folder(configuration, "", name)


class LatestCheckpoint:
    """The current checkpoint in the fixed folder of a job."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    @classmethod
    def containing(cls, checkpoint: str) -> LatestCheckpoint | None:
        """The fixed folder whose current checkpoint is this one; None if there is none."""
        latest = cls(os.path.dirname(os.path.abspath(checkpoint)))
        pointer = latest._read()
        return latest if pointer is not None and pointer.checkpoint == os.path.basename(checkpoint) else None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Makes reading and replacing the current checkpoint atomic among processes that start at the same time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "latest.guard", "w") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield

    def find(self) -> str | None:
        """The folder of the current checkpoint; None if the job has never been started.

        Raises:
            CheckpointError: the checkpoint is gone, or it is not known which one is the current one.
        """
        if not (self.folder / _FILE).exists():
            return None
        pointer, stored = self._read(), self._checkpoints()
        if pointer is None and len(stored) == 1:
            return str(self.folder / stored[0])
        if pointer is None:
            raise CheckpointError(
                "CHECKPOINT_DAMAGED",
                f"{self.folder / _FILE} cannot be read, so it is not known which of these checkpoints beside it is the last one: "
                f"{', '.join(stored) or 'none'}. Move the others to another folder. To start the job with empty state, delete the "
                "file.",
            )
        if pointer.checkpoint not in stored:
            raise CheckpointError(
                "NO_CHECKPOINT",
                f"The last checkpoint of the job, {self.folder / pointer.checkpoint}, is gone or incomplete. Restore it. To start "
                f"the job with empty state, delete {self.folder / _FILE}.",
            )
        return str(self.folder / pointer.checkpoint)

    def started_from(self, savepoint: str) -> bool:
        """Whether the job was started from this savepoint before."""
        pointer = self._read()
        return pointer is not None and savepoint in pointer.savepoints

    def replace(self, checkpoint: str, savepoint: str = "") -> None:
        """Makes a checkpoint the current one. `savepoint` is where it was started from."""
        pointer = self._read()
        before = [] if pointer is None else pointer.savepoints
        written = _Pointer(os.path.basename(checkpoint), [*before, savepoint] if savepoint else before)
        write_atomic(self.folder / _FILE, msgspec.json.encode(written), durable=True)

    def clear(self) -> None:
        """Forgets the current checkpoint, because it is deleted. The next start has empty state."""
        (self.folder / _FILE).unlink(missing_ok=True)

    def _read(self) -> _Pointer | None:
        try:
            return msgspec.json.decode((self.folder / _FILE).read_bytes(), type=_Pointer)
        except (OSError, msgspec.DecodeError):
            return None

    def _checkpoints(self) -> list[str]:
        return sorted(file.parent.parent.name for file in self.folder.glob("*/penstock/job.json"))
