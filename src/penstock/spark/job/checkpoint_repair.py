"""Repairs a damaged checkpoint before an attempt is started on it."""

from __future__ import annotations

from collections.abc import Callable

from penstock.spark.checkpoint.repair import repair_checkpoint
from penstock.spark.checkpoint.storage_watch import StorageWatch
from penstock.spark.job.attempts import Attempts

_MAX_REPAIRS = 3  # per run of a job


class CheckpointRepair:
    """Counts and reports the repairs of one run."""

    def __init__(self, folder: str, attempts: Attempts, storage: StorageWatch) -> None:
        self._folder = folder
        self._attempts = attempts
        self._storage = storage
        self._repairs = 0
        self.report: Callable[[str], None] = lambda message: None

    def before_resume(self) -> None:
        """Repairs what can be found damaged without reading all state files."""
        self._repair(deep=False)

    def restart(self, failure: Exception) -> bool:
        """Repairs the checkpoint and starts the next attempt before the damage, if a damaged file ended the query.

        Returns False if the query did not end because of a damaged file, if no damage is found, or if the checkpoint was
        repaired too often.
        """
        if self._storage.damage_in(failure) is None or self._repairs >= _MAX_REPAIRS:
            return False
        if not self._attempts.stop() or not self._repair(deep=True):
            return False
        self._attempts.start_next()
        return True

    def _repair(self, deep: bool) -> bool:
        result = repair_checkpoint(self._folder, deep)
        if result is None:
            return False
        self._repairs += 1
        self.report(result.message)
        return True
