"""When Python's cycle collector runs in a worker of Spark.

Spark's daemon runs it after each task. Modules and programs alone are a hundred thousand objects, which takes 15 ms or more,
several times per batch. In a worker of the fork server, a collection that marks the objects of modules would also copy their
memory pages, which all workers share.
"""

from __future__ import annotations

import gc
import time

_INTERVAL = 30.0  # seconds


class Garbage:
    """The garbage of this process."""

    def __init__(self) -> None:
        self._last: float | None = None  # the time of the first task, because a worker is forked long after the import
        self._forked = False

    def begin_forked_worker(self) -> None:
        """Called in a worker of the fork server. The modules were frozen before it was forked, and stay frozen."""
        self._forked = True

    def end_task(self) -> None:
        """Called before a task ends.

        If Spark is about to run the collector, objects are frozen, so that it has nothing to do. From time to time they are
        unfrozen, so that cycles that have become garbage since are found.
        """
        if self._forked:
            return
        if self._is_due():
            gc.unfreeze()
        else:
            gc.freeze()

    def after_task(self) -> None:
        """Called after each task of a worker of the fork server. Runs the collector from time to time."""
        if self._is_due():
            gc.collect()

    def collect_all(self) -> None:
        """Frees objects that refer to each other, also those of earlier tasks."""
        if not self._forked:
            gc.unfreeze()
        gc.collect()

    def _is_due(self) -> bool:
        now = time.monotonic()
        if self._last is None:
            self._last = now
        due = now - self._last >= _INTERVAL
        if due:
            self._last = now
        return due


garbage = Garbage()
