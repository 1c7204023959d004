"""Folders that one process needs while it runs. They may contain secrets, so those of killed processes are removed.

They are in the state folder, where no temp cleaner removes files of a job that runs for weeks. If that folder cannot be used, or if
the path of a socket would be too long, they are in the temporary folder.
"""

from __future__ import annotations

import errno
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
    """Locks the folder, which systemd-tmpfiles does not clean then, and a file in it, because NFS cannot lock folders.

    The folder comes first, so that another process never finds a lock file that nobody has locked yet.
    """
    locks = []
    with suppress(OSError):
        locks.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    locks.append(os.open(folder / _LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    fcntl.flock(locks[-1], fcntl.LOCK_EX)
    return locks


def _is_abandoned(folder: Path) -> bool:
    """Whether no process holds the locks of a folder."""
    try:
        status = folder.lstat()
        if status.st_uid != os.getuid() or not folder.is_dir():
            return False
        lock = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # no file, or not readable
        return _is_unlocked_folder(folder, _YOUNG_SECONDS)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _is_unlocked_folder(folder, 0.0)
    except OSError:
        return False
    finally:
        os.close(lock)


def _is_unlocked_folder(folder: Path, least_age: float) -> bool:
    """Whether no process holds the lock of the folder itself, which was changed at least some seconds ago."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return least_age == 0 or time.time() - os.fstat(lock).st_mtime > least_age
    except OSError as error:
        return least_age == 0 and error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN)  # NFS cannot lock folders
    finally:
        os.close(lock)
