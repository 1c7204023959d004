"""A run of a job as its own process sees it: keeps the entry up to date and hears what others ask."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock.config import TRIGGER_INTERVAL, Configuration
from penstock.jobs import requests, savepoints
from penstock.jobs.checkpoints import Checkpoint, Measured
from penstock.jobs.entry import Failure, JobEntry, Status
from penstock.jobs.history import History
from penstock.jobs.ledger import Ledger
from penstock.jobs.listener import listeners
from penstock.jobs.log import append, process_log
from penstock.jobs.progress import OperatorFigures, StageFigures
from penstock.jobs.registry import Registry
from penstock.jobs.requests import Action
from penstock.jobs.rescaler import Rescaler
from penstock.jobs.rescaling import policy_of
from penstock.jobs.savepoints import SavepointAnswer, SavepointRequest
from penstock.jobs.tally import Report, Tally

_POLL = 0.2
_LEAST = 0.5  # seconds between two writings of the progress
_HEARTBEAT = 5.0
_LONG = 2.0  # seconds without a checkpoint, after which one in progress is looked at


_runs: list[Run] = []


def runs() -> list[Run]:
    """The runs of this process that have begun and not ended."""
    return list(_runs)


class RunningJob(Protocol):
    """What a run asks of the engine's job."""

    def new_reports(self) -> list[Report]:
        """The reports of batches since the last call."""

    def batch_millis(self) -> Mapping[int, int]:
        """How long the last batch took, or the last few, by number."""

    def new_checkpoints(self) -> list[Checkpoint]:
        """What the tasks told of checkpoints since the last call."""

    def uncommitted(self) -> int | None:
        """The batch after the last one that Spark has committed; None while nobody can say."""

    def measured(self, known: int) -> Mapping[int, Measured]:
        """How long the checkpoints after the known one took, by number."""

    def completed(self, checkpoint: Checkpoint) -> None:
        """All is known of this checkpoint now."""

    def in_progress(self, number: int) -> Checkpoint | None:
        """The checkpoint with this number, when tasks of it run now."""

    def metrics(self) -> dict[str, Any]:
        """What the program's functions count so far, as operator.metric."""

    def is_planned(self) -> bool:
        """Whether the first batch was planned: from then on the job really runs."""

    def stages(self) -> list[StageFigures]:
        """How far a batch job is; none of others."""

    def limit(self, records: int) -> None:
        """Changes how many records a source admits to a batch, from the next one on."""

    def end_by(self, action: Action) -> None:
        """Begins to stop, drain or cancel; gives at once."""

    def save(self, request: SavepointRequest, tell: Callable[[SavepointAnswer], None]) -> None:
        """Begins to take a savepoint; gives at once, and tells how far it is."""


