"""Runs a program as one Spark batch job, with the interface of a streaming query."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession

from penstock.config import Configuration
from penstock.engine.program.bounded_read import BoundedRead, plan_bounded_read
from penstock.engine.program.pickling import pickle_by_value
from penstock.engine.program.program import Program
from penstock.engine.wire.frames import Control
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.registry.progress import StageProgress
from penstock.spark.query.batch_level import BatchLevel
from penstock.spark.query.batch_source import BATCH_SCHEMA, CONTROL, PenstockBatch
from penstock.spark.query.router import PenstockRouter
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.pickling import pickle_program
from penstock.spark.session.session import configure_session, new_session
from penstock.spark.session.worker_setup import WorkerSetup

_ROWS_PER_BATCH = "8"  # a row has up to a few megabytes
_POLL = 0.05
_BATCH = 0  # the number of the only batch


class BatchQuery:
    """One run of a batch job, with the methods of a streaming query that the job uses."""

    def __init__(
        self, session: SparkSession, run: str, folder: RunFolder, names: list[str], plan: Callable[[], DataFrame]
    ) -> None:
        self._session = session
        self._names = names  # of the stages
        self._folder = folder
        self._plan = plan
        self._failure: Exception | None = None
        self._stopped = False
        self._began = time.monotonic()
        self._millis: int | None = None
        self.runId = run
        self._thread = InheritableThread(target=self._run, name=f"penstock-batch-{run[:8]}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Runs in one job group, so that its Spark jobs can be cancelled and monitored."""
        self._session.sparkContext.setJobGroup(self.runId, "penstock batch job", interruptOnCancel=True)
        try:
            rows = self._plan()
            if self._stopped:
                return
            rows.write.format("penstock_router").option("folder", str(self._folder.path)).mode("append").save()
        except Exception as error:
            self._failure = error
        else:
            self._millis = int((time.monotonic() - self._began) * 1000)
            self._folder.mark_finished()

    @property
    def isActive(self) -> bool:
        return self._thread.is_alive()

    def exception(self) -> Exception | None:
        return None if self._stopped else self._failure

    def stop(self) -> None:
        """Cancels the run. What it has written is not committed. A run that has ended stays as it is."""
        while self.isActive:
            self._stopped = True
            self._session.sparkContext.cancelJobGroup(
                self.runId
            )  # again and again, because its Spark job may not have started yet
            self._thread.join(_POLL)

    def stages(self) -> list[StageProgress]:
        """Returns the stages of the Spark job that are known: sources, then levels."""
        tracker = self._session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.runId)]
        numbers = sorted({stage for job in jobs if job is not None for stage in job.stageIds})
        found = [tracker.getStageInfo(number) for number in numbers]
        return [
            StageProgress(name) if stage is None else StageProgress(name, stage.numTasks, stage.numCompletedTasks)
            for name, stage in zip(self._names, [*found, *[None] * len(self._names)], strict=False)
        ]

    @property
    def status(self) -> dict[str, Any]:
        return {"isDataAvailable": True, "isTriggerActive": self.isActive}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        last = self.lastProgress
        return [] if last is None else [{**last, "durationMs": {"triggerExecution": last["batchDuration"]}}]

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        return None if self._millis is None else {"batchId": _BATCH, "batchDuration": self._millis}


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Plans a program as the rows of a Spark job. The input of all sources is planned first."""

    session: SparkSession
    program: Program
    checkpoint: Checkpoint
    folder: RunFolder
    configuration: Configuration
    worker_setup: WorkerSetup
    wait: Callable[[], None]

    def start(self, run: str) -> BatchQuery:
        """Starts the job. Returns immediately."""
        return BatchQuery(self.session, run, self.folder, self._stage_names(), self._rows)

    def _stage_names(self) -> list[str]:
        """Returns a name for each stage, made of the names of its operators."""
        program = self.program
        levels = range(1, program.depth + 1)
        named = [[s.name for s in program.sources], *([o.name for o in program.operators_at(n)] for n in levels)]
        return [", ".join(dict.fromkeys(names)) for names in named]

    def _rows(self) -> DataFrame:
        program, folder = self.program, self.folder
        read = plan_bounded_read(program, self._source_folder, self.wait)
        program.batch_partition_count = read.partitions
        folder.write_program(pickle_program(without_elements(program), self.worker_setup))
        run, data = folder.read_program()
        folder.write_tasks(_encode_tasks(read, run))
        session = self._own_session()
        rows = session.read.format("penstock_batch").option("folder", str(folder.path)).load()
        materialized = os.path.join(self.checkpoint.materialized, run)
        levels = [BatchLevel(data, n, materialized, str(folder.path)) for n in range(1, program.depth + 1)]
        rows = reduce(self._add_level, levels, rows)
        return rows.select("slot", "level", "blob")

    def _source_folder(self, uid: str) -> str:
        folder = os.path.join(self.checkpoint.sources_folder, uid)
        os.makedirs(folder, exist_ok=True)
        return folder

    def _own_session(self) -> SparkSession:
        """A batch job needs its own session, because it reads settings while it runs and other jobs may change them."""
        session = new_session(self.session)
        configure_session(session, self.configuration, self.program.parallelism)
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", _ROWS_PER_BATCH)
        for source in (PenstockBatch, PenstockRouter):
            session.dataSource.register(source)
        return session

    def _add_level(self, rows: DataFrame, level: BatchLevel) -> DataFrame:
        """Adds a level. Labels assign each slot to its own partition. Sorting spills what does not fit into memory."""
        arrived = rows.repartition(self.program.parallelism, "slot").sortWithinPartitions("share", "task", "seq")
        return arrived.mapInArrow(level, BATCH_SCHEMA)


def _encode_tasks(read: BoundedRead, run: str) -> list[tuple[int, bytes]]:
    """The tasks of the data source: the control frame first, then the read tasks."""
    now = int(time.time() * 1000) if read.clock is None else read.clock
    control = Control(run, now, read.splits, read.splits, True)
    return [(source, pickle_by_value(task)) for source, task in [(CONTROL, control), *read.tasks]]


def without_elements(program: Program) -> Program:
    """Returns the program for executors. The elements of collections are in the read tasks instead."""
    sources = [
        replace(s, source=s.source.without_values()) if hasattr(s.source, "without_values") else s
        for s in program.sources
    ]
    return replace(program, sources=sources)
