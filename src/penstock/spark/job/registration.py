"""Registers a job on Spark as a run, so that it can be looked at, stopped and cancelled from elsewhere."""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Configuration
from penstock.engine.program import Program
from penstock.errors import PenstockError
from penstock.jobs.checkpoints import Checkpoint as CheckpointFigures
from penstock.jobs.checkpoints import Measured
from penstock.jobs.entry import Failure, JobEntry
from penstock.jobs.launch import this_launch
from penstock.jobs.process import this_process
from penstock.jobs.progress import OperatorFigures, StageFigures
from penstock.jobs.registry import registry_of
from penstock.jobs.requests import Action
from penstock.jobs.run import Run
from penstock.jobs.savepoints import SavepointAnswer, SavepointRequest
from penstock.metrics.labels import labels
from penstock.redaction import redacted, redacted_command
from penstock.spark.batch_query import BatchQuery
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.measures import in_progress, measured
from penstock.spark.reports import Report, ReportReader
from penstock.spark.spark_log import SparkLog
from penstock.spark.working_copy import copies_of

if TYPE_CHECKING:
    from penstock.spark.job import SparkJob

_CANCELED = "JOB_CANCELED"
_POLL = 0.02


def register(session: SparkSession, program: Program, checkpoint: Checkpoint, configuration: Configuration) -> Run:
    """The run of a job that is about to start."""
    entry = JobEntry(
        id=checkpoint.job_id,
        name=program.name,
        process=this_process(),
        program=_command(),
        master=session.sparkContext.master or "",
        checkpoint=checkpoint.shown,
        parallelism=program.parallelism,
        web=session.sparkContext.uiWebUrl or "",
        version=_version(),
        local=copies_of(configuration, checkpoint.job_id),
        batch=program.batch,
        from_savepoint=checkpoint.from_savepoint,
        launch=this_launch(),
    )
    operators = [OperatorFigures(uid, name, kind) for kind, uid, name in program.parts()]
    return Run(registry_of(configuration), entry, operators, configuration)


def _command() -> str:
    """The program with its arguments, as somebody would type it."""
    program = sys.argv[0] if sys.argv else ""
    path = os.path.abspath(program) if os.path.exists(program) else program or "python"
    return shlex.join(redacted_command([path, *sys.argv[1:]]))


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:  # run from a folder or a zip
        return ""


class WatchedJob:
    """A job as the registry's run sees it."""

    def __init__(self, job: SparkJob) -> None:
        self._job = job
        self._reader = ReportReader(job.folder.path)

    def new_reports(self) -> list[Report]:
        return self._reader.new()

    def batch_millis(self) -> dict[int, int]:
        last = self._query.lastProgress
        return {} if last is None else {last["batchId"]: last["batchDuration"]}

    def new_checkpoints(self) -> list[CheckpointFigures]:
        return self._job.folder.take_checkpoints()

    def uncommitted(self) -> int | None:
        last = SparkLog(Path(self._job.checkpoint.spark, "commits")).last()
        return None if last is None else last + 1

    def measured(self, known: int) -> dict[int, Measured]:
        query = self._query
        return {} if isinstance(query, BatchQuery) else measured(query, known)

    def in_progress(self, number: int) -> CheckpointFigures | None:
        query = self._query
        return None if isinstance(query, BatchQuery) else in_progress(self._job.session, query, number)

    def completed(self, checkpoint: CheckpointFigures) -> None:
        """Rests as the last checkpoints ask for."""
        pacing = self._job.pacing
        before = pacing.pause
        if pacing.wanted and pacing.took(checkpoint) != before:
            self._job.folder.tell_pause(pacing.pause)

    def metrics(self) -> dict[str, Any]:
        called = labels({uid: name for _, uid, name in self._job.program.parts()})
        return self._job.folder.metrics().accumulators(called)

    def stages(self) -> list[StageFigures]:
        query = self._query
        return query.stages() if isinstance(query, BatchQuery) else []

    def is_planned(self) -> bool:
        return bool(self._query.status["isDataAvailable"])

    @property
    def _query(self) -> StreamingQuery | BatchQuery:
        """Of the attempt that runs now."""
        assert self._job.query is not None
        return self._job.query

    def limit(self, records: int) -> None:
        """Sources admit so many records to a batch from the next one on."""
        self._job.folder.tell_limit(records)

    def end_by(self, action: Action) -> None:
        """Begins to end the job; gives at once."""
        if action != "cancel" and isinstance(self._query, BatchQuery):
            return  # all of it is one batch, which is let finish
        if action == "drain":
            self._job.folder.ask_stop(drain=True)
        else:
            end = self._job.cancel if action == "cancel" else self._stop_after_batch
            threading.Thread(target=end, name=f"penstock-{action}", daemon=True).start()

    def save(self, request: SavepointRequest, tell: Callable[[SavepointAnswer], None]) -> None:
        """Begins to take a savepoint; gives at once."""
        self._job.savepoints.begin(request, tell)

    def _stop_after_batch(self) -> None:
        """Sources give nothing more from now on; so when no trigger is active, none will start a batch."""
        self._job.folder.ask_stop(drain=False)
        while not self._job.real_time and self._query.isActive and self._query.status["isTriggerActive"]:
            time.sleep(_POLL)
        self._job.folder.tell_finished(-1)


@contextmanager
def ends_if_it_fails(run: Run) -> Iterator[None]:
    """An error in this block is the end of the run."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt):
        run.end("cancelled")
        raise
    except PenstockError as error:
        if error.code == _CANCELED:
            run.end("cancelled")
        else:
            run.end("failed", Failure(error.code, error.text))
        raise
    except BaseException as error:
        run.end("failed", Failure(type(error).__name__, redacted(str(error))[:2000]))
        raise


@contextmanager
def ends(run: Run) -> Iterator[None]:
    """The run ends with this block, in the way that the block does."""
    with ends_if_it_fails(run):
        yield
    run.end("finished")
