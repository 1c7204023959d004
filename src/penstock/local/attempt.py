"""One attempt of a job: opens its functions with the state of the checkpoint, and runs batches until the job ends or fails."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from penstock.connectors.sink import WriteTask
from penstock.connectors.source import Offset
from penstock.engine.host.materialized import FileMaterializedStore
from penstock.engine.program.program import Program
from penstock.engine.slots.control import ControlOffset, ControlRules, Situation, is_due, read_offset
from penstock.jobs.checkpoint.batch_log import START, BatchInput, BatchLog, decode_offsets, encode_offsets
from penstock.jobs.checkpoint.checkpoint import Checkpoint
from penstock.local.batch_start import BatchStart
from penstock.local.executor import BatchExecutor
from penstock.local.reporter import BatchReporter
from penstock.local.requests import JobRequests
from penstock.local.restored_state import read_states
from penstock.local.savepoints import SavepointTaker
from penstock.local.source_planner import SourcePlanner
from penstock.savepoints.restore_plan import RestorePlan

CommittedOutput = tuple[int, list[list[Any]]]  # a batch, and what each sink passes to the program


class Attempt:
    """One attempt of a streaming job. Every batch is a checkpoint, so the next attempt continues after its last batch."""

    def __init__(
        self,
        program: Program,
        checkpoint: Checkpoint,
        requests: JobRequests,
        reporter: BatchReporter,
        savepoints: SavepointTaker,
        start: BatchStart,
        restore: RestorePlan | None,
        keep_open: bool = False,
    ) -> None:
        self._checkpoint = checkpoint
        self._requests = requests
        self._reporter = reporter
        self._savepoints = savepoints
        self._start = start
        self._log = BatchLog(checkpoint.folder)
        self._logged = self._log.open()
        self._input: BatchInput | None = self._logged.input  # of the last committed batch
        run = uuid.uuid4().hex
        self._executor = BatchExecutor(
            program,
            WriteTask(0, 0, run, checkpoint.lineage),
            materialized=FileMaterializedStore(checkpoint.materialized),
        )
        self._planner = SourcePlanner(
            self._executor.program, checkpoint.sources_folder, self._executor.paused_splits, start.buffer_timeout
        )
        self._keep_open = keep_open  # the sinks are not finished, because the job may continue from its checkpoint
        self._rules = ControlRules([s.source for s in self._executor.program.sources], run, keep_open)
        self._control = ControlOffset()
        self._ended = False  # by a savepoint that ends the job
        self._attach_sinks(restore)
        self._open(restore)

    def _attach_sinks(self, restore: RestorePlan | None) -> None:
        program, is_new = self._executor.program, self._logged.input is None
        for uid, sink in zip(program.sink_uids, program.sinks, strict=True):
            sink.attach(self._checkpoint.create_sink_folder(uid))
            if restore is not None and is_new and uid in restore.matched.sinks:
                sink.restore_from(restore.path, restore.matched.sinks[uid])

    def _open(self, restore: RestorePlan | None) -> None:
        """Opens the functions: with the state of the checkpoint, or of the savepoint that a new job starts from."""
        logged = self._logged
        states = logged.slots
        if logged.input is not None:
            self._planner.start(decode_offsets(logged.input.offsets))
            self._control = read_offset(logged.input.control)
        elif restore is not None:
            states = read_states(restore.savepoint, self._executor.program, restore.matched, int(time.time() * 1000))
            self._planner.restore(restore.matched.offsets)
            self._control = read_offset(restore.matched.offsets.get("control") or {})
        else:
            self._planner.start(None)
        self._executor.batch = logged.next_batch
        self._executor.open(states)
        if logged.input is None:
            self._store_start(restore is not None)
        logged.slots = {}  # the executor has them now

    def _store_start(self, has_state: bool) -> None:
        """Stores where a new job starts, so that it starts there again if it fails in its first batch."""
        self._input = self._new_input(START, self._control, self._planner.offsets)
        if has_state:
            self._log.compact(0, self._input, self._executor.slots())
        else:
            self._log.begin(self._input)

    @staticmethod
    def _new_input(batch: int, control: ControlOffset, offsets: list[Offset]) -> BatchInput:
        return BatchInput(batch, int(time.time() * 1000), control.to_json(), encode_offsets(offsets))

    @property
    def had_ended(self) -> bool:
        """Whether an earlier run has processed all input of the job."""
        return self._executor.batch == self._logged.next_batch and self._control.is_final

    @property
    def last_batch(self) -> int:
        """The last committed batch; -1 if there is none."""
        return self._executor.batch - 1

    # -- batches

    def batches(self) -> Iterator[CommittedOutput]:
        """Runs batches and yields the output of each, until the job has ended."""
        if (unfinished := self._logged.unfinished) is not None:
            task = self._executor.write_task
            self._executor.write_task = replace(task, begun_before=unfinished.timestamp)
            yield self._run(unfinished)
            self._executor.write_task = task
        while not self._requests.canceled.is_set():
            planned = self._plan()
            if planned is not None:
                yield self._run(planned)
            elif self._has_ended():
                if not self._keep_open:
                    self._executor.finish_sinks()
                return
            else:
                self._start.wait(self._requests)

    def _has_ended(self) -> bool:
        stop = self._requests.stop
        is_stopping = stop is not None and not stop.drain
        return self._ended or is_stopping or self._rules.has_finished(self._control)

    def _plan(self) -> BatchInput | None:
        """Plans the next batch. None if none is needed now."""
        if self._ended or self._control.is_final:
            return None
        self._savepoints.begin_next()
        requested, stop = self._savepoints.requested, self._requests.stop
        may_start = self._start.may_start() or stop is not None or requested is not None
        if not may_start:
            return None
        offsets = self._planner.offsets
        if stop is None and (requested is None or not requested.end):
            offsets = self._planner.latest(self._requests.max_records or self._executor.program.max_records)
        situation = Situation(self._planner.statuses, stop, requested, self._is_batch_due)
        control = self._rules.next(self._control, situation)
        if control is None and offsets == self._planner.offsets:
            return None
        return self._new_input(self._executor.batch, control or self._control, offsets)

    def _is_batch_due(self) -> bool:
        last = self._reporter.last
        if last is None:
            return False
        return is_due(last.next_wakeup, last.processing_time, self._start.heartbeat, int(time.time() * 1000))

    def _run(self, planned: BatchInput) -> CommittedOutput:
        """Runs a batch: its input is stored first, then its output becomes visible, then its changes are stored."""
        began, executor = time.time(), self._executor
        self._start.begin_batch()
        offsets, control = decode_offsets(planned.offsets), read_offset(planned.control)
        if planned is not self._logged.unfinished:
            self._log.begin(planned)
        frame = None if control.number == self._control.number else control.frame()
        result = executor.run(self._planner.tasks(offsets), frame, planned.timestamp)
        started = time.perf_counter()
        committed = executor.commit_sinks(result)
        committing = time.perf_counter() - started
        self._log.commit(planned.batch, executor.changes())
        executor.complete(result)
        self._planner.advance(offsets)
        announced = control.savepoint_id if control.savepoint_id != self._control.savepoint_id else None
        self._input, self._control = planned, control
        checkpoint = self._reporter.add(
            result,
            executor.sink_wakeups(),
            began=began,
            committing=dict.fromkeys(result.prepared, committing),
            log_bytes=self._log.log_bytes,
            lags=self._planner.lags,
            limits={s.number: s.source.records_per_batch for s in executor.program.sources},
            always=self._start.is_paced,
        )
        self._start.end_batch(checkpoint)
        if self._savepoints.requested is not None and announced == self._savepoints.requested.id:
            self._ended = self._savepoints.take(executor, self._planner.positions(), control)
        if self._log.needs_compaction():
            self._log.compact(executor.batch, planned, executor.slots())
        return planned.batch, committed

    def close(self) -> None:
        """Closes the functions and the log."""
        try:
            self._executor.close()
        finally:
            self._log.close()
