"""The interface of a job in this process to its run, so that other processes can inspect, stop and cancel it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.registry.progress import StageProgress
from penstock.jobs.registry.requests import EndAction
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest
from penstock.metrics.labels import operator_labels

if TYPE_CHECKING:
    from penstock.local.job import InProcessJob


class RegisteredJob:
    """The interface of a job to its run in the registry (`RunningJob`)."""

    def __init__(self, job: InProcessJob) -> None:
        self._job = job
        self._reporter = job.reporter
        self._names = operator_labels({uid: name for _, uid, name in job.program.components()})

    def new_reports(self) -> list[BatchReport]:
        return self._reporter.take_reports()

    def batch_millis(self) -> dict[int, int]:
        return self._reporter.batch_millis()

    def new_checkpoints(self) -> list[CheckpointStats]:
        return self._reporter.take_checkpoints()

    def first_uncommitted_batch(self) -> int | None:
        last = self._reporter.last
        return None if last is None else last.batch + 1

    def new_timings(self, known: int) -> dict[int, SparkTimings]:
        return self._reporter.take_timings()

    def checkpoint_in_progress(self, number: int) -> CheckpointStats | None:
        return None

    def on_checkpoint_complete(self, checkpoint: CheckpointStats) -> None:
        """Nothing to do: the job computes the pause after each batch."""

    def metrics(self) -> dict[str, Any]:
        return self._reporter.metrics.accumulators(self._names)

    def stages(self) -> list[StageProgress]:
        return []

    def is_planned(self) -> bool:
        return True

    def limit_batch_records(self, records: int) -> None:
        """Sets the maximum number of records per source and batch, from the next batch on."""
        self._job.requests.max_records = records

    def request_end(self, action: EndAction) -> None:
        """Starts to stop, drain or cancel the job. Returns immediately."""
        if action == "cancel":
            threading.Thread(target=self._job.cancel, name="penstock-cancel", daemon=True).start()
        elif not self._job.program.batch_mode:  # a batch job is one batch, which runs to its end
            self._job.requests.request_stop(drain=action == "drain")

    def request_savepoint(self, request: SavepointRequest, on_progress: Callable[[SavepointProgress], None]) -> None:
        """Starts to take a savepoint. Returns immediately."""
        self._job.request_savepoint(request, on_progress)
