"""How long threads have computed, and how long they were ready to compute but had to wait for a CPU.

A machine with too few CPUs slows everything down, also threads that read and write storage. Load averages do not show that:
on Linux they include threads that wait for a disk. The scheduler of Linux counts the two separately for each thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_NANOSECONDS = 1e9


class CpuTime(NamedTuple):
    """Seconds of one or more threads. Both are 0 if the system does not count them.

    >>> CpuTime(1.0, 3.0).wait_share
    0.75
    """

    running: float = 0.0
    waiting: float = 0.0  # ready to run, while other threads used all CPUs

    @property
    def wait_share(self) -> float:
        """The share of the time in which the threads were ready to run that they waited for a CPU."""
        return self.waiting / (self.running + self.waiting) if self.waiting > 0 else 0.0

    def since(self, before: CpuTime) -> CpuTime:
        """The time after an earlier measurement. Threads that have ended since are not counted."""
        return CpuTime(max(0.0, self.running - before.running), max(0.0, self.waiting - before.waiting))


def thread_cpu_time() -> CpuTime:
    """The CPU time of the calling thread."""
    return _sum([Path("/proc/thread-self/schedstat")])


def process_cpu_time(pid: int) -> CpuTime:
    """The CPU time of all threads of a process on this machine."""
    return _sum(Path(f"/proc/{pid}/task").glob("*/schedstat"))


def _sum(files: Iterable[Path]) -> CpuTime:
    running = waiting = 0
    try:
        for file in files:
            try:
                fields = file.read_text().split()
            except OSError:  # the thread has ended
                continue
            running, waiting = running + int(fields[0]), waiting + int(fields[1])
    except (OSError, ValueError, IndexError):
        return CpuTime()
    return CpuTime(running / _NANOSECONDS, waiting / _NANOSECONDS)
