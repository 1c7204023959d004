"""How one process asks a job of another one for a savepoint, and reads how far it is: small files in the job's folder.

A request is a file of its own, so that two people may ask at once; the job takes their savepoints one after the other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Literal

import msgspec

from penstock.errors import CheckpointError, JobError
from penstock.jobs.entry import JobEntry
from penstock.jobs.registry import Registry
from penstock.jobs.requests import must_run
from penstock.jobs.whole_file import write_whole

End = Literal["", "stop", "drain"]
_FOLDER = "savepoints"
_POLL = 0.1
_KEPT = 100  # answers of a job that are kept


class SavepointRequest(msgspec.Struct, frozen=True):
    """A savepoint that is asked for."""

    id: str
    directory: str  # the savepoint is a new folder in it; empty: the job's default
    end: End = ""  # whether the job is to end with it
    asked: float = 0.0


class SavepointAnswer(msgspec.Struct):
    """What became of a request so far."""

    id: str
    status: Literal["asked", "taking", "writing", "done", "failed"] = "asked"
    path: str = ""
    end: End = ""
    batch: int = -1
    asked: float = 0.0
    seconds: float = 0.0
    parts: int = 0
    written: int = 0  # parts that are there
    bytes: int = 0  # of their files
    entries: int = 0
    code: str = ""  # of the error
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "failed")


def new_request(directory: str = "", end: End = "") -> SavepointRequest:
    return SavepointRequest(uuid.uuid4().hex[:16], directory, end, time.time())


def ask_savepoint(registry: Registry, entry: JobEntry, directory: str = "", end: End = "") -> SavepointRequest:
    """Leaves a request; refuses at once when nobody would read it."""
    must_run(entry, "save")
    if entry.batch:
        raise JobError(
            "JOB_IN_BATCH_MODE",
            f"Job {entry.id} runs in batch mode: all of its input is one batch, so it has no savepoints.",
        )
    request = new_request(directory, end)
    write_whole(registry.job_folder(entry.id) / f"savepoint-{request.id}.json", msgspec.json.encode(request))
    return request


def take_requests(registry: Registry, job_id: str) -> list[SavepointRequest]:
    """Requests not taken yet, the oldest first."""
    found = []
    for file in registry.job_folder(job_id).glob("savepoint-*.json"):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=SavepointRequest))
        except (OSError, msgspec.DecodeError):
            continue
        file.unlink(missing_ok=True)
    return sorted(found, key=lambda request: request.asked)


def forget_requests(registry: Registry, job_id: str) -> None:
    """A new run does not hear what its predecessor was asked."""
    for file in registry.job_folder(job_id).glob("savepoint-*.json"):
        file.unlink(missing_ok=True)


def tell_answer(registry: Registry, job_id: str, answer: SavepointAnswer) -> None:
    """Says how far a savepoint is; the oldest answers are forgotten."""
    folder = registry.job_folder(job_id) / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{answer.id}.json", msgspec.json.encode(answer))
    if answer.is_over:
        for old in sorted(folder.glob("*.json"), key=lambda f: f.stat().st_mtime)[:-_KEPT]:
            old.unlink(missing_ok=True)


def answer_to(registry: Registry, job_id: str, savepoint: str) -> SavepointAnswer | None:
    try:
        data = (registry.job_folder(job_id) / _FOLDER / f"{savepoint}.json").read_bytes()
        return msgspec.json.decode(data, type=SavepointAnswer)
    except (OSError, msgspec.DecodeError):
        return None


def answers(registry: Registry, job_id: str) -> list[SavepointAnswer]:
    """The savepoints of a job, the oldest first."""
    names = [file.stem for file in (registry.job_folder(job_id) / _FOLDER).glob("*.json")]
    found = (answer_to(registry, job_id, name) for name in names)
    return sorted((a for a in found if a is not None), key=lambda answer: answer.asked)


def wait_for(
    registry: Registry,
    entry: JobEntry,
    request: SavepointRequest,
    seconds: float,
    look: Callable[[SavepointAnswer], None] = lambda answer: None,
) -> SavepointAnswer:
    """The answer once the savepoint is there; raises what went wrong, also when the job ends without it."""
    deadline = time.monotonic() + seconds
    while True:
        over = (registry.entry(entry.id) or entry).is_over  # asked first: an answer may come with the end
        answer = answer_to(registry, entry.id, request.id)
        if answer is not None:
            look(answer)
            if answer.status == "done":
                return answer
            if answer.status == "failed":
                raise CheckpointError(answer.code, answer.error)
        if over:
            raise CheckpointError(
                "SAVEPOINT_JOB_ENDED", f"Job {entry.id} ended before the savepoint was taken. Nothing was left of it."
            )
        if time.monotonic() > deadline:
            raise CheckpointError(
                "SAVEPOINT_TIMEOUT",
                f"The savepoint of job {entry.id} is not there after {seconds:.0f} s; it may still come: "
                "`penstock savepoints list` shows it. Give --wait more seconds.",
            )
        time.sleep(_POLL)
