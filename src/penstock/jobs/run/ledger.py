"""Brings together what the tasks and what Spark tell of a run's checkpoints, and writes the history."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock.jobs.checkpoints import Checkpoint, Measured
from penstock.jobs.history import History

_PATIENCE = 10.0  # seconds that a checkpoint waits for Spark's word


class Ledger:
    """The checkpoints of one run, as they come."""

    def __init__(self, history: History, interval: float) -> None:
        self._history = history
        self._run = 1
        self._interval = interval
        self._lock = threading.RLock()  # a failure is told by another thread
        self._waiting: dict[int, tuple[float, Checkpoint]] = {}  # for Spark's word, and since when
        self._shown = False
        self._last = -1  # the last one that this run completed
        self.next = 0  # the one that is in progress, or will be
        self._tasks = 0

    def begin(self, run: int) -> None:
        """The job's run of this number begins; it goes on from the checkpoints of the ones before it."""
        self._run = run
        completed = [c.id for c in self._history.latest() if c.status == "completed"] if run > 1 else []
        self.next = max(completed, default=-1) + 1
        self._history.put_current(None)

    @property
    def waiting(self) -> bool:
        """Whether Spark's word on a checkpoint is still to come."""
        return bool(self._waiting)

    def take(self, told: list[Checkpoint], measured: Mapping[int, Measured], now: float) -> list[Checkpoint]:
        """Takes in what is new; gives the checkpoints that all is known of."""
        with self._lock:
            return self._take(told, measured, now)

    def _take(self, told: list[Checkpoint], measured: Mapping[int, Measured], now: float) -> list[Checkpoint]:
        for checkpoint in told:
            if checkpoint.id <= self._last:
                continue  # a batch that was committed again
            checkpoint.run, checkpoint.interval = self._run, self._interval
            self._waiting[checkpoint.id] = now, checkpoint
            self._last, self._tasks = checkpoint.id, checkpoint.all_tasks
            self.next = checkpoint.id + 1
        whole = []
        for number, (since, checkpoint) in list(self._waiting.items()):
            known = measured.get(number)
            if known is not None:
                checkpoint.measured = known
            if known is not None or now - since > _PATIENCE:
                del self._waiting[number]
                whole.append(checkpoint)
        self._history.add(whole)
        if told:
            self.show(None)
        return whole

    def show(self, current: Checkpoint | None) -> None:
        """Tells of the checkpoint in progress."""
        if current is None and not self._shown:
            return
        if current is not None:
            current.run, current.interval = self._run, self._interval
            current.all_tasks = max(current.all_tasks, self._tasks)
        self._shown = current is not None
        self._history.put_current(current)

    def fail(self, reason: str, now: float, number: int | None = None) -> None:
        """A checkpoint failed, the one after the last completed one if nobody knows better; its batch may run again.

        A batch whose output the sinks took was told already. It is not completed while Spark has not committed it.
        """
        with self._lock:
            if number is not None:
                self._waiting = {n: waits for n, waits in self._waiting.items() if n < number}
                self.next, self._last = number, min(self._last, number - 1)
            self.end()
            failed = Checkpoint(
                self.next, "failed", reason, self._run, self._interval, all_tasks=self._tasks, measured=Measured(now)
            )
            self._history.add([failed])

    def end(self) -> None:
        """Nothing more is told."""
        with self._lock:
            self._history.add([checkpoint for _, checkpoint in self._waiting.values()])
            self._waiting.clear()
            self.show(None)
