"""A program as one Spark batch job, which looks to its job like a query."""

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
from penstock.engine.frames import Control
from penstock.engine.program import Program
from penstock.engine.whole_read import WholeRead, plan_whole
from penstock.jobs.progress import StageFigures
from penstock.spark.batch_level import BatchLevel
from penstock.spark.batch_source import BATCH_SCHEMA, CONTROL, PenstockBatch
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.pickling import pickle_program, pickle_value
from penstock.spark.router import PenstockRouter
from penstock.spark.run_folder import RunFolder
from penstock.spark.session import own_session, prepare

_ROWS_AT_ONCE = "8"  # a row is up to some megabytes
_POLL = 0.05
_BATCH = 0  # the number under which sinks commit everything


class BatchQuery:
    """One run of a batch job. It has what its job asks a streaming query for."""

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
        """All of it happens under one job group, so that it can be cancelled and looked at."""
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
            self._folder.tell_finished(_BATCH)

    @property
    def isActive(self) -> bool:
        return self._thread.is_alive()

    def exception(self) -> Exception | None:
        return None if self._stopped else self._failure

    def stop(self) -> None:
        """Ends it; what it has written is not committed. One that is over stays as it is."""
        while self.isActive:
            self._stopped = True
            self._session.sparkContext.cancelJobGroup(self.runId)  # its Spark job may only be about to start
            self._thread.join(_POLL)

    def stages(self) -> list[StageFigures]:
        """The stages of the Spark job: its sources, then its levels, as far as they are known."""
        tracker = self._session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.runId)]
        numbers = sorted({stage for job in jobs if job is not None for stage in job.stageIds})
        found = [tracker.getStageInfo(number) for number in numbers]
        return [
            StageFigures(name) if stage is None else StageFigures(name, stage.numTasks, stage.numCompletedTasks)
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
    """How a program becomes the rows of a Spark job: its sources are asked for everything first."""

    session: SparkSession
    program: Program
    checkpoint: Checkpoint
    folder: RunFolder
    configuration: Configuration
    archives: list[str]
    wait: Callable[[], None]

    def start(self, run: str) -> BatchQuery:
        """Starts the job in a run folder that is there; gives at once."""
        return BatchQuery(self.session, run, self.folder, self._names(), self._rows)

    def _names(self) -> list[str]:
        """What runs in each stage."""
        program = self.program
        levels = range(1, program.depth + 1)
        named = [[s.name for s in program.sources], *([o.name for o in program.operators_at(n)] for n in levels)]
        return [", ".join(dict.fromkeys(names)) for names in named]

    def _rows(self) -> DataFrame:
        program, folder = self.program, self.folder
        read = plan_whole(program, self._source_folder, self.wait)
        program.share_count = read.shares
        folder.put_program(pickle_program(lean(program), self.archives))
        run, data = folder.program()
        folder.put_tasks(_tasks(read, run))
        session = self._own_session()
        rows = session.read.format("penstock_batch").option("folder", str(folder.path)).load()
        materialized = os.path.join(self.checkpoint.materialized, run)
        levels = [BatchLevel(data, n, materialized, str(folder.path)) for n in range(1, program.depth + 1)]
        rows = reduce(self._behind, levels, rows)
        return rows.select("slot", "level", "blob")

    def _source_folder(self, uid: str) -> str:
        folder = os.path.join(self.checkpoint.lasting, uid)
        os.makedirs(folder, exist_ok=True)
        return folder

    def _own_session(self) -> SparkSession:
        """A batch job reads its settings while it runs, when other jobs may have set theirs."""
        session = own_session(self.session)
        prepare(session, self.configuration, self.program.parallelism)
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", _ROWS_AT_ONCE)
        for source in (PenstockBatch, PenstockRouter):
            session.dataSource.register(source)
        return session

    def _behind(self, rows: DataFrame, level: BatchLevel) -> DataFrame:
        """Labels put each slot into its own partition; Spark's sort spills what does not fit into memory."""
        arrived = rows.repartition(self.program.parallelism, "slot").sortWithinPartitions("share", "task", "seq")
        return arrived.mapInArrow(level, BATCH_SCHEMA)


def _tasks(read: WholeRead, run: str) -> list[tuple[int, bytes]]:
    """What the source reads: control's word first, then every task."""
    now = int(time.time() * 1000) if read.clock is None else read.clock
    control = Control(run, now, read.known, read.known, True)
    return [(source, pickle_value(task)) for source, task in [(CONTROL, control), *read.tasks]]


def lean(program: Program) -> Program:
    """The program for executors: elements of collections are in the tasks."""
    sources = [
        replace(s, source=s.source.without_values()) if hasattr(s.source, "without_values") else s
        for s in program.sources
    ]
    return replace(program, sources=sources)
