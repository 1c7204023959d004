"""The lock of a checkpoint: a file with the process that owns it, and a heartbeat."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.errors import CheckpointError
from penstock.jobs.registry.process import ProcessId, this_process

_log = logging.getLogger("penstock.job")
_HEARTBEAT_SECONDS = 5.0
_WAIT_SECONDS = 1.0  # between two looks at the heartbeat of another machine
_STALE_SECONDS = 60.0  # without a heartbeat, after which the lock of another machine is ignored


class CheckpointLock:
    """Held while a job runs, so that a checkpoint has one job at a time. The lock of a process that has ended is taken over.

    For an owner on the same machine the process is checked. For an owner on another machine that shares the folder, only the
    heartbeat is visible.
    """

    def __init__(
        self, folder: str | Path, heartbeat: float = _HEARTBEAT_SECONDS, stale: float = _STALE_SECONDS
    ) -> None:
        self._file = Path(folder, "penstock", "lock")
        self._heartbeat_seconds = heartbeat
        self._stale = stale
        self._token = uuid.uuid4().hex
        self._released = threading.Event()
        self.lost = False  # another job has taken over the lock
        self.unreachable = False  # the folder was not there at the last heartbeat

    def acquire(self) -> None:
        """Acquires the lock.

        Raises:
            CheckpointError: another job holds it, or the folder cannot be written.
        """
        self.require_free(take=True)
        self._released.clear()
        threading.Thread(target=self._send_heartbeats, name="penstock-checkpoint-lock", daemon=True).start()

    def require_free(self, take: bool = False) -> None:
        """Raises CheckpointError if another job holds the lock. With `take`, writes the lock of this one.

        An owner on another machine may have died a moment ago, as before a new attempt of a cluster manager. Waits until its
        heartbeat shows that it runs, or its lock is stale.
        """
        seen = None
        try:
            while True:
                with self._exclusive():
                    owner = self._owner()
                    if owner is None or not self._may_be_alive(owner):
                        if take:
                            self._write()
                        return
                    heartbeat = self._file.stat().st_mtime_ns
                if _process_of(owner).is_here or (seen is not None and heartbeat != seen):
                    raise self._in_use(owner)
                if seen is None:
                    _log.warning(
                        "The checkpoint %s is locked by process %s on %s. Waiting for its heartbeat, at most %.0f s.",
                        self._file.parent.parent,
                        owner["pid"],
                        owner["host"],
                        self._stale,
                    )
                seen = heartbeat
                time.sleep(min(_WAIT_SECONDS, self._heartbeat_seconds))
        except OSError as error:
            raise CheckpointError(
                "CHECKPOINT_UNWRITABLE",
                f"The checkpoint folder {self._file.parent.parent} cannot be written: {error}. Make it writable for this user. If "
                "the error names a file 'lock' or 'lock.guard', and no job runs on this checkpoint, remove that file.",
            ) from error

    def _in_use(self, owner: dict[str, Any]) -> CheckpointError:
        return CheckpointError(
            "CHECKPOINT_IN_USE",
            f"Another job runs on the checkpoint {self._file.parent.parent}: process {owner.get('pid')} on "
            f"{owner.get('host')}. Two jobs would corrupt each other's state. Stop that job first, or start "
            "this one with another name, or without --resume.",
        )

    def release(self) -> None:
        """Releases the lock, if this object still holds it."""
        if self._released.is_set():
            return
        self._released.set()
        with suppress(OSError), self._exclusive():
            if self._is_held():
                self._file.unlink()

    def _send_heartbeats(self) -> None:
        while not self._released.wait(self._heartbeat_seconds):
            with suppress(OSError):
                self.unreachable = not self._file.parent.is_dir()
                if self.unreachable:
                    continue  # the storage may return
                if not self._is_held():
                    self.lost = True
                    return
                os.utime(self._file)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Makes checking and writing the lock atomic among processes."""
        with open(self._file.with_name("lock.guard"), "w") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield

    def _owner(self) -> dict[str, Any] | None:
        try:
            owner = json.loads(self._file.read_text())
        except FileNotFoundError:
            return None
        except (ValueError, IsADirectoryError):
            return {}  # damaged; a job that runs would have written it again or reported that it lost the lock
        return owner if isinstance(owner, dict) else {}

    def _is_held(self) -> bool:
        owner = self._owner()
        return owner is not None and owner.get("token") == self._token

    def _may_be_alive(self, owner: dict[str, Any]) -> bool:
        """Whether the owner runs; if it is on another machine, whether its heartbeat is recent."""
        try:
            process = msgspec.convert(owner, ProcessId)
        except msgspec.ValidationError:
            return False
        if process.is_here:
            return process.is_alive()
        probe = self._file.with_name(f"lock.{self._token}")
        probe.write_text("")  # reads the clock of the file system, which may differ from those of the machines
        now = probe.stat().st_mtime
        probe.unlink()
        return now - self._file.stat().st_mtime < self._stale

    def _write(self) -> None:
        owner = {"token": self._token, **msgspec.to_builtins(this_process())}
        write_atomic(self._file, json.dumps(owner).encode(), durable=False)


def _process_of(owner: dict[str, Any]) -> ProcessId:
    return ProcessId(owner["host"], owner["pid"], owner["started"])
