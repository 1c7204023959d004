"""Requests to a job of another process to end or to read fewer records: files in the folder of the job, which it polls.

Files need no port and no thread that answers. A busy job finds the file a moment later. The entry of the job shows whether its
process still runs.
"""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from penstock.atomic_file import remove_file, write_atomic
from penstock.errors import JobError
from penstock.jobs.registry.entry import JobEntry, Status
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.resume_command import resume_command

EndAction = Literal["stop", "drain", "cancel"]
_POLL = 0.1


class EndRequest(msgspec.Struct, frozen=True, rename={"requested_at": "asked"}):
    """A request to end a job."""

    action: EndAction
    requested_at: float  # seconds since 1970


def request_end(registry: Registry, entry: JobEntry, action: EndAction) -> None:
    """Writes a request to end a job. Raises JobError if the job has ended."""
    require_running(entry, "cancel" if action == "cancel" else "stop")
    file = registry.job_folder(entry.id) / "request.json"
    write_atomic(file, msgspec.json.encode(EndRequest(action, time.time())), durable=False)


def request_limit(registry: Registry, entry: JobEntry, records: int) -> None:
    """Writes a request to read at most `records` records per source into each batch from now on."""
    require_running(entry, "limit")
    if entry.batch:
        raise JobError(
            "JOB_IN_BATCH_MODE",
            f"Job {entry.id} runs in batch mode. All of its input is one batch, so it has no limit.",
        )
    write_atomic(registry.job_folder(entry.id) / "limit.json", msgspec.json.encode(records), durable=False)


def read_limit(registry: Registry, job_id: str) -> int | None:
    """The last requested limit, if there is one."""
    try:
        return msgspec.json.decode((registry.job_folder(job_id) / "limit.json").read_bytes(), type=int)
    except (OSError, msgspec.DecodeError):
        return None


def require_running(entry: JobEntry, verb: str) -> None:
    """Raises JobError if a job has ended. `verb` names what cannot be done any more."""
    status = entry.current_status()
    if status == "lost":
        raise JobError(
            "JOB_LOST",
            f"The process of job {entry.id} ('{entry.name}') does not run any more: {entry.process.pid} on {entry.process.host}. "
            + (
                "It ran in batch mode, so nothing was committed. Start it again."
                if entry.batch
                else "Its state is that of the last committed batch. Resume it with: "
                + (resume_command(entry) or f"--resume {entry.checkpoint}")
            ),
        )
    if entry.is_over:
        raise JobError(
            "JOB_OVER", f"Job {entry.id} ('{entry.name}') has already ended ({status}). There is nothing to {verb}."
        )


def read_end_request(registry: Registry, job_id: str) -> EndRequest | None:
    """The request to end a job, if there is one."""
    try:
        data = (registry.job_folder(job_id) / "request.json").read_bytes()
        return msgspec.json.decode(data, type=EndRequest)
    except (OSError, msgspec.DecodeError):
        return None


def clear_requests(registry: Registry, job_id: str) -> None:
    """Removes the requests of a previous run."""
    for name in ("request.json", "limit.json"):
        remove_file(registry.job_folder(job_id) / name)


def wait_for_end(registry: Registry, job_id: str, seconds: float) -> Status:
    """Waits until a job has ended, at most `seconds`. Returns its status."""
    deadline = time.monotonic() + seconds
    while True:
        entry = registry.entry(job_id)
        status: Status = "lost" if entry is None else entry.current_status()
        if entry is None or entry.is_over or time.monotonic() > deadline:
            return status
        time.sleep(_POLL)
