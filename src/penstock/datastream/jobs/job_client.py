"""The client of a running job."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Literal, Protocol

from penstock.datastream.jobs.future import CompletableFuture
from penstock.datastream.jobs.job_result import JobExecutionResult, JobID
from penstock.datastream.jobs.job_status import JobStatus


class Job(Protocol):
    """A job that an engine runs in the background."""

    finished: Future[JobExecutionResult]

    @property
    def job_id(self) -> str: ...

    def status(self) -> JobStatus: ...

    def cancel(self) -> None:
        """Cancels the job and waits until it has ended."""
        ...

    def accumulators(self) -> dict[str, Any]: ...

    def savepoint(self, directory: str = "", end: Literal["", "stop", "drain"] = "") -> str:
        """Takes a savepoint, waits until it is complete, and returns its path."""
        ...


class JobClient:
    """Monitors and controls a job that was started with `execute_async`. As in PyFlink, methods return futures."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        """Returns the id of the job."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Returns the status of the job."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture[None]:
        """Cancels the job. The future is completed when all its tasks have ended.

        The checkpoint is retained, unless the retention mode says otherwise.
        """
        return CompletableFuture.running(self._job.cancel, "penstock-cancel")

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Returns the current accumulators: records by operator, and the counters of user functions."""
        return CompletableFuture.completed(self._job.accumulators())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Returns the result of the job. The future raises the error if the job failed, or JOB_CANCELED."""
        return CompletableFuture.following(self._job.finished)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Takes a savepoint while the job keeps running. Returns its path, a new folder in the directory."""
        return CompletableFuture.running(
            lambda: self._job.savepoint(savepoint_directory or ""), "penstock-trigger-savepoint"
        )

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Stops the job with a savepoint and returns its path.

        With `advance_to_end_of_event_time`, all event-time timers and windows fire first (drain).
        """
        end: Literal["stop", "drain"] = "drain" if advance_to_end_of_event_time else "stop"
        return CompletableFuture.running(
            lambda: self._job.savepoint(savepoint_directory or "", end), "penstock-stop-with-savepoint"
        )
