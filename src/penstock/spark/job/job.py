"""One job on Spark, from its start to its end."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_RETENTION
from penstock.config.deployment_options import PYTHON_EXECUTABLE
from penstock.config.execution_options import BATCH_RECORDS, CANCEL_TIMEOUT
from penstock.config.state_options import BACKEND
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.datastream.jobs.job_status import JobStatus
from penstock.engine.program.builder import build_program
from penstock.engine.program.program import Program
from penstock.engine.program.sink_calls import sink_call
from penstock.errors import JobError
from penstock.folders import private_folder, remove_private_folder
from penstock.jobs.checkpoint.checkpoint import Checkpoint, open_checkpoint
from penstock.jobs.leftovers.finished_checkpoint import mark_checkpoint_finished, unmark_checkpoint_finished
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint
from penstock.jobs.registry.program_jobs import first_job, next_job
from penstock.jobs.registry.savepoint_requests import AfterSavepoint
from penstock.jobs.run.accumulators import count_accumulators
from penstock.jobs.run.driver_outputs import DriverOutput
from penstock.jobs.run.pacing import Pacing
from penstock.jobs.run.registration import end_run, end_run_on_error
from penstock.jobs.run.resumption import ended_message, keep_parallelism
from penstock.jobs.run.run import Run
from penstock.plan.graph import JobGraph
from penstock.spark.checkpoint.storage_watch import StorageWatch
from penstock.spark.job.attempts import Attempts
from penstock.spark.job.checkpoint_repair import CheckpointRepair
from penstock.spark.job.driver_outputs import FolderOutputs
from penstock.spark.job.lost_process import explain_lost_process, lost_jvm_error
from penstock.spark.job.monitor import JobMonitor
from penstock.spark.job.registration import RegisteredJob, register_job
from penstock.spark.job.restore_plan import plan_spark_restore
from penstock.spark.job.results import last_batches
from penstock.spark.job.resumption import has_ended
from penstock.spark.job.savepoint_taker import SavepointTaker
from penstock.spark.job.storage_recovery import StorageRecovery
from penstock.spark.query.batch_query import BatchQuery
from penstock.spark.query.dataframe_sources import materialize_tables
from penstock.spark.query.real_time import runs_in_real_time
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.deletions_at_exit import DeletionsAtExit
from penstock.spark.session.error_transport import translate_error
from penstock.spark.session.jvm_process import jvm_exit_code
from penstock.spark.session.session import get_session
from penstock.spark.session.shipping import ship_files

_POLL_SECONDS = 0.02


class SparkJob:
    """One job, from its start to its end, over any number of attempts."""

    def __init__(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> None:
        number, configuration = next_job(graph, configuration)
        graph = keep_parallelism(graph, configuration)
        self.real_time = runs_in_real_time(graph, configuration)
        self.program: Program = build_program(graph)
        self.session: SparkSession = get_session(configuration)
        self._restore_plan = plan_spark_restore(self.program, configuration)
        self.checkpoint: Checkpoint = open_checkpoint(self.program, configuration, self._restore_plan)
        self.place = number, first_job(number, self.checkpoint.job_id, configuration)  # in the program
        self.folder = RunFolder(private_folder("run"))
        self.keep_open = False  # a scripted job stops after its script, without the final watermark
        self.run: Run | None = None  # its entry in the registry
        self.pacing = Pacing(configuration)
        self.savepoints = SavepointTaker(self, configuration)
        self.finished: Future[JobExecutionResult] = Future()  # of a job that runs in the background
        self._configuration = configuration
        self._files = files
        self._status = JobStatus.CREATED
        self._cancel = threading.Event()
        self._over = threading.Event()
        self._start_time = 0.0  # of the monotonic clock
        self._attempts = Attempts(
            self.session,
            self.program,
            self.checkpoint,
            self.folder,
            configuration,
            real_time=self.real_time,
            pacing=self.pacing,
            set_status=self._set_status,
            wait_for_input=self._wait_for_input,
        )
        self._outputs = FolderOutputs(self.program.sinks, self.folder)
        self._storage = StorageWatch(self.session, self.checkpoint.folder, configuration, self._last_batch)
        self._repair = CheckpointRepair(self.checkpoint.folder, self._attempts, self._storage)
        self._recovery = StorageRecovery(
            self._storage, self._attempts, configuration, is_over=self._is_over, set_status=self._set_status
        )
        self._monitor = JobMonitor(self.folder, self.checkpoint, self._storage, DeletionsAtExit(self.session))
        self._accumulators: dict[str, Any] | None = None  # of a job that has ended

    @property
    def job_id(self) -> str:
        return self.checkpoint.job_id

    @property
    def query(self) -> StreamingQuery | BatchQuery | None:
        """The query of the current attempt."""
        return self._attempts.query

    @property
    def attempt(self) -> int:
        """The number of restarts."""
        return self._attempts.number

    def status(self) -> JobStatus:
        return self._status

    def _set_status(self, status: JobStatus) -> None:
        if status is not JobStatus.RUNNING or not self._cancel.is_set():
            self._status = status

    # -- start

    def start(self) -> None:
        """Registers the run and starts the first attempt. Returns immediately."""
        self.program.max_records = self._configuration.get(BATCH_RECORDS) or None
        self.program.caches_state = self._configuration.get(BACKEND) == "hashmap"
        self._attempts.keep_open = self.keep_open
        self.checkpoint.lock.acquire()
        unmark_checkpoint_finished(self.checkpoint.folder)
        try:  # the lock also protects the entry of the job in the registry
            self._attach_sinks()
            self.run = register_job(self.session, self.program, self.checkpoint, self._configuration, self.place)
            self._repair.report = self.run.announce
            self._report_restore(self.run)
            if has_ended(self.checkpoint):
                self.run.announce(ended_message(self.checkpoint))
            with end_run_on_error(self.run):
                materialize_tables(self.session, self.program, self.checkpoint)
                python = self._configuration.get(PYTHON_EXECUTABLE)
                self._attempts.worker_setup = ship_files(self.session, self._files, python)
                self._start_time = time.monotonic()
                if self.checkpoint.resumed and not self.real_time:
                    self._repair.before_resume()
                with self._storage.explain_start_failure():
                    self._attempts.start()
        except BaseException:
            self.checkpoint.lock.release()
            raise
        self._storage.report = self.run.set_waiting
        self.run.begin(RegisteredJob(self))

    def _attach_sinks(self) -> None:
        for uid, sink in zip(self.program.sink_uids, self.program.sinks, strict=True):
            sink.attach(self.checkpoint.create_sink_folder(uid))
            if self._restore_plan is not None and uid in self._restore_plan.matched.sinks:
                sink.restore_from(self._restore_plan.path, self._restore_plan.matched.sinks[uid])

    def _report_restore(self, run: Run) -> None:
        if self._restore_plan is not None:
            for message in self._restore_plan.messages():
                run.log(f"job {self.job_id}: {message}")
            self._restore_plan.warn_dropped()

    def _wait_for_input(self) -> None:
        """Waits before a source that has no data yet is asked again. Raises if the job is cancelled meanwhile."""
        if self._cancel.wait(_POLL_SECONDS):
            raise self._canceled_error()

    # -- until it ends

    def wait(self) -> None:
        """Waits until the job has ended. Meanwhile prints and collects the outputs of its sinks."""
        for _ in self.driver_outputs():
            pass

    def elements(self, sink: int) -> Iterator[Any]:
        """The elements of a collecting sink, as they arrive. The job is cancelled when the iterator is closed."""
        outputs = self.driver_outputs()
        return (element for _, output in outputs for element in output.get(sink, ()))

    def driver_outputs(self) -> Iterator[tuple[int, DriverOutput]]:
        """The outputs that sinks deliver to the driver, by batch and sink, until the job has ended."""
        outputs = self._outputs_until_end()
        next(outputs)  # from now on, closing the iterator ends the job
        return outputs

    def _outputs_until_end(self) -> Iterator[tuple[int, DriverOutput]]:
        assert self.run is not None
        with end_run(self.run):
            yield from self._run_attempts()

    def collected(self, sink: int) -> list[Any]:
        """All elements that a collecting sink has received so far."""
        return self._outputs.collected(sink)

    def _run_attempts(self) -> Iterator[tuple[int, DriverOutput]]:
        final_status = JobStatus.CANCELED  # also if the caller closes the iterator
        try:
            yield -1, {}  # runs to here before the caller reads the first output
            while not self._cancel.is_set():
                yield from self._outputs_of_attempt()
                if self.folder.is_finished():
                    self._finish_sinks()
                    final_status = JobStatus.FINISHED
                    break
                assert self.query is not None
                failure = self.query.exception()
                if failure is None and self._attempts.repeating:
                    self._attempts.start()  # repeats the next batch, or continues after the last repeated one
                    continue
                if failure is None:
                    break
                self._restart(failure)
            if final_status is JobStatus.CANCELED:
                raise self._canceled_error()
        except Exception as error:
            if not self._cancel.is_set() and final_status is not JobStatus.FINISHED:
                final_status = JobStatus.FAILED
            if (lost := lost_jvm_error(error)) is not None:
                raise lost from error
            raise
        finally:
            self.stop()
            self._end(final_status)

    def _outputs_of_attempt(self) -> Iterator[tuple[int, DriverOutput]]:
        assert self.run is not None
        assert self.query is not None
        while True:
            ended = self.folder.is_finished() or not self.query.isActive or self._cancel.is_set()
            self._monitor.forward_logs(self.run)
            self._monitor.check(self.query)
            yield from self._outputs.deliver_new()
            if ended:
                return
            time.sleep(_POLL_SECONDS)

    def _restart(self, error: Exception) -> None:
        """Starts the next attempt after a query has failed, or raises the failure if the job cannot be restarted."""
        assert self.run is not None
        run, failure = self.run, explain_lost_process(error, translate_error(error), self.folder.processes)
        if not self.real_time and self._repair.restart(error):
            return
        storage_failure = self._recovery.failure_in(error, failure)
        if storage_failure is not None and not self.program.batch_mode:
            run.checkpoint_failed(storage_failure)
            too_many = self._recovery.count_failure(storage_failure, self._last_batch())
            if too_many is None:
                self._recovery.restart(storage_failure)
                return
            failure = too_many

        def note(delay: float) -> None:
            if storage_failure is None:
                run.checkpoint_failed(str(failure))
            run.set_waiting(f"failed and is restarted in {delay:.1f} s: {failure}")

        self._attempts.restart(failure, self._cancel, note)
        if not self._cancel.is_set():
            run.set_waiting("")

    def _is_over(self) -> bool:
        return self._cancel.is_set() or self.folder.is_finished()

    def _last_batch(self) -> int:
        """The last batch of this run that sinks have committed; -1 if there is none."""
        report = self.folder.last_report()
        return -1 if report is None else report.batch

    def _finish_sinks(self) -> None:
        """Finishes the sinks, unless the job stays open, in which case it may continue from its checkpoint."""
        if self.keep_open:
            return
        for number, sink in enumerate(self.program.sinks):
            with sink_call(self.program, number, self._outputs.last_batch):
                sink.finish()

    # -- end

    def _canceled_error(self) -> JobError:
        rest = (
            f"The checkpoint {self.checkpoint.folder} holds its state as of the last committed batch."
            if self.checkpoint.persistent
            else "It ran in batch mode, so nothing was committed."
        )
        return JobError("JOB_CANCELED", f"Job {self.job_id} was cancelled. {rest}")

    def stop(self) -> None:
        """Stops the query, waits until its tasks have ended, and releases the checkpoint."""
        if jvm_exit_code() is None:
            self._attempts.stop()
        self.checkpoint.lock.release()

    def cancel(self) -> None:
        """Ends the job from another thread and waits until it has ended. Does nothing if it has ended already."""
        if self._status.is_terminal_state():
            return
        self._status = JobStatus.CANCELLING
        self._cancel.set()
        self._attempts.stop()
        self._over.wait(self._configuration.get(CANCEL_TIMEOUT) / 1000 or None)

    def savepoint(self, directory: str = "", end: AfterSavepoint = "") -> str:
        """Takes a savepoint and returns its path when it is complete. With `end` the job then stops or drains."""
        assert self.run is not None
        return self.run.take_savepoint(directory, end)

    def _end(self, status: JobStatus) -> None:
        self._accumulators = self._count_accumulators()
        self._status = status
        retention = (
            self._configuration.get(CHECKPOINT_RETENTION)
            if self.checkpoint.persistent
            else "NO_EXTERNALIZED_CHECKPOINTS"
        )
        if retention == "NO_EXTERNALIZED_CHECKPOINTS" or (
            retention == "DELETE_ON_CANCELLATION" and status is JobStatus.CANCELED
        ):
            latest = LatestCheckpoint.containing(self.checkpoint.folder)
            if latest is not None:
                latest.clear()
            shutil.rmtree(self.checkpoint.folder, ignore_errors=True)
        elif (
            status is JobStatus.FINISHED and not self.keep_open and self.run is not None and not self.run.entry.stopped
        ):
            mark_checkpoint_finished(self.checkpoint.folder)
        self._over.set()

    # -- results

    def accumulators(self) -> dict[str, Any]:
        """Counts so far as `operator.metric`: Flink's metrics, and the metrics of functions."""
        return self._count_accumulators() if self._accumulators is None else self._accumulators

    def _count_accumulators(self) -> dict[str, Any]:
        return count_accumulators(self.program, self.folder.reports.totals(), self.folder.metrics())

    def result(self) -> JobExecutionResult:
        """The result of the job. Removes the run folder."""
        result = self._result()
        self.clean_up()
        return result

    def _result(self) -> JobExecutionResult:
        self._monitor.warn_unread_dead_letters()
        assert self.query is not None
        return JobExecutionResult(
            self.job_id,
            self.checkpoint.resumable_path,
            time.monotonic() - self._start_time,
            last_batches(self.folder, self.query),
            self.accumulators(),
            self.folder.metrics(),
            self.attempt + 1,
        )

    def clean_up(self) -> None:
        """Removes the run folder."""
        remove_private_folder(self.folder.path)

    # -- in the background

    def run_in_background(self) -> None:
        """Waits for the started job in a thread. `finished` receives its result or its failure."""
        threading.Thread(target=self._run, name=f"penstock-job-{self.job_id[:8]}", daemon=True).start()

    def _run(self) -> None:
        try:
            self.wait()
            result = self._result()
        except BaseException as error:
            self.finished.set_exception(error)
        else:
            self.finished.set_result(result)
        self.clean_up()  # after `finished` is set, because its callbacks may read the reports
