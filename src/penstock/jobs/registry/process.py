"""Tells processes apart: an id alone may belong to another process by now, so its start counts too."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import msgspec


class ProcessName(msgspec.Struct, frozen=True):
    """A process that nothing else can be mistaken for: machine, id, and when it started, as the system words it."""

    host: str
    pid: int
    started: str

    @property
    def is_here(self) -> bool:
        """Whether the process ran, or runs, on this machine."""
        return self.host == socket.gethostname()

    def is_alive(self) -> bool:
        """Whether the process still runs. Only its own machine can tell."""
        return bool(self.started) and start_of(self.pid) == self.started


def this_process() -> ProcessName:
    """The name of the calling process.

    >>> this_process().is_alive()
    True
    """
    return ProcessName(socket.gethostname(), os.getpid(), start_of(os.getpid()))


def start_of(pid: int) -> str:
    """When a process started; empty when there is none. A zombie has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return "" if Path("/proc/self/stat").exists() else _asked(pid)
    except OSError:
        return ""
    state, *rest = stat.rsplit(")", 1)[1].split()  # the name before it may hold spaces
    return "" if state in "ZX" else f"{boot_id()}/{rest[18]}"  # ticks since the machine came up


def boot_id() -> str:
    """Changes when the machine starts anew; empty where that cannot be seen."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _asked(pid: int) -> str:
    """The same where there is no /proc."""
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = answer.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()
