"""Entries and jobs to test with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.jobs.checkpoints import Checkpoint, Measured
from penstock.jobs.entry import JobEntry
from penstock.jobs.process import ProcessName, this_process
from penstock.jobs.progress import StageFigures
from penstock.jobs.requests import Action
from penstock.jobs.savepoints import SavepointAnswer, SavepointRequest
from penstock.jobs.tally import Report

NOBODY = ProcessName(this_process().host, 2**22 - 3, "never")


def entry(job_id: str = "a1b2c3", name: str = "ads", **more: Any) -> JobEntry:
    facts: dict[str, Any] = {
        "process": this_process(),
        "program": "ads.py",
        "master": "local[2]",
        "checkpoint": f"/checkpoints/{job_id}",
    }
    return JobEntry(id=job_id, name=name, **(facts | more))


def report(batch: int, read: int = 0, written: int = 0, **more: Any) -> Report:
    flows = {"s": [0, read], "out": [written, 0]}
    return {"batch": batch, "flows": flows, "late": {}, "watermarks": {}, "state_bytes": 1500, **more}


class FakeJob:
    """A job that does what the test says."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.planned = False
        self.told_stages: list[StageFigures] = []
        self.asked: list[Action] = []
        self.limits: list[int] = []
        self.heard = threading.Event()
        self.checkpoints: list[Checkpoint] = []
        self.spent: dict[int, Measured] = {}
        self.whole: list[int] = []

    def new_reports(self) -> list[Report]:
        new, self.reports = self.reports, []
        return new

    def batch_millis(self) -> Mapping[int, int]:
        return {0: 250}

    def new_checkpoints(self) -> list[Checkpoint]:
        new, self.checkpoints = self.checkpoints, []
        return new

    def uncommitted(self) -> int | None:
        return None

    def measured(self, known: int) -> Mapping[int, Measured]:
        return {number: spent for number, spent in self.spent.items() if number > known}

    def completed(self, checkpoint: Checkpoint) -> None:
        self.whole.append(checkpoint.id)

    def in_progress(self, number: int) -> Checkpoint | None:
        return None

    def metrics(self) -> dict[str, Any]:
        return {"totals.hits": 7}

    def stages(self) -> list[StageFigures]:
        return self.told_stages

    def is_planned(self) -> bool:
        return self.planned

    def limit(self, records: int) -> None:
        self.limits.append(records)

    def save(self, request: SavepointRequest, tell: Callable[[SavepointAnswer], None]) -> None:
        """Takes a savepoint of nothing, unless its folder is called "fails"."""
        answer = SavepointAnswer(
            request.id, "writing", f"{request.directory}/savepoint", request.end, 7, request.asked, parts=2
        )
        tell(answer)
        answer.status, answer.written, answer.bytes = "done", 2, 3_500_000
        if request.directory.endswith("fails"):
            answer.status, answer.code, answer.error = "failed", "SAVEPOINT_UNWRITABLE", "It cannot be written."
        tell(answer)
        if request.end and answer.status == "done":
            self.asked.append(request.end)
            self.heard.set()

    def end_by(self, action: Action) -> None:
        self.asked.append(action)
        self.heard.set()
