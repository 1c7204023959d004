"""Handles Ctrl-C in two steps. The first lets the running batch finish, the second cancels. SIGTERM and SIGHUP do the same."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from penstock.cli.run.watcher import Watcher
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import Progress
from penstock.jobs.run.listener import Listener, add_listener
from penstock.jobs.run.run import active_runs

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptHandler(Listener):
    """Stops the jobs of this process on the first signal, and interrupts the program on the second."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.signal: int | None = None  # the last signal
        self._raised = False
        # nohup starts a program with SIGHUP ignored, a script with & starts it with SIGINT ignored. They stay ignored.
        self._ignored = frozenset(n for n in _SIGNALS if signal.getsignal(n) is signal.SIG_IGN)

    @property
    def exit_code(self) -> int:
        return 128 + (self.signal or signal.SIGINT)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        before, self.signal = self.signal, number
        active = active_runs()
        if before is not None or not active:
            self._raised = True
            raise KeyboardInterrupt
        again = "press Ctrl-C" if number == signal.SIGINT else f"send {signal.Signals(number).name}"
        self._watcher.print_line(f"penstock: stopping after the running batch; {again} again to cancel it")
        for run in active:
            run.request_end("stop")

    def install(self) -> None:
        """Registers the signal handler. Python allows this in the main thread only."""
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN if number in self._ignored else self.handle)

    def on_created(self, job: JobEntry) -> None:
        """Registers the handler again, because a new Spark session replaces the handler for Ctrl-C."""
        self.install()

    def on_ended(self, job: JobEntry, progress: Progress) -> None:
        """Interrupts the program after all its jobs have stopped, so that it does not start others."""
        if self.signal is not None and not self._raised and not active_runs():
            os.kill(os.getpid(), self.signal)


@contextmanager
def handle_interrupts(watcher: Watcher) -> Iterator[InterruptHandler]:
    """Inside the block, signals stop jobs before they stop the program."""
    handler = InterruptHandler(watcher)
    if threading.current_thread() is not threading.main_thread():
        yield handler
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    handler.install()
    try:
        with add_listener(handler):
            yield handler
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
