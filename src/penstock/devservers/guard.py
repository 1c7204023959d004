"""Runs a server that ends with the process that asked for it, however that one ends.

    python guard.py LOG COMMAND...

Prints the server's process id. Standard input is a pipe that the asking process holds: when that process dies, also by
SIGKILL, the system closes the pipe, and the server is ended. A file of its own, run without this package, so that it
starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

_PATIENCE = 10.0


def main(log: str, command: list[str]) -> int:
    """Waits until the server ends, and gives its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the asking process, which then ends or goes on
    with open(log, "ab") as file:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    threading.Thread(target=_end_with_the_pipe, args=(server,), daemon=True).start()
    print(server.pid, flush=True)
    return server.wait()


def _end_with_the_pipe(server: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    server.terminate()
    try:
        server.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
