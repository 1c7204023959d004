"""Folders that one process needs while it runs. They may contain secrets, so those of killed processes are removed.

They are in the state folder, where no temp cleaner removes files of a job that runs for weeks. If that folder cannot be used, or if
the path of a socket would be too long, they are in the temporary folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from penstock.folders.locations import runs_folder
from penstock.folders.owner_access import create_private

_LOCK_FILE = "alive"  # locked as long as the process that created the folder lives
_MAX_SOCKET_PATH = 107  # bytes; a limit of the system
_RANDOM_PART = 8  # characters that mkdtemp adds
_YOUNG_SECONDS = 60.0  # a folder without a lock file may be in creation
_locks: dict[str, list[int]] = {}
_lock = threading.Lock()


def private_folder(purpose: str, socket_name: str = "") -> Path:
    """Creates a folder that only this user can access, and removes those of killed processes with the same purpose.

    The path of a file `socket_name` in the folder is short enough for a socket, if that is possible.
    """
    with _lock:
        folder = _create(purpose, socket_name)
        _locks[str(folder)] = _acquire(folder)
        for other in abandoned_folders(folder.parent, f"{folder.name[:-_RANDOM_PART]}*"):
            shutil.rmtree(other, ignore_errors=True)
        return folder


def remove_private_folder(folder: Path) -> None:
    """Removes a folder of this process."""
    shutil.rmtree(folder, ignore_errors=True)
    with _lock:
        for lock in _locks.pop(str(folder), ()):
            os.close(lock)


def abandoned_folders(root: Path, pattern: str = "*") -> list[Path]:
    """The folders of processes that have ended."""
    with suppress(OSError):
        return [f for f in root.glob(pattern) if str(f) not in _locks and _is_abandoned(f)]
    return []


def _create(purpose: str, socket_name: str) -> Path:
    root, prefix = runs_folder(), f"{purpose}-"
    path = os.fsencode(root / f"{prefix}{'x' * _RANDOM_PART}" / socket_name)
    if not socket_name or len(path) <= _MAX_SOCKET_PATH:
        with suppress(OSError):
            create_private(root)
            return Path(tempfile.mkdtemp(prefix=prefix, dir=root))  # mode 0700
    return Path(tempfile.mkdtemp(prefix=f"penstock-{prefix}"))


def _acquire(folder: Path) -> list[int]:
    """Locks the file, which other processes check, and the folder, which systemd-tmpfiles does not clean then."""
    lock = os.open(folder / _LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    locks = [lock]
    with suppress(OSError):  # NFS cannot lock folders
        locks.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    return locks


def _is_abandoned(folder: Path) -> bool:
    """Whether no process holds the lock of a folder."""
    try:
        status = folder.lstat()
        if status.st_uid != os.getuid() or not folder.is_dir():
            return False
        lock = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return _is_old(folder)
    except OSError:  # not a file, or not readable
        return _is_old(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)


def _is_old(folder: Path) -> bool:
    """Whether a folder whose lock cannot be read is not just being created."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(
            lock, fcntl.LOCK_EX | fcntl.LOCK_NB
        )  # the process of a folder with a damaged lock file holds this one
        return time.time() - os.fstat(lock).st_mtime > _YOUNG_SECONDS
    except OSError:
        return False
    finally:
        os.close(lock)
