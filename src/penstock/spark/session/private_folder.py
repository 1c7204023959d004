"""Temporary folders of this process. They may contain secrets, so those of killed processes are removed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

_LOCK_FILE = "alive"  # locked as long as the process that created the folder lives
_locks: dict[str, int] = {}
_lock = threading.Lock()


def private_folder(prefix: str) -> Path:
    """Creates a folder that only this user can access, and removes those of killed processes with the same prefix."""
    with _lock:
        folder = Path(tempfile.mkdtemp(prefix=prefix))  # mode 0700
        lock = os.open(folder / _LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        _locks[str(folder)] = lock
        for other in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            if str(other) not in _locks and _is_abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
        return folder


def remove_private_folder(folder: Path) -> None:
    """Removes a folder of this process."""
    shutil.rmtree(folder, ignore_errors=True)
    with _lock:
        lock = _locks.pop(str(folder), None)
        if lock is not None:
            os.close(lock)


def _is_abandoned(folder: Path) -> bool:
    """Whether no process holds the lock of a folder. A folder without a lock file is being created."""
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
