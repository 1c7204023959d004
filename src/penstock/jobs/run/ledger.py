"""Combines the task reports and the Spark timings of checkpoints, and writes them to the history of the job."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.registry.history import CheckpointHistory

_TIMINGS_TIMEOUT = 10.0  # seconds that a checkpoint waits for the timings of Spark


class CheckpointLedger:
    """The checkpoints of one run."""

    def __init__(self, history: CheckpointHistory, interval: float) -> None:
        self._history = history
        self._run = 1
        self._interval = interval
        self._lock = threading.RLock()  # failures are reported by another thread
        self._pending: dict[int, tuple[float, CheckpointStats]] = {}  # without timings yet: time of arrival, checkpoint
        self._shown = False
        self._last = -1  # the last checkpoint that this run completed
        self.next = 0  # the checkpoint in progress, or the next one
        self._tasks = 0

    def begin(self, run: int) -> None:
        """Begins the run with this number. Checkpoint numbers continue those of earlier runs."""
        self._run = run
        completed = [c.id for c in self._history.latest() if c.status == "completed"] if run > 1 else []
        self.next = max(completed, default=-1) + 1
        self._history.write_current(None)

    @property
    def has_pending(self) -> bool:
        """Whether a checkpoint waits for its timings."""
        return bool(self._pending)

    def add(self, new: list[CheckpointStats], timings: Mapping[int, SparkTimings], now: float) -> list[CheckpointStats]:
        """Adds new checkpoints and timings. Returns the checkpoints that are complete now."""
        with self._lock:
            return self._add(new, timings, now)

    def _add(
        self, new: list[CheckpointStats], timings: Mapping[int, SparkTimings], now: float
    ) -> list[CheckpointStats]:
        for checkpoint in new:
            if checkpoint.id <= self._last:
                continue  # the batch was committed again
            checkpoint.run, checkpoint.interval = self._run, self._interval
            self._pending[checkpoint.id] = now, checkpoint
            self._last, self._tasks = checkpoint.id, checkpoint.all_tasks
            self.next = checkpoint.id + 1
        complete = []
        for number, (since, checkpoint) in list(self._pending.items()):
            known = timings.get(number)
            if known is not None:
                checkpoint.measured = known
            if known is not None or now - since > _TIMINGS_TIMEOUT:
                del self._pending[number]
                complete.append(checkpoint)
        self._history.add(complete)
        if new:
            self.show_in_progress(None)
        return complete

    def show_in_progress(self, current: CheckpointStats | None) -> None:
        """Writes the checkpoint in progress, or removes it with None."""
        if current is None and not self._shown:
            return
        if current is not None:
            current.run, current.interval = self._run, self._interval
            current.all_tasks = max(current.all_tasks, current.acknowledged_tasks) or self._tasks
        self._shown = current is not None
        self._history.write_current(current)

    def fail(self, reason: str, now: float, number: int | None = None) -> None:
        """Records a failed checkpoint, by default the one after the last completed one. Its batch may run again.

        `number` is the first batch that Spark has not committed. Checkpoints from it on are not complete, although the sinks
        may have committed their output.
        """
        with self._lock:
            if number is not None:
                self._pending = {n: pending for n, pending in self._pending.items() if n < number}
                self.next, self._last = number, min(self._last, number - 1)
            self.end()
            failed = CheckpointStats(
                self.next,
                "failed",
                reason,
                self._run,
                self._interval,
                all_tasks=self._tasks,
                measured=SparkTimings(now),
            )
            self._history.add([failed])

    def end(self) -> None:
        """Writes the checkpoints that still wait for timings. No more will arrive."""
        with self._lock:
            self._history.add([checkpoint for _, checkpoint in self._pending.values()])
            self._pending.clear()
            self.show_in_progress(None)
