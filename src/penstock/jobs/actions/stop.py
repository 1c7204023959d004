"""Stops, drains or cancels a running job and waits until it has ended."""

from __future__ import annotations

import msgspec

from penstock.jobs.registry.entry import JobEntry, Status
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.requests import EndAction, request_end, wait_for_end
from penstock.jobs.registry.resume_command import resume_command


class JobEnd(msgspec.Struct, frozen=True):
    """The result of a request to end a job."""

    job_id: str
    status: Status
    ended: bool  # False: the job was still running when the wait time was over
    resume_from: str = ""  # the checkpoint that a new run can resume; empty: there is none to resume
    resume_command: str = ""  # the command line that resumes it; empty: the program was not run from a file


def stop_job(registry: Registry, entry: JobEntry, *, drain: bool = False, wait: float = 60.0) -> JobEnd:
    """Lets a job finish its running batch and end, and waits up to `wait` seconds for it.

    With `drain`, the job first emits the final watermark, so that all timers fire. It cannot be resumed afterwards.
    """
    return _end_job(registry, entry, "drain" if drain else "stop", wait)


def cancel_job(registry: Registry, entry: JobEntry, *, wait: float = 60.0) -> JobEnd:
    """Ends a job immediately and waits up to `wait` seconds for it. Its state is that of the last committed batch."""
    return _end_job(registry, entry, "cancel", wait)


def _end_job(registry: Registry, entry: JobEntry, action: EndAction, wait: float) -> JobEnd:
    request_end(registry, entry, action)
    status = wait_for_end(registry, entry.id, wait)
    last = registry.entry(entry.id) or entry
    if action == "drain" or last.batch:
        return JobEnd(entry.id, status, last.is_over)
    return JobEnd(entry.id, status, last.is_over, last.checkpoint, resume_command(last))
