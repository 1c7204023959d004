"""Folders that only their owner can access."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from pathlib import Path

from penstock.folders.locations import HOME_VARIABLE, state_folder


def create_private(folder: Path) -> Path:
    """Creates a folder in the state folder, with its parents. Raises OSError if another user owns one of them.

    The mode of a folder that PENSTOCK_HOME names is not changed, because its user may share it on purpose.
    """
    root = state_folder()
    if folder != root and folder.is_relative_to(root):
        create_private(folder.parent)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise PermissionError(
            errno.EACCES,
            f"The folder belongs to {user_name(found.st_uid)}. Set {HOME_VARIABLE} to a folder of your own",
            str(folder),
        )
    if stat.S_IMODE(found.st_mode) & 0o077 and not (folder == root and os.environ.get(HOME_VARIABLE)):
        folder.chmod(0o700)
    return folder


def user_name(uid: int) -> str:
    """The name of a user for messages."""
    try:
        return f"user '{pwd.getpwuid(uid).pw_name}'"
    except KeyError:
        return f"user {uid}"
