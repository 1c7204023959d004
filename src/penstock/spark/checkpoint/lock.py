"""One job at a time on a checkpoint: a lock file with its owner's name and a heartbeat."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from penstock.errors import CheckpointError
from penstock.jobs.process import ProcessName, this_process
from penstock.jobs.whole_file import write_whole

_BEAT = 5.0
_STALE = 60.0  # seconds without a beat after which a lock of another machine counts as left behind


class CheckpointLock:
    """Held while a job runs. A lock of a process that is gone is taken over.

    On one machine the owner's process is looked at. Of an owner on another machine, which shares the folder, only the
    heartbeat is seen.
    """

    def __init__(self, folder: str | Path, beat: float = _BEAT, stale: float = _STALE) -> None:
        self._file = Path(folder, "penstock", "lock")
        self._beat = beat
        self._stale = stale
        self._token = uuid.uuid4().hex
        self._released = threading.Event()
        self.lost = False  # somebody else has taken the lock over

    def acquire(self) -> None:
        """Takes the lock, or says who has it."""
        try:
            with self._alone():
                owner = self._owner()
                if owner is not None and self._alive(owner):
                    raise CheckpointError(
                        "CHECKPOINT_IN_USE",
                        f"Another job runs on the checkpoint {self._file.parent.parent}: process {owner.get('pid')} on "
                        f"{owner.get('host')}. Two jobs would spoil each other's state. Stop that job first, or start "
                        "this one without --resume.",
                    )
                self._write()
        except OSError as error:
            raise CheckpointError(
                "CHECKPOINT_UNWRITABLE",
                f"The checkpoint folder {self._file.parent.parent} cannot be written: {error}. Choose another one.",
            ) from error
        self._released.clear()
        threading.Thread(target=self._keep, name="penstock-checkpoint-lock", daemon=True).start()

    def release(self) -> None:
        """Gives the lock back, if it is still ours."""
        if self._released.is_set():
            return
        self._released.set()
        with suppress(OSError), self._alone():
            if self._is_ours():
                self._file.unlink()

    def _keep(self) -> None:
        while not self._released.wait(self._beat):
            with suppress(OSError):
                if not self._file.parent.is_dir():
                    continue  # the store is not there now: that is told elsewhere
                if not self._is_ours():
                    self.lost = True
                    return
                os.utime(self._file)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Looking and taking is one step, also for two that come at the same time."""
        with open(self._file.with_name("lock.guard"), "w") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield

    def _owner(self) -> dict[str, Any] | None:
        try:
            owner = json.loads(self._file.read_text())
        except FileNotFoundError:
            return None
        except ValueError:
            return {}  # half written by one that died
        return owner if isinstance(owner, dict) else {}

    def _is_ours(self) -> bool:
        owner = self._owner()
        return owner is not None and owner.get("token") == self._token

    def _alive(self, owner: dict[str, Any]) -> bool:
        if not owner:
            return False
        process = ProcessName(owner["host"], owner["pid"], owner["started"])
        if process.is_here:
            return process.is_alive()
        probe = self._file.with_name(f"lock.{self._token}")
        probe.write_text("")  # the folder's own clock, whatever the machines' clocks say
        now = probe.stat().st_mtime
        probe.unlink()
        return now - self._file.stat().st_mtime < self._stale

    def _write(self) -> None:
        owner = {"token": self._token, **msgspec.to_builtins(this_process())}
        write_whole(self._file, json.dumps(owner).encode())
