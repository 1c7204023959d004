"""A program's hold on a job that runs beside it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Literal, Protocol

from penstock.datastream.future import CompletableFuture
from penstock.datastream.job_result import JobExecutionResult, JobID
from penstock.datastream.job_status import JobStatus


class Job(Protocol):
    """A job that an engine runs in the background."""

    finished: Future[JobExecutionResult]

    @property
    def job_id(self) -> str: ...

    def status(self) -> JobStatus: ...

    def cancel(self) -> None:
        """Ends the job and waits until it has ended."""
        ...

    def accumulators(self) -> dict[str, Any]: ...

    def savepoint(self, directory: str = "", end: Literal["", "stop", "drain"] = "") -> str:
        """Takes a savepoint and waits until it is there; gives its path."""
        ...


class JobClient:
    """What `execute_async` gives: asks and ends one job. All but its id comes as a future, as in PyFlink."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        """The job's id."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """A future of the job's status."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture[None]:
        """Ends the job; the future is done when no task of it runs any more. Its checkpoint stays, unless retention says no."""
        return CompletableFuture.running(self._job.cancel, "penstock-cancel")

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """What was counted so far: records by operator, and the functions' own counters."""
        return CompletableFuture.completed(self._job.accumulators())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """How the job ends; raises what made it fail, or JOB_CANCELED."""
        return CompletableFuture.following(self._job.finished)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Takes a savepoint while the job runs on; the future gives its path, a new folder in the directory."""
        return CompletableFuture.running(
            lambda: self._job.savepoint(savepoint_directory or ""), "penstock-trigger-savepoint"
        )

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Ends the job with a savepoint; with `advance_to_end_of_event_time` all timers and windows fire before (drain)."""
        end: Literal["stop", "drain"] = "drain" if advance_to_end_of_event_time else "stop"
        return CompletableFuture.running(
            lambda: self._job.savepoint(savepoint_directory or "", end), "penstock-stop-with-savepoint"
        )
