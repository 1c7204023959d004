"""Lists jobs, and finds one with its progress."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.jobs.registry.entry import ENDED, JobEntry
from penstock.jobs.registry.progress import Progress
from penstock.jobs.registry.registry import Registry


class JobInfo(msgspec.Struct, frozen=True):
    """A job and its progress."""

    entry: JobEntry
    progress: Progress

    def as_dict(self) -> dict[str, Any]:
        """The job as JSON values, as `penstock info --json` prints it."""
        entry: dict[str, Any] = msgspec.to_builtins(self.entry)
        return {**entry, "status": self.entry.current_status(), "progress": msgspec.to_builtins(self.progress)}


def list_jobs(registry: Registry, *, running: bool = False, limit: int | None = None) -> list[JobInfo]:
    """Returns the newest jobs of a registry, newest first; with `running`, only those that have not ended."""
    entries = [entry for entry in registry.entries() if not running or entry.current_status() not in ENDED]
    return [_job_info(registry, entry) for entry in entries[:limit]]


def find_job(registry: Registry, name: str) -> JobInfo:
    """Returns the job with this name, id or beginning of an id. Raises JobError if there is not exactly one."""
    return _job_info(registry, registry.find(name))


def _job_info(registry: Registry, entry: JobEntry) -> JobInfo:
    return JobInfo(entry, registry.progress(entry.id) or Progress())
