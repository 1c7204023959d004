"""Runs a server that ends when its parent process ends, for whatever reason.

    python guard.py LOG COMMAND...

Prints the process id of the server. Standard input is a pipe of the parent process. When the parent ends, also by SIGKILL, the
system closes the pipe, and the server is terminated. This file imports nothing of the package, so that it starts fast.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

_TERMINATE_TIMEOUT = 10.0  # seconds before a server that ignores SIGTERM is killed


def main(log: str, command: list[str]) -> int:
    """Runs the server until it ends, and returns its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    with open(log, "ab") as file:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    threading.Thread(target=_end_with_pipe, args=(server,), daemon=True).start()
    print(server.pid, flush=True)
    return server.wait()


def _end_with_pipe(server: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    server.terminate()
    try:
        server.wait(_TERMINATE_TIMEOUT)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
