"""The Python executable of Spark's helper processes: asks the fork server for a process instead of starting an interpreter.

A shell script in the folder of the fork server runs this file as `python -I -S fork_client.py SOCKET PYTHON ARGUMENTS`, so that
it starts quickly. It passes its standard streams, environment and working folder to the fork server, forwards SIGTERM, and
ends with the exit code of the forked process. If there is no server, it becomes a Python interpreter.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from types import FrameType


def main(arguments: list[str]) -> int:
    address, python, *command = arguments
    connection = None
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until it can be forwarded
    if len(command) >= 2 and command[0] == "-m":
        connection = _request_process(address, command)
    if connection is None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        os.execv(python, [python, *command])
    return _await_end(connection)


def _request_process(address: str, command: list[str]) -> socket.socket | None:
    """Requests a process that runs a module. Returns None if the server does not answer."""
    request = json.dumps({"command": command, "environment": dict(os.environ), "folder": os.getcwd()}).encode()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address)
        socket.send_fds(connection, [struct.pack("!I", len(request))], [0, 1, 2])
        connection.sendall(request)
        if _receive(connection) is None:
            return None
    except OSError:
        return None
    return connection


def _await_end(connection: socket.socket) -> int:
    """Waits until the forked process has ended. Returns its exit code as a shell does."""

    def forward(number: int, frame: FrameType | None) -> None:
        connection.send(bytes([number]))

    signal.signal(signal.SIGTERM, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # as Spark's daemon: signals of the terminal do not end it
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the forked process has them
        os.dup2(nothing, stream)
    code = _receive(connection)
    if code is None:
        return 1
    return code if code >= 0 else 128 - code


def _receive(connection: socket.socket) -> int | None:
    """Receives a number of the server; None if the server has ended."""
    received = connection.recv(4, socket.MSG_WAITALL)
    if len(received) < 4:
        return None
    (number,) = struct.unpack("!i", received)
    return int(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
