"""A folder of this process alone: it holds the program with its secrets, and must not outlive a process that was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

_ALIVE = "alive"  # locked as long as the process that made the folder lives
_locks: dict[str, int] = {}
_lock = threading.Lock()


def private_folder(prefix: str) -> Path:
    """A new folder that only this user can enter; those that killed processes left under the same prefix are removed."""
    with _lock:
        folder = Path(tempfile.mkdtemp(prefix=prefix))  # mode 0700
        lock = os.open(folder / _ALIVE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        _locks[str(folder)] = lock
        for other in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            if str(other) not in _locks and _is_left_behind(other):
                shutil.rmtree(other, ignore_errors=True)
        return folder


def remove_private_folder(folder: Path) -> None:
    """The folder is not needed any more."""
    shutil.rmtree(folder, ignore_errors=True)
    with _lock:
        lock = _locks.pop(str(folder), None)
        if lock is not None:
            os.close(lock)


def _is_left_behind(folder: Path) -> bool:
    """Whether nobody holds the folder's lock; one that has none yet is being made."""
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _ALIVE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
