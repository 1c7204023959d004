"""The registry entry of a job."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.process import ProcessId

Status = Literal["created", "running", "finished", "failed", "cancelled", "lost"]
ENDED = ("finished", "failed", "cancelled", "lost")
IN_PROCESS = "in-process"  # the master of jobs of the local engine
_HEARTBEAT_TIMEOUT = 60.0  # seconds without an update after which a job of another machine counts as lost


class Failure(msgspec.Struct, frozen=True):
    """The error of a failed job."""

    code: str
    text: str


class JobEntry(msgspec.Struct, kw_only=True):
    """One job. If the job was resumed, the entry describes its last run."""

    id: str
    name: str
    process: ProcessId
    program: str  # the command line of the program
    master: str  # of Spark, or IN_PROCESS
    checkpoint: str
    parallelism: int = 1
    started: float = msgspec.field(default_factory=time.time)
    updated: float = msgspec.field(default_factory=time.time)
    ended: float | None = None
    status: Status = "created"
    stopped: str = ""  # "stop" or "drain" if a user ended the job
    error: Failure | None = None
    log: str = ""
    web: str = ""  # the URL of the Spark UI
    runs: int = 1
    version: str = ""
    local: str = ""  # the folder on executors with the working copies of the state
    waits: str = ""  # what a running job without progress waits for, and since when
    batch: bool = False  # the job runs in batch mode and has no checkpoint
    from_savepoint: str = ""  # the savepoint that the job started from
    launch: Launch | None = None  # how to start the program again; None: not possible

    @property
    def start_message(self) -> str:
        """The message that is shown when the job starts."""
        return f"job {self.id}, " + ("in batch mode" if self.batch else f"checkpoint {self.checkpoint}")

    def current_status(self, now: float | None = None) -> Status:
        """The status, or "lost" if the process of the job does not run any more."""
        if self.status in ENDED:
            return self.status
        if self.process.is_here:
            return self.status if self.process.is_alive() else "lost"
        silence = (time.time() if now is None else now) - self.updated
        return self.status if silence < _HEARTBEAT_TIMEOUT else "lost"

    @property
    def is_over(self) -> bool:
        return self.current_status() in ENDED

    @property
    def seconds(self) -> float:
        """The duration of the run so far; for a lost job, until its last update."""
        if self.ended is not None:
            return self.ended - self.started
        return (self.updated if self.is_over else time.time()) - self.started
