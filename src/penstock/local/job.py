"""One job in this process, from its start to its end, over any number of attempts."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_RETENTION
from penstock.config.execution_options import BATCH_RECORDS, CANCEL_TIMEOUT
from penstock.config.state_options import BACKEND
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.datastream.jobs.job_status import JobStatus
from penstock.engine.program.builder import build_program
from penstock.engine.program.program import Program
from penstock.engine.wire.log_capture import LogLine, capture_logs, replay_lines
from penstock.errors import CheckpointError, JobError
from penstock.jobs.checkpoint.checkpoint import Checkpoint, open_checkpoint
from penstock.jobs.registry.entry import IN_PROCESS
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint, named_folder
from penstock.jobs.registry.program_jobs import first_job, next_job
from penstock.jobs.registry.savepoint_requests import (
    AfterSavepoint,
    SavepointProgress,
    SavepointRequest,
)
from penstock.jobs.run.accumulators import count_accumulators
from penstock.jobs.run.driver_outputs import DriverOutput, DriverOutputs
from penstock.jobs.run.registration import end_run, end_run_on_error, register
from penstock.jobs.run.restarts import DefaultRestarts, is_retryable, restart_strategy, restarts_by_default
from penstock.jobs.run.resumption import ended_message, keep_parallelism
from penstock.jobs.run.run import Run
from penstock.local.attempt import Attempt, CommittedOutput
from penstock.local.batch_start import BatchStart
from penstock.local.registered_job import RegisteredJob
from penstock.local.reporter import BatchReporter
from penstock.local.requests import JobRequests, Report
from penstock.local.savepoint_source import open_saved_state
from penstock.local.savepoints import SavepointTaker
from penstock.local.supported import check_supported
from penstock.local.user_files import UserFiles
from penstock.local.whole_job import WholeJobAttempt
from penstock.plan.graph import JobGraph
from penstock.savepoints.restore_plan import plan_restore

ENGINE = "local"


class InProcessJob:
    """One job. The thread that calls `wait` runs its batches."""

    def __init__(self, graph: JobGraph, configuration: Configuration, files: UserFiles | None = None) -> None:
        check_supported(graph, configuration)
        number, configuration = next_job(graph, configuration)
        graph = keep_parallelism(graph, configuration)
        self.program: Program = build_program(graph)
        self.program.max_records = configuration.get(BATCH_RECORDS) or None
        self.program.caches_state = configuration.get(BACKEND) == "hashmap"
        latest = LatestCheckpoint(named_folder(configuration, self.program.name))
        self._restore = plan_restore(
            self.program, configuration, lambda path: open_saved_state(path, self.program), latest.started_from
        )
        from_savepoint = "" if self._restore is None else self._restore.path
        self.checkpoint: Checkpoint = open_checkpoint(
            self.program, configuration, engine=ENGINE, from_savepoint=from_savepoint
        )
        self.place = number, first_job(number, self.checkpoint.job_id, configuration)  # in the program
        self.requests = JobRequests()
        self.reporter = BatchReporter(self.program)
        self.run: Run | None = None  # its entry in the registry
        self.keep_open = False  # a scripted job stops after its script, without the final watermark
        self.finished: Future[JobExecutionResult] = Future()  # of a job that runs in the background
        self._configuration = configuration
        self._files = files or UserFiles({})
        self._savepoints = SavepointTaker(self.checkpoint, configuration, self.requests)
        self._start = BatchStart(configuration)
        unbounded = not self.program.batch_mode and any(not s.source.bounded for s in self.program.sources)
        self._strategy = restart_strategy(configuration, unbounded)
        self._default = DefaultRestarts() if restarts_by_default(configuration, unbounded) else None
        self._outputs = DriverOutputs(self.program.sinks)
        self._status = JobStatus.CREATED
        self._over = threading.Event()
        self._start_time = 0.0  # of the monotonic clock
        self._attempt_number = 0
        self._last_batch = -1  # the last committed batch at the end of an attempt

    @property
    def job_id(self) -> str:
        return self.checkpoint.job_id

    def status(self) -> JobStatus:
        return self._status

    # -- start

    def start(self) -> None:
        """Registers the run. Its batches begin when `wait` is called."""
        self.checkpoint.lock.acquire()
        try:
            self.run = register(self.program, self.checkpoint, self._configuration, self.place, IN_PROCESS)
            with end_run_on_error(self.run):
                if self._restore is not None:
                    for message in self._restore.messages():
                        self.run.log(f"job {self.job_id}: {message}")
                    self._restore.warn_dropped()
                self._start_time = time.monotonic()
                self.run.begin(RegisteredJob(self))
        except BaseException:
            self.checkpoint.lock.release()
            raise
        self._status = JobStatus.RUNNING

    # -- until it ends

    def wait(self) -> None:
        """Runs the job until it has ended. Meanwhile prints and collects the outputs of its sinks."""
        for _ in self.driver_outputs():
            pass

    def elements(self, sink: int) -> Iterator[Any]:
        """The elements of a collecting sink. The job runs while the caller iterates; closing the iterator cancels it."""
        outputs = self.driver_outputs()
        return (element for _, output in outputs for element in output.get(sink, ()))

    def driver_outputs(self) -> Iterator[tuple[int, DriverOutput]]:
        """Runs the job. Yields the outputs that sinks deliver to the program, by batch and sink."""
        outputs = self._outputs_until_end()
        next(outputs)  # from now on, closing the iterator ends the job
        return outputs

    def _outputs_until_end(self) -> Iterator[tuple[int, DriverOutput]]:
        assert self.run is not None
        with end_run(self.run):
            yield from self._run_attempts()

    def _run_attempts(self) -> Iterator[tuple[int, DriverOutput]]:
        final_status = JobStatus.CANCELED  # also if the caller closes the iterator
        try:
            yield -1, {}  # runs to here before the caller reads the first output
            while not self.requests.canceled.is_set():
                failure = None
                try:
                    for batch, committed in self._run_attempt():
                        output = {number: elements for number, elements in enumerate(committed) if elements}
                        if self._outputs.deliver(batch, output):
                            yield batch, output
                except Exception as error:
                    failure = error
                if failure is not None:
                    self._restart(failure)
                elif not self.requests.canceled.is_set():
                    final_status = JobStatus.FINISHED
                    return
            raise self._canceled_error()
        except Exception:
            if not self.requests.canceled.is_set():
                final_status = JobStatus.FAILED
            raise
        finally:
            self._end(final_status)

    def _run_attempt(self) -> Iterator[CommittedOutput]:
        """Runs one attempt. Functions run with the files of the program, and their log lines go to the log of the job too."""
        self.program.attempt = self._attempt_number
        attempt: Attempt | WholeJobAttempt | None = None
        try:
            with self._captured_logs():
                attempt = self._new_attempt()
            batches = attempt.batches()
            while True:
                with self._captured_logs():
                    output = next(batches, None)
                if output is None:
                    return
                self._check_lock()
                self.reporter.warn_unread_dead_letters()
                yield output
        finally:
            if attempt is not None:
                self._last_batch = attempt.last_batch
                with self._captured_logs():
                    attempt.close()

    def _new_attempt(self) -> Attempt | WholeJobAttempt:
        program, checkpoint = self.program, self.checkpoint
        checkpoint.require_present()
        if program.batch_mode:
            return WholeJobAttempt(program, checkpoint, self.requests, self.reporter)
        attempt = Attempt(
            program,
            checkpoint,
            self.requests,
            self.reporter,
            self._savepoints,
            self._start,
            self._restore,
            self.keep_open,
        )
        if attempt.had_ended and self.run is not None:
            self.run.announce(ended_message(checkpoint))
        return attempt

    @contextmanager
    def _captured_logs(self) -> Iterator[None]:
        with self._files.in_use(), capture_logs(self._forward_logs) as capture:
            capture.set_levels(self.program.log_levels)
            yield

    def _forward_logs(self, lines: list[LogLine]) -> None:
        if not lines:
            return
        assert self.run is not None
        self.run.log("\n".join(f"{logging.getLevelName(line.level)} {line.logger} {line}" for line in lines))
        if not logging.getLogger().handlers:  # nobody has configured logging, so no other handler has seen them
            replay_lines(lines)

    def _check_lock(self) -> None:
        lock = self.checkpoint.lock
        if lock.lost or lock.unreachable:
            self.checkpoint.require_present()
        if lock.lost:
            raise CheckpointError(
                "CHECKPOINT_LOST",
                f"Another job has taken over the checkpoint {self.checkpoint.folder}, because this process did not renew its "
                "lock in time. This job stops. The batches that it committed are in the checkpoint.",
            )

    def _restart(self, failure: Exception) -> None:
        """Waits for the next attempt after a failure, or raises the failure if the job cannot be restarted."""
        assert self.run is not None
        delay = self._strategy.delay_after_failure(time.monotonic() * 1000) if self._may_restart(failure) else None
        if delay is None or self.requests.canceled.is_set():
            raise failure
        self._status = JobStatus.RESTARTING
        self.run.checkpoint_failed(str(failure))
        self.run.set_waiting(f"failed and is restarted in {delay / 1000:.1f} s: {failure}")
        if not self.requests.canceled.wait(delay / 1000):
            self._attempt_number += 1
            self._status = JobStatus.RUNNING
            self.run.set_waiting("")

    def _may_restart(self, failure: Exception) -> bool:
        if not is_retryable(failure):
            return False
        return self._default is None or self._default.allows(failure, self._last_batch)

    # -- end

    def _canceled_error(self) -> JobError:
        rest = (
            f"The checkpoint {self.checkpoint.folder} holds its state as of the last committed batch."
            if self.checkpoint.persistent
            else "It ran in batch mode, so nothing was committed."
        )
        return JobError("JOB_CANCELED", f"Job {self.job_id} was cancelled. {rest}")

    def _end(self, status: JobStatus) -> None:
        self._files.remove()
        self.checkpoint.lock.release()
        self._status = status
        self._savepoints.fail_all()
        retention = self._configuration.get(CHECKPOINT_RETENTION)
        if (
            not self.checkpoint.persistent
            or retention == "NO_EXTERNALIZED_CHECKPOINTS"
            or (retention == "DELETE_ON_CANCELLATION" and status is JobStatus.CANCELED)
        ):
            latest = LatestCheckpoint.containing(self.checkpoint.folder)
            if latest is not None:
                latest.clear()
            shutil.rmtree(self.checkpoint.folder, ignore_errors=True)
        self._over.set()

    def cancel(self) -> None:
        """Ends the job from another thread and waits until it has ended. Does nothing if it has ended already."""
        if self._status.is_terminal_state():
            return
        self._status = JobStatus.CANCELLING
        self.requests.cancel()
        self._over.wait(self._configuration.get(CANCEL_TIMEOUT) / 1000 or None)

    def savepoint(self, directory: str = "", end: AfterSavepoint = "") -> str:
        """Takes a savepoint and returns its path when it is complete. With `end` the job then stops or drains."""
        assert self.run is not None
        return self.run.take_savepoint(directory, end)

    def request_savepoint(self, request: SavepointRequest, report: Report) -> None:
        """Requests a savepoint after the current batch. Returns immediately. `report` is called with its progress."""
        progress = SavepointProgress(request.id, end=request.end, requested_at=request.requested_at)
        if self.program.batch_mode:
            progress.status, progress.code = "failed", "SAVEPOINTS"
            progress.error = f"Job '{self.program.name}' runs in batch mode. It cannot take savepoints."
            report(progress)
            return
        report(progress)
        self.requests.request_savepoint(request, report)
        if self._status.is_terminal_state():  # it has ended meanwhile, and nobody reads the request
            self._savepoints.fail_all()

    # -- results

    def accumulators(self) -> dict[str, Any]:
        """Counts so far as `operator.metric`: Flink's metrics, and the metrics of functions."""
        return count_accumulators(self.program, self.reporter.totals, self.reporter.metrics)

    def result(self) -> JobExecutionResult:
        """The result of a job that has ended."""
        return JobExecutionResult(
            self.job_id,
            self.checkpoint.resumable_path,
            time.monotonic() - self._start_time,
            self.reporter.latest(),
            self.accumulators(),
            self.reporter.metrics,
            self._attempt_number + 1,
        )

    # -- in the background

    def run_in_background(self) -> None:
        """Runs the started job in a thread. `finished` receives its result or its failure."""
        threading.Thread(target=self._run, name=f"penstock-job-{self.job_id[:8]}", daemon=True).start()

    def _run(self) -> None:
        try:
            self.wait()
            result = self.result()
        except BaseException as error:
            self.finished.set_exception(error)
        else:
            self.finished.set_result(result)
