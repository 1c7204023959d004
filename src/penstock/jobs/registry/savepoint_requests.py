"""Requests for savepoints of a job in another process, and their progress: small files in the folder of the job.

Each request is a separate file, so that several users can request savepoints at the same time. The job takes one after the other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Literal

import msgspec

from penstock.atomic_file import remove_file, write_atomic
from penstock.errors import CheckpointError, JobError
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.requests import require_running

AfterSavepoint = Literal["", "stop", "drain"]
_FOLDER = "savepoints"
_POLL = 0.1
_RETAINED = 100  # finished savepoints of a job whose progress files are retained


class SavepointRequest(msgspec.Struct, frozen=True, rename={"requested_at": "asked"}):
    """A request for a savepoint."""

    id: str
    directory: str  # the savepoint becomes a new folder in it; empty: the default folder of the job
    end: AfterSavepoint = ""  # how the job ends after the savepoint; empty: it continues
    requested_at: float = 0.0


class SavepointProgress(msgspec.Struct, rename={"requested_at": "asked"}):
    """The progress of a savepoint, and its result at the end."""

    id: str
    status: Literal["asked", "taking", "writing", "done", "failed"] = "asked"
    path: str = ""
    end: AfterSavepoint = ""
    batch: int = -1
    requested_at: float = 0.0
    seconds: float = 0.0
    parts: int = 0
    written: int = 0  # completed parts
    bytes: int = 0  # size of the completed parts
    entries: int = 0
    code: str = ""  # error code
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "failed")


def new_savepoint_request(directory: str = "", end: AfterSavepoint = "") -> SavepointRequest:
    return SavepointRequest(uuid.uuid4().hex[:16], directory, end, time.time())


def request_savepoint(
    registry: Registry, entry: JobEntry, directory: str = "", end: AfterSavepoint = ""
) -> SavepointRequest:
    """Writes a request for a savepoint. Raises JobError if the job has ended or runs in batch mode."""
    require_running(entry, "save")
    if entry.batch:
        raise JobError(
            "JOB_IN_BATCH_MODE",
            f"Job {entry.id} runs in batch mode. All of its input is one batch, so it has no savepoints.",
        )
    request = new_savepoint_request(directory, end)
    write_atomic(
        registry.job_folder(entry.id) / f"savepoint-{request.id}.json", msgspec.json.encode(request), durable=False
    )
    return request


def take_savepoint_requests(registry: Registry, job_id: str) -> list[SavepointRequest]:
    """Reads and removes all requests, oldest first."""
    found = []
    for file in registry.job_folder(job_id).glob("savepoint-*.json"):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=SavepointRequest))
        except (OSError, msgspec.DecodeError):
            continue
        remove_file(file)
    return sorted(found, key=lambda request: request.requested_at)


def clear_savepoint_requests(registry: Registry, job_id: str) -> None:
    """Removes the requests of a previous run."""
    for file in registry.job_folder(job_id).glob("savepoint-*.json"):
        remove_file(file)


def write_savepoint_progress(registry: Registry, job_id: str, progress: SavepointProgress) -> None:
    """Writes the progress of a savepoint. Removes the oldest progress files when a savepoint is complete."""
    folder = registry.job_folder(job_id) / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / f"{progress.id}.json", msgspec.json.encode(progress), durable=False)
    if progress.is_over:
        for old in sorted(folder.glob("*.json"), key=lambda f: f.stat().st_mtime)[:-_RETAINED]:
            remove_file(old)


def read_savepoint_progress(registry: Registry, job_id: str, savepoint: str) -> SavepointProgress | None:
    try:
        data = (registry.job_folder(job_id) / _FOLDER / f"{savepoint}.json").read_bytes()
        return msgspec.json.decode(data, type=SavepointProgress)
    except (OSError, msgspec.DecodeError):
        return None


def list_savepoint_progress(registry: Registry, job_id: str) -> list[SavepointProgress]:
    """The savepoints of a job, oldest first."""
    ids = [file.stem for file in (registry.job_folder(job_id) / _FOLDER).glob("*.json")]
    found = (read_savepoint_progress(registry, job_id, savepoint) for savepoint in ids)
    return sorted((a for a in found if a is not None), key=lambda progress: progress.requested_at)


def wait_for_savepoint(
    registry: Registry,
    entry: JobEntry,
    request: SavepointRequest,
    seconds: float,
    on_progress: Callable[[SavepointProgress], None] = lambda progress: None,
) -> SavepointProgress:
    """Waits until a savepoint is complete and returns its result. Raises CheckpointError if it fails or the job ends first."""
    deadline = time.monotonic() + seconds
    while True:
        ended = (
            registry.entry(entry.id) or entry
        ).is_over  # checked first, because the job may complete it and then end
        progress = read_savepoint_progress(registry, entry.id, request.id)
        if progress is not None:
            on_progress(progress)
            if progress.status == "done":
                return progress
            if progress.status == "failed":
                raise CheckpointError(progress.code, progress.error)
        if ended:
            raise CheckpointError(
                "SAVEPOINT_JOB_ENDED",
                f"Job {entry.id} ended before the savepoint was complete. Its files were removed.",
            )
        if time.monotonic() > deadline:
            raise CheckpointError(
                "SAVEPOINT_TIMEOUT",
                f"The savepoint of job {entry.id} is not complete after {seconds:.0f} s. The job continues to write it, and "
                "`penstock savepoints list` shows it when it is complete. Wait longer with --wait.",
            )
        time.sleep(_POLL)
