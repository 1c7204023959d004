"""The attempts of a job: each one is a Spark query on the checkpoint of the job."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Configuration
from penstock.config.execution_options import CANCEL_TIMEOUT, HEARTBEAT
from penstock.connectors.buffer_timeout import buffer_timeout
from penstock.datastream.jobs.job_status import JobStatus
from penstock.engine.program.program import Program
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.jobs.run.pacing import Pacing
from penstock.jobs.run.restarts import DefaultRestarts, is_retryable, restart_strategy, restarts_by_default
from penstock.spark.checkpoint.repair import RepeatedBatches
from penstock.spark.checkpoint.spark_log import last_committed_batch, unfinished_batch
from penstock.spark.job.restore_plan import read_initial_offsets
from penstock.spark.query.batch_query import BatchPlan, BatchQuery, without_elements
from penstock.spark.query.driver_commits import DriverCommits, commits_on_driver
from penstock.spark.query.query import start_query, stop_query
from penstock.spark.query.real_time import start_in_real_time
from penstock.spark.report.run_facts import RunFacts
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.pickling import pickle_program
from penstock.spark.session.worker_setup import WorkerSetup


class Attempts:
    """Starts and stops the query of each attempt. A batch job has no checkpoint, so each attempt runs the complete job."""

    def __init__(
        self,
        session: SparkSession,
        program: Program,
        checkpoint: Checkpoint,
        folder: RunFolder,
        configuration: Configuration,
        *,
        real_time: bool,
        pacing: Pacing,
        set_status: Callable[[JobStatus], None],
        wait_for_input: Callable[[], None],
    ) -> None:
        self.number = 0
        self.query: StreamingQuery | BatchQuery | None = None
        self.repeating = False  # the attempt repeats one batch of a repaired checkpoint
        self.keep_open = False
        self.worker_setup = WorkerSetup()
        self._session = session
        self._program = program
        self._checkpoint = checkpoint
        self._folder = folder
        self._configuration = configuration
        self._real_time = real_time
        self._pacing = pacing
        self._set_status = set_status
        self._wait_for_input = wait_for_input
        unbounded = not program.batch_mode and any(not s.source.bounded for s in program.sources)
        self._strategy = restart_strategy(configuration, unbounded)
        self._default = DefaultRestarts() if restarts_by_default(configuration, unbounded) else None
        self._offsets = read_initial_offsets(checkpoint)
        self._repeated_batches = RepeatedBatches(checkpoint.folder)
        self._handover: DriverCommits | None = None

    def start(self) -> None:
        """Starts the query of the current attempt.

        Each attempt has a new run id, so workers open their functions again and the control source reports the restart.
        """
        run = uuid.uuid4().hex
        self._program.attempt = self.number
        self.repeating = not self._program.batch_mode and not self._real_time and self._repeated_batches.pending()
        if self.repeating:
            self._repeated_batches.prepare()
        self._folder.write_pause(self._pacing.pause)
        if commits_on_driver(self._program) and not self._real_time:
            self._handover = DriverCommits(self._session, self._program, str(self._folder.path), run)
        self.query = self._start_query(run)
        self._set_status(JobStatus.RUNNING)

    def start_next(self) -> None:
        self.number += 1
        self.start()

    def _start_query(self, run: str) -> StreamingQuery | BatchQuery:
        session, program, checkpoint, folder = self._session, self._program, self._checkpoint, self._folder
        configuration, facts = self._configuration, self._facts(run)
        if program.batch_mode:
            folder.create(facts, pickle_program(without_elements(program), self.worker_setup))
            plan = BatchPlan(
                session, program, checkpoint, folder, configuration, self.worker_setup, self._wait_for_input
            )
            return plan.start(run)
        if self._real_time:
            folder.create(facts, b"")
            return start_in_real_time(session, program, checkpoint, run, configuration)
        folder.create(facts, pickle_program(program, self.worker_setup))
        return start_query(session, program, checkpoint, folder, configuration, self.repeating)

    def _facts(self, run: str) -> RunFacts:
        return RunFacts(
            run_id=run,
            checkpoint=self._checkpoint.folder,
            source_data=self._checkpoint.sources_folder,
            heartbeat=self._configuration.get(HEARTBEAT),
            lineage=self._checkpoint.lineage,
            keep_open=self.keep_open,
            repeating=self.repeating,
            paced=self._pacing.enabled,
            buffer_timeout=buffer_timeout(self._configuration),
            unfinished=unfinished_batch(self._checkpoint.spark),
            control_offset=self._offsets.get("control"),
            source_offsets={int(n): offset for n, offset in self._offsets.items() if n != "control"},
        )

    def stop(self) -> bool:
        """Stops the query and waits until its tasks have ended. Returns False if tasks still run after the timeout."""
        timeout = self._configuration.get(CANCEL_TIMEOUT) / 1000
        if self._handover is not None and not self._handover.stop(timeout):
            return False
        return self.query is None or stop_query(self._session, self.query, timeout)

    def restart(self, failure: Exception, canceled: threading.Event, note: Callable[[float], None]) -> None:
        """Starts the next attempt after the delay of the restart strategy.

        Raises `failure` if the strategy allows no restart, or if tasks of the failed attempt still run, because they could
        write into the files of the next one. `note` is called with the delay in seconds.
        """
        delay = self._strategy.delay_after_failure(time.monotonic() * 1000) if self._may_restart(failure) else None
        if delay is None:
            raise failure
        self._set_status(JobStatus.RESTARTING)
        note(delay / 1000)
        if not self.stop():
            raise failure
        if not canceled.wait(delay / 1000):
            self.start_next()

    def _may_restart(self, failure: Exception) -> bool:
        if not is_retryable(failure):
            return False
        return self._default is None or self._default.allows(failure, last_committed_batch(self._checkpoint.folder))
