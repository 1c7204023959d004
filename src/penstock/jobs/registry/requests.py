"""How one process asks a job of another one to end, or to take less: a file in the job's folder, which the job looks for.

A file needs no port and no thread that answers; a job that is busy finds it a moment later, and one that died never does,
which the asking side can tell from the entry.
"""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from penstock.errors import JobError
from penstock.jobs.entry import JobEntry, Status
from penstock.jobs.registry import Registry
from penstock.jobs.whole_file import write_whole

Action = Literal["stop", "drain", "cancel"]
_POLL = 0.1


class Request(msgspec.Struct, frozen=True):
    """What is asked of a job."""

    action: Action
    asked: float


def ask(registry: Registry, entry: JobEntry, action: Action) -> None:
    """Leaves a request; refuses at once when nobody would read it."""
    must_run(entry, _verb(action))
    file = registry.job_folder(entry.id) / "request.json"
    write_whole(file, msgspec.json.encode(Request(action, time.time())))


def ask_limit(registry: Registry, entry: JobEntry, records: int) -> None:
    """Leaves a request: batches from now on take at most so many records of each source."""
    must_run(entry, "limit")
    if entry.batch:
        raise JobError("JOB_IN_BATCH_MODE", f"Job {entry.id} runs in batch mode: all of its input is one batch.")
    write_whole(registry.job_folder(entry.id) / "limit.json", msgspec.json.encode(records))


def limit_asked(registry: Registry, job_id: str) -> int | None:
    """The limit that was asked for last, if there was one."""
    try:
        return msgspec.json.decode((registry.job_folder(job_id) / "limit.json").read_bytes(), type=int)
    except (OSError, msgspec.DecodeError):
        return None


def must_run(entry: JobEntry, verb: str) -> None:
    """Refuses a job that nobody can ask anything any more."""
    status = entry.status_now()
    if status == "lost":
        raise JobError(
            "JOB_LOST",
            f"Job {entry.id} ('{entry.name}') has no process any more: {entry.process.pid} on {entry.process.host} is gone. "
            + (
                "It ran in batch mode, so nothing of it was committed: start it again."
                if entry.batch
                else f"Its state is as of its last committed batch; go on with --resume {entry.checkpoint}"
            ),
        )
    if entry.is_over:
        raise JobError("JOB_OVER", f"Job {entry.id} ('{entry.name}') is {status} already; there is nothing to {verb}.")


def _verb(action: Action) -> str:
    return "cancel" if action == "cancel" else "stop"


def asked(registry: Registry, job_id: str) -> Request | None:
    """What is asked of a job now."""
    try:
        data = (registry.job_folder(job_id) / "request.json").read_bytes()
        return msgspec.json.decode(data, type=Request)
    except (OSError, msgspec.DecodeError):
        return None


def forget(registry: Registry, job_id: str) -> None:
    """A new run does not hear what its predecessor was asked."""
    for name in ("request.json", "limit.json"):
        (registry.job_folder(job_id) / name).unlink(missing_ok=True)


def wait_until_over(registry: Registry, job_id: str, seconds: float) -> Status:
    """The status of a job once it is over, or when the time is up."""
    deadline = time.monotonic() + seconds
    while True:
        entry = registry.entry(job_id)
        status: Status = "lost" if entry is None else entry.status_now()
        if entry is None or entry.is_over or time.monotonic() > deadline:
            return status
        time.sleep(_POLL)
