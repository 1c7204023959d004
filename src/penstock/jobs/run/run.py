"""A run of a job in its own process. It updates the registry and processes requests of other processes."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from penstock.config import Configuration
from penstock.config.execution_options import TRIGGER_INTERVAL
from penstock.errors import CheckpointError
from penstock.jobs.actions.detached_rescale import start_detached_rescale
from penstock.jobs.leftovers.background import start_cleaning
from penstock.jobs.registry import requests
from penstock.jobs.registry import savepoint_requests as savepoints
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.registry.entry import Failure, JobEntry, Status
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.launch_file import StoredLaunch, write_launch
from penstock.jobs.registry.progress import OperatorProgress, StageProgress
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.requests import EndAction
from penstock.jobs.registry.savepoint_requests import (
    AfterSavepoint,
    SavepointProgress,
    SavepointRequest,
    new_savepoint_request,
)
from penstock.jobs.run.ledger import CheckpointLedger
from penstock.jobs.run.listener import active_listeners
from penstock.jobs.run.log import append_lines, process_log
from penstock.jobs.run.rescale_policy import read_policy
from penstock.jobs.run.rescaler import Rescaler
from penstock.jobs.run.tally import Tally

_POLL = 0.2  # seconds
_WRITE_INTERVAL = 0.5  # seconds between two writes of the progress, while it changes
_HEARTBEAT = 5.0  # seconds between two writes otherwise
_SHOW_AFTER = 2.0  # seconds without a checkpoint, after which the one in progress is shown


_active_runs: list[Run] = []


def active_runs() -> list[Run]:
    """Returns the runs of this process that have begun and not ended."""
    return list(_active_runs)


class RunningJob(Protocol):
    """What a run needs from the job of an engine."""

    def new_reports(self) -> list[BatchReport]:
        """Returns the reports of the batches since the last call."""

    def batch_millis(self) -> Mapping[int, int]:
        """Returns the durations of the last batches in milliseconds, by number."""

    def new_checkpoints(self) -> list[CheckpointStats]:
        """Returns the checkpoints that tasks have reported since the last call."""

    def first_uncommitted_batch(self) -> int | None:
        """Returns the number of the batch after the last committed one, or None if it is unknown."""

    def new_timings(self, known: int) -> Mapping[int, SparkTimings]:
        """Returns the timings of the checkpoints after the checkpoint `known`, by number."""

    def on_checkpoint_complete(self, checkpoint: CheckpointStats) -> None:
        """Called when reports and timings of a checkpoint are complete."""

    def checkpoint_in_progress(self, number: int) -> CheckpointStats | None:
        """Returns the checkpoint with this number if its tasks are running."""

    def metrics(self) -> dict[str, Any]:
        """Returns the metrics of user functions, as `operator.metric`."""

    def is_planned(self) -> bool:
        """Whether the first batch was planned. From then on the status of the job is running."""

    def stages(self) -> list[StageProgress]:
        """Returns the stages of a batch job; empty for other jobs."""

    def limit_batch_records(self, records: int) -> None:
        """Changes the most records of a source per batch, from the next batch on."""

    def request_end(self, action: EndAction) -> None:
        """Starts to stop, drain or cancel the job. Returns immediately."""

    def request_savepoint(self, request: SavepointRequest, on_progress: Callable[[SavepointProgress], None]) -> None:
        """Starts to take a savepoint. Returns immediately. `on_progress` is called with its progress."""


class Run:
    """One run of a job. Call `begin` when the query has started and `end` when it has ended; a thread watches it in between."""

    def __init__(
        self, registry: Registry, entry: JobEntry, operators: list[OperatorProgress], configuration: Configuration
    ) -> None:
        self.entry = entry
        self.tally = Tally(operators)
        self._registry = registry
        self._job: RunningJob | None = None
        self._stopped = threading.Event()
        self._end_lock = threading.Lock()
        self._ended = False
        self._thread: threading.Thread | None = None
        self._requested_action: EndAction | None = None
        self._record_limit: int | None = None
        self._written_at = 0.0
        self._error_reported = False
        history = CheckpointHistory(registry.job_folder(entry.id))
        self._ledger = CheckpointLedger(history, configuration.get(TRIGGER_INTERVAL) / 1000)
        policy = read_policy(configuration, max(entry.parallelism, os.cpu_count() or 1))
        self._rescaler = Rescaler(
            policy, entry, history, self.log, lambda parallelism: start_detached_rescale(registry, entry, parallelism)
        )
        self._last_timed = -1  # the last checkpoint with timings
        self._checkpoint_at = self._shown_at = time.monotonic()
        self._ignore_os_errors(lambda: self._register(configuration))
        self._ignore_os_errors(self._store_launch)
        if not active_listeners():
            print(f"penstock: {entry.start_message}", file=sys.stderr)
        for listener in active_listeners():
            listener.on_created(entry)

    def _register(self, configuration: Configuration) -> None:
        entry, registry = self.entry, self._registry
        before = registry.entry(entry.id)
        if before is not None:
            entry.runs = before.runs + 1
        self._ledger.begin(entry.runs)
        entry.log = str(process_log(registry.logs))
        requests.clear_requests(registry, entry.id)
        savepoints.clear_savepoint_requests(registry, entry.id)
        registry.write_progress(entry.id, self.tally.progress)  # first, so that no reader sees that of an earlier run
        registry.write(entry)
        self.log(f"{entry.start_message}, '{entry.name}', run {entry.runs}")
        registry.prune_by_options(configuration)
        start_cleaning(configuration)

    def _store_launch(self) -> None:
        entry = self.entry
        if entry.checkpoint and entry.launch is not None:
            write_launch(entry.checkpoint, StoredLaunch(entry.id, entry.name, entry.launch))

    def begin(self, job: RunningJob) -> None:
        """Starts to watch the batches of the job and requests of other processes."""
        self._job = job
        self._thread = threading.Thread(target=self._watch, name=f"penstock-run-{self.entry.id[:8]}", daemon=True)
        self._thread.start()
        _active_runs.append(self)
        atexit.register(self._end_with_program)

    def _watch(self) -> None:
        while not self._stopped.wait(_POLL):
            try:
                self._process_reports()
                self._process_requests()
                self._process_checkpoints()
                self._rescaler.check()
            except (
                Exception
            ) as error:  # Spark may have stopped, or a report is unreadable. The job itself will fail then.
                self.log(f"job {self.entry.id}: cannot watch the job: {error!r}")

    def _process_reports(self) -> None:
        assert self._job is not None
        reports = self._job.new_reports()
        for report in reports:
            self._process_report(report)
        if self.entry.status == "created" and (reports or self._job.is_planned()):
            self.entry.status = "running"
            self._ignore_os_errors(lambda: self._registry.write(self.entry))
        stages_changed = self._update_stages()
        now = time.monotonic()
        if now - self._written_at >= (
            _WRITE_INTERVAL if reports or stages_changed or self._awaits_duration() else _HEARTBEAT
        ):
            self._written_at = now
            self._write_progress()

    def _process_checkpoints(self) -> None:
        assert self._job is not None
        new, now = self._job.new_checkpoints(), time.monotonic()
        if new:
            self._checkpoint_at = now
        timings = self._job.new_timings(self._last_timed) if new or self._ledger.has_pending else {}
        self._last_timed = max(timings, default=self._last_timed)
        self._ignore_os_errors(lambda: self._add_checkpoints(new, timings))
        if min(now - self._checkpoint_at, now - self._shown_at) > _SHOW_AFTER:
            self._shown_at = now
            current = self._job.checkpoint_in_progress(self._ledger.next)
            self._ignore_os_errors(lambda: self._ledger.show_in_progress(current))

    def _add_checkpoints(self, new: list[CheckpointStats], timings: Mapping[int, SparkTimings]) -> None:
        assert self._job is not None
        for checkpoint in self._ledger.add(new, timings, time.time()):
            self._job.on_checkpoint_complete(checkpoint)

    def checkpoint_failed(self, reason: str) -> None:
        """Records that the batch that was running has failed."""
        batch = None
        with contextlib.suppress(Exception):  # checkpoint storage may not answer
            batch = None if self._job is None else self._job.first_uncommitted_batch()
        self._ignore_os_errors(lambda: self._ledger.fail(reason, time.time(), batch))

    def _update_stages(self) -> bool:
        """Updates the stages of a batch job. Returns whether they have changed."""
        assert self._job is not None
        stages = self._job.stages()
        if stages == self.tally.progress.stages:
            return False
        self.tally.progress.stages = stages
        for listener in active_listeners():
            listener.on_stages(self.entry, self.tally.progress)
        return True

    def _awaits_duration(self) -> bool:
        recent = self.tally.progress.recent
        return bool(recent) and recent[-1].millis is None

    def _process_report(self, report: BatchReport) -> None:
        self.tally.add(report)
        for listener in active_listeners():
            listener.on_batch(self.entry, self.tally.progress, report)

    def _write_progress(self) -> None:
        self._update_metrics()
        self.tally.refresh()
        self._ignore_os_errors(lambda: self._registry.write(self.entry))
        self._ignore_os_errors(lambda: self._registry.write_progress(self.entry.id, self.tally.progress))

    def _update_metrics(self) -> None:
        assert self._job is not None
        with contextlib.suppress(Exception):  # Spark may have stopped
            self.tally.set_batch_millis(self._job.batch_millis())
            self.tally.progress.metrics = self._job.metrics()

    def _process_requests(self) -> None:
        """Processes requests in the registry. A later request may be stronger, such as cancel after stop."""
        limit = requests.read_limit(self._registry, self.entry.id)
        if limit is not None and limit != self._record_limit and self._job is not None:
            self._record_limit = limit
            self.log(f"job {self.entry.id}: limit of records per batch and source set to {limit}")
            self._job.limit_batch_records(limit)
        for savepoint in savepoints.take_savepoint_requests(self._registry, self.entry.id):
            self.request_savepoint(savepoint)
        request = requests.read_end_request(self._registry, self.entry.id)
        if request is not None and request.action != self._requested_action:
            self.request_end(request.action)

    def take_savepoint(self, directory: str = "", end: AfterSavepoint = "") -> str:
        """Takes a savepoint and returns its path when it is complete. With `end` the job then stops or drains."""
        path: Future[str] = Future()

        def on_progress(progress: SavepointProgress) -> None:
            if progress.status == "done":
                path.set_result(progress.path)
            elif progress.status == "failed":
                path.set_exception(CheckpointError(progress.code, progress.error))

        self.request_savepoint(new_savepoint_request(directory, end), on_progress)
        return path.result()

    def request_savepoint(
        self, request: SavepointRequest, also: Callable[[SavepointProgress], None] = lambda answer: None
    ) -> None:
        """Starts a savepoint. Returns immediately. Its progress goes to the registry and to `also`."""

        def on_progress(answer: SavepointProgress) -> None:
            self._ignore_os_errors(lambda: savepoints.write_savepoint_progress(self._registry, self.entry.id, answer))
            if answer.status == "failed" and request.end:
                self.entry.stopped = ""  # the job continues
            if answer.is_over:
                result = answer.path if answer.status == "done" else f"[{answer.code}] {answer.error}"
                self.log(f"job {self.entry.id}: savepoint {request.id} {answer.status}: {result}")
            also(answer)

        assert self._job is not None
        self.log(f"job {self.entry.id}: savepoint {request.id} requested")
        if request.end:
            self.entry.stopped = request.end
        self._job.request_savepoint(request, on_progress)

    def request_end(self, action: EndAction) -> None:
        """Starts to stop, drain or cancel the job. Returns immediately."""
        if self._requested_action == "cancel" or self._job is None:
            return
        self._requested_action = action
        self.log(f"job {self.entry.id}: {action} requested")
        if action != "cancel":
            self.entry.stopped = action
        self._job.request_end(action)

    def end(self, status: Status, failure: Failure | None = None) -> None:
        """Records the end of the job. Only the first call has an effect."""
        with self._end_lock:
            if self._ended:
                return
            self._ended = True
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._job is not None:
            for report in self._job.new_reports():
                self._process_report(report)
            self._update_metrics()
            self._end_checkpoints(failure)
            _active_runs.remove(self)
            atexit.unregister(self._end_with_program)
        entry = self.entry
        entry.status, entry.error, entry.ended, entry.waits = status, failure, time.time(), ""
        if status != "finished":
            entry.stopped = ""
        self._ignore_os_errors(lambda: self._registry.write_progress(entry.id, self.tally.progress))
        result = f"{status}" if failure is None else f"{status}: [{failure.code}] {failure.text}"
        self.log(f"job {entry.id}: {result}")  # before the entry, since readers of the log stop when the job has ended
        self._ignore_os_errors(lambda: self._registry.write(entry))
        for listener in active_listeners():
            listener.on_ended(entry, self.tally.progress)

    def _end_checkpoints(self, failure: Failure | None) -> None:
        with contextlib.suppress(Exception):  # Spark may have stopped
            self._process_checkpoints()
        self._ignore_os_errors(self._ledger.end)
        if failure is not None:
            self.checkpoint_failed(f"[{failure.code}] {failure.text}")

    def _end_with_program(self) -> None:
        self.end("cancelled", Failure("PROGRAM_ENDED", "The program ended while the job was running."))

    def set_waiting(self, reason: str) -> None:
        """Records what the job waits for. With an empty text the job continues."""
        if reason == self.entry.waits:
            return
        self.entry.waits = reason
        self.announce(reason or "continues")
        self._ignore_os_errors(lambda: self._registry.write(self.entry))

    def announce(self, text: str) -> None:
        """Writes a message to the terminal and to the log."""
        self.log(f"job {self.entry.id}: {text}")
        if not active_listeners():
            print(f"penstock: job {self.entry.id}: {text}", file=sys.stderr)
        for listener in active_listeners():
            listener.on_message(self.entry, text)

    def log(self, text: str) -> None:
        """Adds a line to the log."""
        if self.entry.log:
            self._ignore_os_errors(lambda: append_lines(process_log(self._registry.logs), text))

    def _ignore_os_errors(self, write: Callable[[], None]) -> None:
        """A job does not fail if its registry entry cannot be written, as on a full disk. The error is printed once."""
        try:
            write()
        except OSError as error:
            if not self._error_reported:
                print(f"penstock: job {self.entry.id} cannot be registered: {error}", file=sys.stderr)
            self._error_reported = True
