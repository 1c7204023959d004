"""The job that a program in the background runs."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import JobError
from penstock.jobs.actions.start import StartedProgram
from penstock.jobs.registry.entry import JobEntry

_LAST_LINES = 15


def started_job(started: StartedProgram) -> JobEntry:
    """Returns the job. Raises JobError if the program ended without one, or the job has failed already."""
    entry = started.job
    if entry is None:
        lines = Path(started.log).read_text(errors="replace").splitlines()
        raise JobError("SQL_JOB", "\n".join(["The job did not start.", *lines[-_LAST_LINES:]]))
    if entry.status == "failed" and entry.error is not None:
        raise JobError(entry.error.code, entry.error.text)
    return entry
