"""Removes the sockets of ended tasks from the list of files that Java deletes when it exits.

Spark creates a socket file for each stateful task and deletes it when the task ends, but Java remembers the path until it exits.
A job that runs for weeks would fill the memory of the JVM with paths.
"""

from __future__ import annotations

import logging
import os
import re
import time
from typing import Any

from pyspark.sql import SparkSession

_SOCKET = re.compile(r"/\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.sock$")
_INTERVAL = 600.0  # seconds
_log = logging.getLogger("penstock.spark")


class DeletionsAtExit:
    """The list of the JVM of a session. Workers of a local master run in this JVM, those of a cluster use no socket files."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm if (session.sparkContext.master or "").startswith("local") else None
        self._next = time.monotonic() + _INTERVAL

    def forget_sockets_sometimes(self) -> None:
        """Calls `forget_sockets` if the last call was more than ten minutes ago."""
        if self._jvm is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + _INTERVAL
            try:
                self.forget_sockets()
            except Exception as error:  # another version of Java: its list only grows
                self._jvm = None
                _log.debug("The list of files that Java deletes at exit cannot be changed: %s", error)

    def forget_sockets(self) -> None:
        """Replaces the list by one without sockets that have been deleted.

        A path that is added meanwhile may be missing afterwards. It is in a folder that this process removes at exit.
        """
        field = self._field()
        paths = self._read(field)
        kept = self._jvm.java.util.LinkedHashSet()
        for path in paths:
            if not _SOCKET.search(path) or os.path.exists(path):
                kept.add(path)
        field.set(None, kept)

    def paths(self) -> list[str]:
        """Returns the files that Java will delete."""
        return self._read(self._field())

    def _field(self) -> Any:
        field = self._jvm.java.lang.Class.forName("java.io.DeleteOnExitHook").getDeclaredField("files")
        field.setAccessible(True)
        return field

    def _read(self, field: Any) -> list[str]:
        joined: str = self._jvm.java.lang.String.join("\n", field.get(None))  # one call instead of one per path
        return [path for path in joined.split("\n") if path]
