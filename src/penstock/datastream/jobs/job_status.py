"""The status of a job."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """The status of a job, as in Flink. SUSPENDED and RECONCILING do not occur.

    >>> JobStatus.RUNNING.is_terminal_state(), JobStatus.FINISHED.is_globally_terminal_state()
    (False, True)
    """

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Returns whether the job has ended."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Returns whether the job has ended or is suspended."""
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED
