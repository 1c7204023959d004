"""Registry entries and fake jobs for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.config import Configuration
from penstock.jobs.registry.batch_report import BatchReport, RecordCounts
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.process import ProcessId, this_process
from penstock.jobs.registry.progress import StageProgress
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.requests import EndAction
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest
from penstock.jobs.run.run import Run

DEAD_PROCESS = ProcessId(this_process().host, 2**22 - 3, "never")


def entry(job_id: str = "a1b2c3", name: str = "ads", **more: Any) -> JobEntry:
    facts: dict[str, Any] = {
        "process": this_process(),
        "program": "ads.py",
        "master": "local[2]",
        "checkpoint": f"/checkpoints/{job_id}",
    }
    return JobEntry(id=job_id, name=name, **(facts | more))


def report(batch: int, read: int = 0, written: int = 0, **more: Any) -> BatchReport:
    flows = {"s": RecordCounts(0, read), "out": RecordCounts(written, 0)}
    return BatchReport(batch, **{"flows": flows, "state_bytes": 1500, **more})


class FakeJob:
    """A job whose reports and state the test sets."""

    def __init__(self) -> None:
        self.reports: list[BatchReport] = []
        self.planned = False
        self.current_stages: list[StageProgress] = []
        self.actions: list[EndAction] = []
        self.limits: list[int] = []
        self.action_requested = threading.Event()
        self.checkpoints: list[CheckpointStats] = []
        self.timings: dict[int, SparkTimings] = {}
        self.completed: list[int] = []

    def new_reports(self) -> list[BatchReport]:
        new, self.reports = self.reports, []
        return new

    def batch_millis(self) -> Mapping[int, int]:
        return {0: 250}

    def new_checkpoints(self) -> list[CheckpointStats]:
        new, self.checkpoints = self.checkpoints, []
        return new

    def first_uncommitted_batch(self) -> int | None:
        return None

    def new_timings(self, known: int) -> Mapping[int, SparkTimings]:
        return {number: timing for number, timing in self.timings.items() if number > known}

    def on_checkpoint_complete(self, checkpoint: CheckpointStats) -> None:
        self.completed.append(checkpoint.id)

    def checkpoint_in_progress(self, number: int) -> CheckpointStats | None:
        return None

    def metrics(self) -> dict[str, Any]:
        return {"totals.hits": 7}

    def stages(self) -> list[StageProgress]:
        return self.current_stages

    def is_planned(self) -> bool:
        return self.planned

    def limit_batch_records(self, records: int) -> None:
        self.limits.append(records)

    def request_savepoint(self, request: SavepointRequest, on_progress: Callable[[SavepointProgress], None]) -> None:
        """Reports a savepoint as complete, or as failed if its folder is called "fails"."""
        answer = SavepointProgress(
            request.id, "writing", f"{request.directory}/savepoint", request.end, 7, request.requested_at, parts=2
        )
        on_progress(answer)
        answer.status, answer.written, answer.bytes = "done", 2, 3_500_000
        if request.directory.endswith("fails"):
            answer.status, answer.code, answer.error = "failed", "SAVEPOINT_UNWRITABLE", "It cannot be written."
        on_progress(answer)
        if request.end and answer.status == "done":
            self.actions.append(request.end)
            self.action_requested.set()

    def request_end(self, action: EndAction) -> None:
        self.actions.append(action)
        self.action_requested.set()


class StoppableJob(FakeJob):
    """A job whose run ends when it is asked to stop, drain or cancel."""

    def __init__(self, registry: Registry, **fields: Any) -> None:
        super().__init__()
        self.planned = True
        self.run = Run(registry, entry(**fields), [], Configuration())
        self.run.begin(self)
        threading.Thread(target=self._end_on_request, daemon=True).start()

    def _end_on_request(self) -> None:
        self.action_requested.wait()
        self.run.end("cancelled" if self.actions == ["cancel"] else "finished")
