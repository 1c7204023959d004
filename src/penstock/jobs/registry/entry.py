"""What the registry knows of a job."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from penstock.jobs.launch import Launch
from penstock.jobs.process import ProcessName

Status = Literal["created", "running", "finished", "failed", "cancelled", "lost"]
ENDED = ("finished", "failed", "cancelled", "lost")
_SILENT = 60.0  # seconds after which a job of another machine counts as lost


class Failure(msgspec.Struct, frozen=True):
    """Why a job failed."""

    code: str
    text: str


class JobEntry(msgspec.Struct, kw_only=True):
    """One job: its last run, if it was resumed."""

    id: str
    name: str
    process: ProcessName
    program: str  # the command that runs it
    master: str
    checkpoint: str
    parallelism: int = 1
    started: float = msgspec.field(default_factory=time.time)
    updated: float = msgspec.field(default_factory=time.time)
    ended: float | None = None
    status: Status = "created"
    stopped: str = ""  # "stop" or "drain" when somebody asked the job to finish
    error: Failure | None = None
    log: str = ""
    web: str = ""  # the address of Spark's pages
    runs: int = 1
    version: str = ""
    local: str = ""  # where executors keep its working copies
    waits: str = ""  # what a job that runs and does not get on waits for, and since when
    batch: bool = False  # runs in batch mode: there is no checkpoint
    from_savepoint: str = ""  # what the job started from
    launch: Launch | None = None  # how its program was started; None: nobody can start it again

    @property
    def introduction(self) -> str:
        """What people are told when it starts."""
        return f"job {self.id}, " + ("in batch mode" if self.batch else f"checkpoint {self.checkpoint}")

    def status_now(self, now: float | None = None) -> Status:
        """The status, with a look at whether the job's process still lives."""
        if self.status in ENDED:
            return self.status
        if self.process.is_here:
            return self.status if self.process.is_alive() else "lost"
        silent = (time.time() if now is None else now) - self.updated
        return self.status if silent < _SILENT else "lost"

    @property
    def is_over(self) -> bool:
        return self.status_now() in ENDED

    @property
    def seconds(self) -> float:
        """How long the run has taken, or took; of a lost one until its last sign of life."""
        if self.ended is not None:
            return self.ended - self.started
        return (self.updated if self.is_over else time.time()) - self.started
