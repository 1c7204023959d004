"""Runs a function as another user. Only root can do that."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

OTHER_USER = 54321  # a user id without a name
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")


def make_reachable(folder: Path) -> None:
    """Lets other users enter a folder and its parents."""
    for each in (folder, *folder.parents):
        if not each.stat().st_mode & 0o001:
            each.chmod(each.stat().st_mode | 0o011)


def as_other_user(function: Callable[[], str], reachable: Path) -> str:
    """Returns the result of a function that is called in a process of another user, who may enter the folder."""
    make_reachable(reachable)
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


class OtherUser:
    """A process of another user, which calls functions with an index."""

    def __init__(self, function: Callable[[int], str], reachable: Path) -> None:
        make_reachable(reachable)
        (calls, self._calls), (self._results, results) = os.pipe(), os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._calls)
            _serve(function, calls, results)
        os.close(calls)
        os.close(results)

    def call(self, index: int) -> str:
        """The result of the function, or the text of its exception."""
        os.write(self._calls, index.to_bytes(4, "big"))
        size = int.from_bytes(os.read(self._results, 4), "big")
        text = b""
        while len(text) < size:
            text += os.read(self._results, size - len(text))
        return text.decode()

    def close(self) -> None:
        os.close(self._calls)
        os.close(self._results)
        os.waitpid(self._child, 0)


def _serve(function: Callable[[int], str], calls: int, results: int) -> None:
    try:
        os.setgroups([])
        os.setgid(OTHER_USER)
        os.setuid(OTHER_USER)
        while index := os.read(calls, 4):
            try:
                text = function(int.from_bytes(index, "big")).encode()
            except BaseException:
                text = traceback.format_exc().encode()
            os.write(results, len(text).to_bytes(4, "big") + text)
    finally:
        os._exit(0)
