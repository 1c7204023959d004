"""Restarts a job after a failure of its checkpoint storage, as soon as the storage works again."""

from __future__ import annotations

from collections.abc import Callable

from penstock.config import Configuration
from penstock.datastream.jobs.job_status import JobStatus
from penstock.errors import JobError
from penstock.jobs.run.restarts import FailureTolerance
from penstock.spark.checkpoint.storage_watch import StorageWatch
from penstock.spark.job.attempts import Attempts


class StorageRecovery:
    """Waits for checkpoint storage. A storage failure does not count as a failure of the job while it is tolerated."""

    def __init__(
        self,
        storage: StorageWatch,
        attempts: Attempts,
        configuration: Configuration,
        *,
        is_over: Callable[[], bool],
        set_status: Callable[[JobStatus], None],
    ) -> None:
        self._storage = storage
        self._attempts = attempts
        self._tolerance = FailureTolerance(configuration)
        self._is_over = is_over
        self._set_status = set_status

    def failure_in(self, *errors: BaseException) -> str | None:
        """The message of the storage failure that caused one of the errors; None if storage did not fail."""
        return next((found for error in errors if (found := self._storage.storage_failure_in(error))), None)

    def count_failure(self, failure: str, last_batch: int) -> JobError | None:
        """The error to fail with if more checkpoints after this batch have failed than the job tolerates; otherwise None."""
        return None if self._tolerance.tolerates(last_batch) else self._tolerance.error(failure)

    def restart(self, failure: str) -> None:
        """Waits until storage works or the job is over, then starts the next attempt."""
        message: str | None = failure
        while message is not None:
            message = self._restart_once(message)

    def _restart_once(self, failure: str) -> str | None:
        """Returns the next storage failure; None if the attempt was started or the job is over."""
        self._set_status(JobStatus.RESTARTING)
        while not self._attempts.stop() and not self._is_over():  # a storage call may hang
            pass
        if not self._storage.wait(failure, self._is_over):
            return None
        try:
            self._attempts.start_next()
        except Exception as error:
            message = self._storage.storage_failure_in(error)
            if message is None:
                raise
            return message
        return None