class Run:
    """One run. `begin` when the query has started, `end` when it is over; between them a thread of its own looks on."""

    def __init__(
        self, registry: Registry, entry: JobEntry, operators: list[OperatorFigures], configuration: Configuration
    ) -> None:
        self.entry = entry
        self.tally = Tally(operators)
        self._registry = registry
        self._job: RunningJob | None = None
        self._over = threading.Event()
        self._ending = threading.Lock()
        self._ended = False
        self._thread: threading.Thread | None = None
        self._heard: Action | None = None
        self._limit: int | None = None
        self._written = 0.0
        self._complained = False
        history = History(registry.job_folder(entry.id))
        self._ledger = Ledger(history, configuration.get(TRIGGER_INTERVAL) / 1000)
        policy = policy_of(configuration, max(entry.parallelism, os.cpu_count() or 1))
        self._rescaler = Rescaler(policy, entry, history, self.note)
        self._measured = -1  # the last checkpoint that Spark told of
        self._checkpoint_at = self._looked_at = time.monotonic()
        self._safely(lambda: self._register(configuration))
        if not listeners():
            print(f"penstock: {entry.introduction}", file=sys.stderr)
        for listener in listeners():
            listener.created(entry)

    def _register(self, configuration: Configuration) -> None:
        entry, registry = self.entry, self._registry
        before = registry.entry(entry.id)
        if before is not None:
            entry.runs = before.runs + 1
        self._ledger.begin(entry.runs)
        entry.log = str(process_log(registry.logs))
        requests.forget(registry, entry.id)
        savepoints.forget_requests(registry, entry.id)
        registry.write(entry)
        registry.write_progress(entry.id, self.tally.progress)
        self.note(f"{entry.introduction}, '{entry.name}', run {entry.runs}")
        registry.prune_as(configuration)

    def begin(self, job: RunningJob) -> None:
        """From here on the job's batches are looked at, and others may ask it to end."""
        self._job = job
        self._thread = threading.Thread(target=self._look, name=f"penstock-run-{self.entry.id[:8]}", daemon=True)
        self._thread.start()
        _runs.append(self)
        atexit.register(self._program_ended)

    def _look(self) -> None:
        while not self._over.wait(_POLL):
            try:
                self._take_reports()
                self._hear()
                self._take_checkpoints()
                self._rescaler.look()
            except Exception as error:  # Spark may be gone, or a report unreadable: the job itself will tell
                self.note(f"job {self.entry.id}: cannot look at it: {error!r}")

    def _take_reports(self) -> None:
        assert self._job is not None
        reports = self._job.new_reports()
        for report in reports:
            self._take(report)
        if self.entry.status == "created" and (reports or self._job.is_planned()):
            self.entry.status = "running"
            self._safely(lambda: self._registry.write(self.entry))
        moved = self._look_at_stages()
        now = time.monotonic()
        if now - self._written >= (_LEAST if reports or moved or self._unmeasured() else _HEARTBEAT):
            self._written = now
            self._write()

    def _take_checkpoints(self) -> None:
        assert self._job is not None
        told, now = self._job.new_checkpoints(), time.monotonic()
        if told:
            self._checkpoint_at = now
        measured = self._job.measured(self._measured) if told or self._ledger.waiting else {}
        self._measured = max(measured, default=self._measured)
        self._safely(lambda: self._keep(told, measured))
        if min(now - self._checkpoint_at, now - self._looked_at) > _LONG:
            self._looked_at = now
            current = self._job.in_progress(self._ledger.next)
            self._safely(lambda: self._ledger.show(current))

    def _keep(self, told: list[Checkpoint], measured: Mapping[int, Measured]) -> None:
        assert self._job is not None
        for checkpoint in self._ledger.take(told, measured, time.time()):
            self._job.completed(checkpoint)

    def checkpoint_failed(self, reason: str) -> None:
        """The batch that ran was not committed."""
        batch = None
        with contextlib.suppress(Exception):  # the store does not answer
            batch = None if self._job is None else self._job.uncommitted()
        self._safely(lambda: self._ledger.fail(reason, time.time(), batch))

    def _look_at_stages(self) -> bool:
        """Whether a batch job has done more since the last look."""
        assert self._job is not None
        stages = self._job.stages()
        if stages == self.tally.progress.stages:
            return False
        self.tally.progress.stages = stages
        for listener in listeners():
            listener.moved(self.entry, self.tally.progress)
        return True

    def _unmeasured(self) -> bool:
        recent = self.tally.progress.recent
        return bool(recent) and recent[-1].millis is None

    def _take(self, report: Report) -> None:
        self.tally.add(report)
        for listener in listeners():
            listener.batch(self.entry, self.tally.progress, report)

    def _write(self) -> None:
        self._measure()
        self.tally.refresh()
        self._safely(lambda: self._registry.write(self.entry))
        self._safely(lambda: self._registry.write_progress(self.entry.id, self.tally.progress))

    def _measure(self) -> None:
        assert self._job is not None
        with contextlib.suppress(Exception):  # Spark may be gone
            self.tally.measured(self._job.batch_millis())
            self.tally.progress.metrics = self._job.metrics()

    def _hear(self) -> None:
        """A later request may be stronger than an earlier one: cancel after stop."""
        limit = requests.limit_asked(self._registry, self.entry.id)
        if limit is not None and limit != self._limit and self._job is not None:
            self._limit = limit
            self.note(f"job {self.entry.id}: asked to take at most {limit} records of a source into a batch")
            self._job.limit(limit)
        for savepoint in savepoints.take_requests(self._registry, self.entry.id):
            self.save(savepoint)
        request = requests.asked(self._registry, self.entry.id)
        if request is not None and request.action != self._heard:
            self.end_by(request.action)

    def save(self, request: SavepointRequest, also: Callable[[SavepointAnswer], None] = lambda answer: None) -> None:
        """Asks the job for a savepoint; gives at once. The registry is told how far it is, and who else wants to know."""

        def tell(answer: SavepointAnswer) -> None:
            self._safely(lambda: savepoints.tell_answer(self._registry, self.entry.id, answer))
            if answer.status == "failed" and request.end:
                self.entry.stopped = ""  # it goes on
            if answer.is_over:
                told = answer.path if answer.status == "done" else f"[{answer.code}] {answer.error}"
                self.note(f"job {self.entry.id}: savepoint {request.id} {answer.status}: {told}")
            also(answer)

        assert self._job is not None
        self.note(f"job {self.entry.id}: asked for savepoint {request.id}")
        if request.end:
            self.entry.stopped = request.end
        self._job.save(request, tell)

    def end_by(self, action: Action) -> None:
        """Asks the job to end; gives at once."""
        if self._heard == "cancel" or self._job is None:
            return
        self._heard = action
        self.note(f"job {self.entry.id}: asked to {action}")
        if action != "cancel":
            self.entry.stopped = action
        self._job.end_by(action)

    def end(self, status: Status, failure: Failure | None = None) -> None:
        """The job runs no more; only the first word counts."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._job is not None:
            for report in self._job.new_reports():
                self._take(report)
            self._measure()
            self._end_checkpoints(failure)
            _runs.remove(self)
            atexit.unregister(self._program_ended)
        entry = self.entry
        entry.status, entry.error, entry.ended, entry.waits = status, failure, time.time(), ""
        if status != "finished":
            entry.stopped = ""
        self._safely(lambda: self._registry.write_progress(entry.id, self.tally.progress))
        self._safely(lambda: self._registry.write(entry))
        told = f"{status}" if failure is None else f"{status}: [{failure.code}] {failure.text}"
        self.note(f"job {entry.id}: {told}")
        for listener in listeners():
            listener.ended(entry, self.tally.progress)

    def _end_checkpoints(self, failure: Failure | None) -> None:
        with contextlib.suppress(Exception):  # Spark may be gone
            self._take_checkpoints()
        self._safely(self._ledger.end)
        if failure is not None:
            self.checkpoint_failed(f"[{failure.code}] {failure.text}")

    def _program_ended(self) -> None:
        self.end("cancelled", Failure("PROGRAM_ENDED", "The program ended while the job was running."))

    def waits(self, words: str) -> None:
        """Tells what the job waits for; an empty text: it goes on."""
        if words == self.entry.waits:
            return
        self.entry.waits = words
        self.tell(words or "goes on")
        self._safely(lambda: self._registry.write(self.entry))

    def tell(self, text: str) -> None:
        """Something for people: on the terminal, and in the log."""
        self.note(f"job {self.entry.id}: {text}")
        if not listeners():
            print(f"penstock: job {self.entry.id}: {text}", file=sys.stderr)
        for listener in listeners():
            listener.told(self.entry, text)

    def note(self, text: str) -> None:
        """Adds a line to the log."""
        if self.entry.log:
            self._safely(lambda: append(process_log(self._registry.logs), text))

    def _safely(self, write: Callable[[], None]) -> None:
        """A job does not fail because nobody can look it up: a full disk or a folder of another user is told once."""
        try:
            write()
        except OSError as error:
            if not self._complained:
                print(f"penstock: job {self.entry.id} cannot be registered: {error}", file=sys.stderr)
            self._complained = True
