"""Runs a function as another user. Only root can do that."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

OTHER_USER = 54321  # a user id without a name
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")


def as_other_user(function: Callable[[], str], reachable: Path) -> str:
    """Returns the result of a function that is called in a process of another user, who may enter the folder."""
    for folder in (reachable, *reachable.parents):
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(OTHER_USER)
            os.setuid(OTHER_USER)
            os.write(write, function().encode())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        text = result.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return text
