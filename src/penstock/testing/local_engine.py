"""Runs the program of a job for a test, batch by batch, with the executor of the local engine."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.connectors.sink import WriteTask
from penstock.engine.host.reports import sum_dead_letters, warn_unread_dead_letters
from penstock.engine.program.declared_state import key_types
from penstock.engine.program.program import Program
from penstock.engine.slots.rescale import SlotState, rescale
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import Control, SlotReport, SourceTaskReport
from penstock.engine.wire.log_capture import LogLine, capture_logs
from penstock.local.executor import BatchExecutor, PlannedTask, SlotKey
from penstock.local.restored_state import read_states
from penstock.metrics import JobMetrics
from penstock.metrics.values import MetricsDelta
from penstock.savepoints.matching import RestoreMatch, match_savepoint
from penstock.savepoints.saved_job import SavepointInfo, describe_job
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.slot_part import chunked_scan
from penstock.savepoints.writing import SlotContents, write_savepoint


class _JobSnapshot(msgspec.Struct, array_like=True):
    """The state of a job between two batches."""

    batch: int
    max_parallelism: int
    slots: list[tuple[int, int, SlotMetadata, dict[bytes, bytes]]]
    undeclared_keys: frozenset[str] = frozenset()  # keyed operators without a declared key type


class LocalJob:
    """Runs a job batch by batch. A batch that fails changes nothing.

    `Harness` uses it. Tests need it only to inspect state, or to make a batch fail (`after_slot`).
    """

    def __init__(self, program: Program, seed: int = 0) -> None:
        # Bundles are shuffled, because results must not depend on their order.
        self._executor = BatchExecutor(program, _new_lineage(), seed=seed)
        self.reports: list[SlotReport] = []
        self.late_records = 0
        self.metrics = JobMetrics()
        self.logs: list[LogLine] = []  # also of failed batches
        self.dead_letters: dict[str, tuple[int, int]] = {}  # by uid: their number, and how many of them nobody reads
        self.skipped: dict[str, int] = {}  # by uid of a source: records that cannot be decoded and were dropped
        self._warned: set[str] = set()
        with capture_logs(self.logs.extend) as capture:
            capture.set_levels(program.log_levels)
            self._executor.open({})

    @property
    def program(self) -> Program:
        return self._executor.program

    @property
    def batch(self) -> int:
        """The number of the next batch."""
        return self._executor.batch

    @property
    def after_slot(self) -> Callable[[int, int], None] | None:
        """A function that is called with level and slot after each of them. It may raise to fail the batch."""
        return self._executor.after_slot

    @after_slot.setter
    def after_slot(self, function: Callable[[int, int], None] | None) -> None:
        self._executor.after_slot = function

    # -- batches

    def run(self, planned: Sequence[PlannedTask], control: Control | None, timestamp: int) -> list[list[Any]]:
        """Runs a batch and returns the results of the commits of all sinks."""
        with capture_logs(self.logs.extend) as capture:
            capture.set_levels(self.program.log_levels)
            result = self._executor.run(planned, control, timestamp)
            try:
                committed = self._executor.commit_sinks(result)
            except BaseException:
                self._executor.roll_back(result)
                raise
        self._executor.complete(result)
        self.reports = result.slot_reports
        self._count(result.source_reports)
        return committed

    def _count(self, source_reports: list[SourceTaskReport]) -> None:
        metrics: list[tuple[int, MetricsDelta]] = [(r.subtask, r.metrics) for r in source_reports]
        self.metrics.add(metrics + [(r.slot, r.metrics) for r in self.reports])
        self.late_records += sum(count for report in self.reports for count in report.late.values())
        new = [r.dead_letters for r in self.reports] + [r.dead_letters for r in source_reports]
        before = [(uid, *counts) for uid, counts in self.dead_letters.items()]
        self.dead_letters = sum_dead_letters(
            [*before, *((uid, *counts) for table in new for uid, counts in table.items())]
        )
        warn_unread_dead_letters([uid for uid, (_, unread) in self.dead_letters.items() if unread], self._warned)
        for report in source_reports:
            uid = self.program.sources[report.source_number].uid
            self.skipped[uid] = self.skipped.get(uid, 0) + report.skipped

    def paused_splits(self, source: int, ended: Mapping[int, Sequence[str]]) -> frozenset[str]:
        """Returns the splits of a source that watermark alignment holds back. `ended` are ended splits by source."""
        return self._executor.paused_splits(source, ended)

    def finish_sinks(self) -> None:
        """Informs all sinks that the input has ended."""
        self._executor.finish_sinks()

    # -- results

    def watermarks(self) -> dict[str, int]:
        """Returns the watermark of each operator after the last batch, by uid."""
        return {uid: w for _, meta, _ in self._executor.slots() for uid, w in meta.watermarks.items()}

    def states(self) -> dict[SlotKey, SlotState]:
        """Returns all committed state, by level and slot."""
        return {at: SlotState(meta, dict(view.entries)) for at, meta, view in self._executor.slots()}

    # -- snapshots

    def snapshot(self) -> bytes:
        """Returns all state, clocks and timers."""
        slots = [(level, slot, state.meta, state.entries) for (level, slot), state in self.states().items()]
        undeclared = frozenset(o.uid for o in self.program.operators if o.spec.keyed) - key_types(self.program).keys()
        return msgspec.msgpack.encode(_JobSnapshot(self.batch, self.program.max_parallelism, slots, undeclared))

    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot, which may have another parallelism."""
        self._executor.activate_classes()
        saved = msgspec.msgpack.decode(snapshot, type=_JobSnapshot)
        states: dict[SlotKey, SlotState] = {}
        for level in range(1, self.program.depth + 1):
            slots = [SlotState(meta, entries) for at, _, meta, entries in saved.slots if at == level]
            rescaled = rescale(
                slots,
                {o.uid: o.parallelism for o in self.program.operators_at(level)},
                parallelism=self.program.parallelism,
                max_parallelism=self.program.max_parallelism,
                max_parallelism_before=saved.max_parallelism,
            )
            states |= {(level, slot): state for slot, state in enumerate(rescaled)}
        self._reopen(saved.batch, states, saved.undeclared_keys)

    def savepoint(self, path: str, positions: Mapping[int, Any], control: Any) -> Savepoint:
        """Writes all state, clocks and positions as a savepoint. Jobs on Spark can restore it too."""
        slots = (
            SlotContents(level, slot, meta, chunked_scan(view.scan))
            for (level, slot), meta, view in self._executor.slots()
        )
        info = SavepointInfo("harness", self.batch - 1, {**control, "n": self.batch})
        return write_savepoint(path, describe_job(self.program, positions), slots, info)

    def restore_savepoint(
        self, savepoint: Savepoint, allow_dropped: bool = False, now: int | None = None
    ) -> RestoreMatch:
        """Restores a savepoint, which may have another parallelism. Operators are matched by uid.

        `now` is the processing time, which entries that did not expire before get if they do now.
        """
        self._executor.activate_classes()
        matched = match_savepoint(savepoint, self.program, allow_dropped)
        self._reopen(savepoint.manifest.batch + 1, read_states(savepoint, self.program, matched, now))
        return matched

    def _reopen(
        self, batch: int, states: Mapping[SlotKey, SlotState], undeclared_keys: frozenset[str] = frozenset()
    ) -> None:
        self._executor.undeclared_keys = undeclared_keys
        self._executor.batch = batch
        self._executor.write_task = _new_lineage()
        self._executor.open(states)

    def close(self) -> None:
        """Closes all functions."""
        self._executor.close()


def _new_lineage() -> WriteTask:
    """A task of sinks with a new lineage, which each restored job has."""
    return WriteTask(0, 0, "0", uuid.uuid4().hex)
