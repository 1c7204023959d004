"""Ctrl-C in two steps: the first lets the running batch finish, the second cancels. SIGTERM does the same."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from penstock.cli.watcher import Watcher
from penstock.jobs.entry import JobEntry
from penstock.jobs.listener import Listener, listening
from penstock.jobs.progress import Progress
from penstock.jobs.run import runs

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts(Listener):
    """Knows whether somebody interrupted the program, and how."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.signal: int | None = None
        self._raised = False

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT)

    def hear(self, number: int, frame: FrameType | None) -> None:
        """What the signals do."""
        before, self.signal = self.signal, number
        active = runs()
        if before is not None or not active:
            self._raised = True
            raise KeyboardInterrupt
        self._watcher.say("penstock: stopping after the running batch; press Ctrl-C again to cancel it")
        for run in active:
            run.end_by("stop")

    def install(self) -> None:
        """Takes the signals. Only a main thread can."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                signal.signal(number, self.hear)

    def created(self, job: JobEntry) -> None:
        """A Spark session that was just made has taken Ctrl-C for itself."""
        self.install()

    def ended(self, job: JobEntry, progress: Progress) -> None:
        """The jobs have stopped: now the program is interrupted, so that it starts no others."""
        if self.signal is not None and not self._raised and not runs():
            os.kill(os.getpid(), self.signal)


@contextmanager
def interrupts(watcher: Watcher) -> Iterator[Interrupts]:
    """Inside, signals stop jobs before they stop the program."""
    found = Interrupts(watcher)
    if threading.current_thread() is not threading.main_thread():
        yield found
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    found.install()
    try:
        with listening(found):
            yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
