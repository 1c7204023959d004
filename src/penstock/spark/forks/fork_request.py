"""A request of a client of the fork server: the module to run, and what the process that runs it gets."""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import sys
from collections.abc import Mapping

_TIMEOUT = 10.0  # seconds; a client sends its request at once


class ForkRequest:
    """A module to run, and the streams, environment and working folder of the process that runs it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(_TIMEOUT)
        head, self.streams, _, _ = socket.recv_fds(connection, 4, 3)
        (size,) = struct.unpack("!I", head)
        content = json.loads(connection.recv(size, socket.MSG_WAITALL))
        connection.settimeout(None)
        _, self.module, *self.arguments = content["command"]
        self.environment: dict[str, str] = content["environment"]
        self.folder: str = content["folder"]

    def close(self) -> None:
        for stream in self.streams:
            os.close(stream)
        self.streams = []

    def become(self) -> None:
        """Sets the streams, environment, working folder and path of this forked process to those of the request."""
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
        self.close()
        become(self.environment, self.folder)

    def become_worker(self) -> None:
        """The same for a worker. Its standard input is empty, because that of the daemon belongs to the daemon."""
        os.close(self.streams[0])
        self.streams[0] = os.open(os.devnull, os.O_RDONLY)
        self.become()


def become(environment: Mapping[str, str], folder: str) -> None:
    """Sets the environment, working folder and path of this forked process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(line_buffering=True, write_through=bool(os.environ.get("PYTHONUNBUFFERED")))
    paths = [folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = [*dict.fromkeys(paths), *(path for path in sys.path if path not in paths)]
