"""Identifies processes. A process id alone is not enough, because the system reuses it, so the start time is included."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import msgspec


class ProcessId(msgspec.Struct, frozen=True):
    """Identifies one process on one machine."""

    host: str
    pid: int
    started: str  # the start time as the system reports it

    @property
    def is_here(self) -> bool:
        """Whether the process belongs to this machine."""
        return self.host == socket.gethostname()

    def is_alive(self) -> bool:
        """Whether the process still runs. Only valid on the machine of the process."""
        return bool(self.started) and process_start_time(self.pid) == self.started


def this_process() -> ProcessId:
    """Identifies the calling process.

    >>> this_process().is_alive()
    True
    """
    return ProcessId(socket.gethostname(), os.getpid(), process_start_time(os.getpid()))


def process_start_time(pid: int) -> str:
    """The start time of a process; empty if there is no such process. A zombie counts as ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return "" if Path("/proc/self/stat").exists() else _ps_start_time(pid)
    except OSError:
        return ""
    state, *rest = stat.rsplit(")", 1)[1].split()  # the process name before it may contain spaces
    return "" if state in "ZX" else f"{boot_id()}/{rest[18]}"  # clock ticks since the machine was booted


def boot_id() -> str:
    """An id that changes with every boot of the machine; empty if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _ps_start_time(pid: int) -> str:
    """The start time on systems without /proc."""
    output = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = output.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()
