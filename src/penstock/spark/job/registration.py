"""Registers a job on Spark as a run, so that other processes can inspect, stop and cancel it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Configuration
from penstock.engine.program.program import Program
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.registry.cpu_time import CpuTime
from penstock.jobs.registry.progress import StageProgress
from penstock.jobs.registry.requests import EndAction
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest
from penstock.jobs.run.registration import register
from penstock.jobs.run.run import Run
from penstock.metrics.labels import operator_labels
from penstock.spark.checkpoint.spark_log import SparkLog
from penstock.spark.query.batch_query import BatchQuery
from penstock.spark.report.query_progress import checkpoint_in_progress, read_timings
from penstock.spark.report.reports import ReportReader
from penstock.spark.session.jvm_process import jvm_cpu_time
from penstock.spark.state.local_folders import working_copy_folder

if TYPE_CHECKING:
    from penstock.spark.job.job import SparkJob

_POLL_SECONDS = 0.02


def register_job(
    session: SparkSession,
    program: Program,
    checkpoint: Checkpoint,
    configuration: Configuration,
    place: tuple[int, str],
) -> Run:
    """Registers a job that is about to start."""
    master = session.sparkContext.master or ""
    local = working_copy_folder(configuration, checkpoint.job_id, master)
    return register(program, checkpoint, configuration, place, master, session.sparkContext.uiWebUrl or "", local)


class RegisteredJob:
    """The interface of a job to its run in the registry (`RunningJob`)."""

    def __init__(self, job: SparkJob) -> None:
        self._job = job
        self._reader = ReportReader(job.folder.path)
        self._cpu_before = -1, CpuTime()  # of the JVM when the checkpoint with this number was first shown

    def new_reports(self) -> list[BatchReport]:
        return self._reader.read_new()

    def batch_millis(self) -> dict[int, int]:
        last = self._query.lastProgress
        return {} if last is None else {last["batchId"]: last["batchDuration"]}

    def new_checkpoints(self) -> list[CheckpointStats]:
        return self._job.folder.take_checkpoint_stats()

    def first_uncommitted_batch(self) -> int | None:
        last = SparkLog(Path(self._job.checkpoint.spark, "commits")).last()
        return None if last is None else last + 1

    def new_timings(self, known: int) -> dict[int, SparkTimings]:
        query = self._query
        return {} if isinstance(query, BatchQuery) else read_timings(query, known)

    def checkpoint_in_progress(self, number: int) -> CheckpointStats | None:
        query, session = self._query, self._job.session
        if isinstance(query, BatchQuery):
            return None
        current = checkpoint_in_progress(session, query, number, self._job.folder.has_control_task())
        if current is not None:
            cpu = jvm_cpu_time(session)
            if number != self._cpu_before[0]:
                self._cpu_before = number, cpu
            current.cpu_seconds, current.cpu_wait = cpu.since(self._cpu_before[1])
        return current

    def on_checkpoint_complete(self, checkpoint: CheckpointStats) -> None:
        """Updates the pause between batches."""
        pacing = self._job.pacing
        before = pacing.pause
        if pacing.enabled and pacing.add(checkpoint) != before:
            self._job.folder.write_pause(pacing.pause)

    def metrics(self) -> dict[str, Any]:
        names = operator_labels({uid: name for _, uid, name in self._job.program.components()})
        return self._job.folder.metrics().accumulators(names)

    def stages(self) -> list[StageProgress]:
        query = self._query
        return query.stages() if isinstance(query, BatchQuery) else []

    def is_planned(self) -> bool:
        return bool(self._query.status["isDataAvailable"])

    @property
    def _query(self) -> StreamingQuery | BatchQuery:
        """The query of the current attempt."""
        assert self._job.query is not None
        return self._job.query

    def limit_batch_records(self, records: int) -> None:
        """Sets the maximum number of records per source and batch, from the next batch on."""
        self._job.folder.write_record_limit(records)

    def request_end(self, action: EndAction) -> None:
        """Starts to stop, drain or cancel the job. Returns immediately."""
        if action != "cancel" and isinstance(self._query, BatchQuery):
            return  # the job is one batch, which runs to its end
        if action == "drain":
            self._job.folder.request_stop(drain=True)
        else:
            end = self._job.cancel if action == "cancel" else self._stop_after_batch
            threading.Thread(target=end, name=f"penstock-{action}", daemon=True).start()

    def request_savepoint(self, request: SavepointRequest, report: Callable[[SavepointProgress], None]) -> None:
        """Starts to take a savepoint. Returns immediately."""
        self._job.savepoints.start(request, report)

    def _stop_after_batch(self) -> None:
        """Stops after the current batch. Sources return no more records, so no further batch starts after the current trigger."""
        self._job.folder.request_stop(drain=False)
        while not self._job.real_time and self._query.isActive and self._query.status["isTriggerActive"]:
            time.sleep(_POLL_SECONDS)
        self._job.folder.mark_finished()
