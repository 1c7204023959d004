"""Runs the program of a job in this process, with the same mappers and hosts as on Spark, state in memory and no JVM."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from penstock.connectors.sink import WriteTask
from penstock.engine.host.batch_host import BatchHost
from penstock.engine.host.host import LevelHost
from penstock.engine.host.mapper import Mapper
from penstock.engine.host.reports import check_broadcast_state, sum_dead_letters, warn_unread_dead_letters
from penstock.engine.program.declared_state import key_types
from penstock.engine.program.pickling import ProgramCopies
from penstock.engine.program.program import Program
from penstock.engine.program.sink_calls import sink_call
from penstock.engine.slots.alignment import AlignmentTables, advance_alignment, is_aligned, paused_splits
from penstock.engine.slots.rescale import SlotState, rescale
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.body import unpack_body
from penstock.engine.wire.frames import (
    Bundle,
    Bundles,
    ChunkProgress,
    Control,
    SinkRows,
    SlotReport,
    SourceTaskReport,
    decode_bundle,
    unpack_column,
    unpack_tags,
)
from penstock.engine.wire.log_capture import LogLine, capture_logs
from penstock.metrics import JobMetrics
from penstock.metrics.values import MetricsDelta
from penstock.runtime.state.store import MemoryView, Store
from penstock.savepoints.evolution import value_migrations
from penstock.savepoints.loading import RestoreLayout, read_entries
from penstock.savepoints.matching import RestoreMatch, match_savepoint
from penstock.savepoints.saved_job import SavepointInfo, describe_job
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.slot_part import chunked_scan
from penstock.savepoints.writing import SlotContents, write_savepoint

PlannedTask = tuple[int, Any, list[str]]  # number of the source, read task, splits with unread data
SlotKey = tuple[int, int]  # level, slot


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
        self._copies = ProgramCopies(program)
        self._copies.classes.activate()
        self.program: Program = self._copies.new()
        self._random = random.Random(seed)  # shuffles bundles, because results must not depend on their order
        self._bases: dict[SlotKey, MemoryView] = {}
        self._hosts: dict[SlotKey, LevelHost] = {}
        self._mappers: dict[tuple[int, int], Mapper] = {}
        self.reports: list[SlotReport] = []
        self._alignment: AlignmentTables = {}
        self._is_aligned = is_aligned(program)
        self._clock: int | None = None  # of the last batch
        self.late_records = 0
        self.metrics = JobMetrics()
        self.logs: list[LogLine] = []  # also of failed batches
        self.dead_letters: dict[str, tuple[int, int]] = {}  # by uid: their number, and how many of them nobody reads
        self.skipped: dict[str, int] = {}  # by uid of a source: records that cannot be decoded and were dropped
        self._undeclared_keys: frozenset[str] = frozenset()  # see `Program.undeclared_keys`
        self._warned: set[str] = set()
        self.batch = 0
        self._lineage = uuid.uuid4().hex  # new for each restored job
        self.after_slot: Callable[[int, int], None] | None = (
            None  # called with level and slot; it may raise to fail the batch
        )
        with capture_logs(self.logs.extend):
            for level in range(1, program.depth + 1):
                for slot in range(program.parallelism):
                    self._open_host(level, slot, SlotState(SlotMetadata(), {}))

    def _open_host(self, level: int, slot: int, state: SlotState) -> None:
        base = self._bases[level, slot] = MemoryView()
        base.entries.update(state.entries)
        host = BatchHost if self.program.batch_mode else LevelHost
        program = self._copies.new()
        program.undeclared_keys = self._undeclared_keys
        self._hosts[level, slot] = host(program, level, slot, Store(base), state.meta)

    # -- batches

    def run(
        self,
        planned: Sequence[PlannedTask],
        control: Control | None,
        timestamp: int,
        marks: Sequence[ChunkProgress] = (),
    ) -> list[list[Any]]:
        """Runs a batch and returns the results of the commits of all sinks. `marks` are watermarks that no source task sends."""
        self._copies.classes.activate()
        metas = {at: msgspec.msgpack.encode(host.meta) for at, host in self._hosts.items()}
        with capture_logs(self.logs.extend):
            try:
                bundles = [*self._run_mappers(planned), *self._control_bundles(control, marks)]
                for level in range(1, self.program.depth + 1):
                    bundles = self._run_level(level, bundles, timestamp)
                reports = [host.report for host in self._hosts.values() if host.report is not None]
                check_broadcast_state(reports)
                committed, source_reports = self._commit_sinks(bundles)
            except BaseException:
                for at, host in self._hosts.items():
                    host.roll_back(metas[at])
                for mapper in self._mappers.values():
                    mapper.roll_back()
                raise
        metrics: list[tuple[int, MetricsDelta]] = [(r.subtask, r.metrics) for r in source_reports]
        self.metrics.add(metrics + [(r.slot, r.metrics) for r in reports])
        for at, host in self._hosts.items():
            self._bases[at].apply(host.store.take_changes())
        self.reports = reports
        self.late_records += sum(count for report in reports for count in report.late.values())
        self._count_dead_letters(source_reports)
        if self._is_aligned:
            sent = [*(r.aligned_progress for r in source_reports), *(r.aligned_progress for r in reports)]
            progress = [*marks, *chain.from_iterable(sent)]
            passed = 0 if self._clock is None else max(0, timestamp - self._clock)
            advance_alignment(self.program, self._alignment, progress, timestamp, passed)
        self._clock = timestamp
        for source_report in source_reports:
            uid = self.program.sources[source_report.source_number].uid
            self.skipped[uid] = self.skipped.get(uid, 0) + source_report.skipped
        self.batch += 1
        return committed

    def _count_dead_letters(self, source_reports: list[SourceTaskReport]) -> None:
        new = [r.dead_letters for r in self.reports] + [r.dead_letters for r in source_reports]
        before = [(uid, *counts) for uid, counts in self.dead_letters.items()]
        self.dead_letters = sum_dead_letters(
            [*before, *((uid, *counts) for table in new for uid, counts in table.items())]
        )
        warn_unread_dead_letters([uid for uid, (_, unread) in self.dead_letters.items() if unread], self._warned)

    def _run_mappers(self, planned: Sequence[PlannedTask]) -> list[Bundle]:
        bundles: list[Bundle] = []
        for number, (source, task, unread_splits) in enumerate(planned):
            mapper = self._get_mapper(source, number)
            mapper.batch = self.batch
            bundles += mapper.run(task, unread_splits)
        return bundles

    def _get_mapper(self, source: int, number: int) -> Mapper:
        mapper = self._mappers.get((source, number))
        if mapper is None:
            program = self._copies.new()
            mapper = self._mappers[source, number] = Mapper(program, program.sources[source], number)
        return mapper

    def _control_bundles(self, control: Control | None, marks: Sequence[ChunkProgress]) -> list[Bundle]:
        out = Bundles()
        slots = range(self.program.parallelism)
        if control is not None:
            for level in self.program.control_levels():
                for slot in slots:
                    out.add(level, slot, control)
        for mark in marks:
            for level in self.program.streams[mark.stream].levels:
                for slot in slots:
                    out.add(level, slot, mark)
        return list(out.take_all())

    def _run_level(self, level: int, bundles: list[Bundle], timestamp: int) -> list[Bundle]:
        self._random.shuffle(bundles)
        result: list[Bundle] = []
        for slot in range(self.program.parallelism):
            host = self._hosts[level, slot]
            if isinstance(host, BatchHost):
                result += self._run_batch_host(host, bundles, timestamp)
            else:
                mine = [bundle for bundle in bundles if bundle[0] == slot]
                result += [bundle for bundle in mine if bundle[1] != level]
                result += host.run([f for _, to, blob in mine if to == level for f in decode_bundle(blob)], timestamp)
            if self.after_slot is not None:
                self.after_slot(level, slot)
        return result

    def _run_batch_host(self, host: BatchHost, bundles: list[Bundle], timestamp: int) -> list[Bundle]:
        partitions = self.program.batch_partitions
        assert partitions is not None
        mine = [bundle for bundle in bundles if partitions.slot(bundle[0]) == host.slot]
        rows = [(partitions.partition(address), blob) for address, level, blob in mine if level == host.level]
        others = [bundle for bundle in mine if bundle[1] != host.level]
        return [*others, *host.run_partitions(sorted(rows, key=lambda row: row[0]), timestamp)]

    def _commit_sinks(self, bundles: list[Bundle]) -> tuple[list[list[Any]], list[SourceTaskReport]]:
        received = [f for _, _, blob in bundles for f in decode_bundle(blob)]
        frames = [f for f in received if isinstance(f, SinkRows)]
        committed = []
        for number, sink in enumerate(self.program.sinks):
            with sink_call(self.program, number, self.batch):
                task = WriteTask(
                    self.batch,
                    0,
                    "0",
                    self._lineage,
                    self.program.sink_uids[number],
                    self.program.parallelism,
                    whole_job=self.program.batch_mode,
                )
                writer = sink.writer(task)
            with sink_call(self.program, number, self.batch, writer):
                try:
                    for frame in frames:
                        if frame.sink == number and sink.wants_values:
                            tags = unpack_tags(frame.tags) if frame.tags else None
                            writer.write(unpack_body(frame.body)[1], unpack_column(frame.timestamps), tags)
                    message = writer.prepare()
                except BaseException:
                    writer.abort()
                    raise
                committed.append(sink.commit(self.batch, [] if message is None else [message]) or [])
        return committed, [f for f in received if isinstance(f, SourceTaskReport)]

    def paused_splits(self, source: int, ended: Mapping[int, Sequence[str]]) -> frozenset[str]:
        """Returns the splits of a source that watermark alignment holds back. `ended` are ended splits by source."""
        return paused_splits(self.program, source, self._alignment, ended) if self._is_aligned else frozenset()

    def finish_sinks(self) -> None:
        """Tells all sinks that the input has ended."""
        for number, sink in enumerate(self.program.sinks):
            with sink_call(self.program, number, self.batch):
                sink.finish()

    # -- results

    def watermarks(self) -> dict[str, int]:
        """Returns the watermark of each operator after the last batch, by uid."""
        return {uid: w for host in self._hosts.values() for uid, w in host.meta.watermarks.items()}

    def states(self) -> dict[SlotKey, SlotState]:
        """Returns all committed state, by level and slot."""
        return {at: SlotState(host.meta, dict(self._bases[at].entries)) for at, host in self._hosts.items()}

    # -- snapshots

    def snapshot(self) -> bytes:
        """Returns all state, clocks and timers."""
        slots = [(level, slot, state.meta, state.entries) for (level, slot), state in self.states().items()]
        undeclared = frozenset(o.uid for o in self.program.operators if o.spec.keyed) - key_types(self.program).keys()
        return msgspec.msgpack.encode(_JobSnapshot(self.batch, self.program.max_parallelism, slots, undeclared))

    def restore(self, snapshot: bytes) -> None:
        """Restores a snapshot, which may have another parallelism."""
        self._copies.classes.activate()
        saved = msgspec.msgpack.decode(snapshot, type=_JobSnapshot)
        self.batch = saved.batch
        self._undeclared_keys = saved.undeclared_keys
        self._alignment = {}
        self._lineage = uuid.uuid4().hex
        for level in range(1, self.program.depth + 1):
            slots = [SlotState(meta, entries) for at, _, meta, entries in saved.slots if at == level]
            states = rescale(
                slots,
                {o.uid: o.parallelism for o in self.program.operators_at(level)},
                parallelism=self.program.parallelism,
                max_parallelism=self.program.max_parallelism,
                max_parallelism_before=saved.max_parallelism,
            )
            for slot, state in enumerate(states):
                self._hosts[level, slot].close()
                self._open_host(level, slot, state)

    def savepoint(self, path: str, positions: Mapping[int, Any], control: Any) -> Savepoint:
        """Writes all state, clocks and positions as a savepoint. Jobs on Spark can restore it too."""
        slots = (
            SlotContents(level, slot, host.meta, chunked_scan(self._bases[level, slot].scan))
            for (level, slot), host in self._hosts.items()
        )
        info = SavepointInfo("harness", self.batch - 1, {**control, "n": self.batch})
        return write_savepoint(path, describe_job(self.program, positions), slots, info)

    def restore_savepoint(
        self, savepoint: Savepoint, allow_dropped: bool = False, now: int | None = None
    ) -> RestoreMatch:
        """Restores a savepoint, which may have another parallelism. Operators are matched by uid.

        `now` is the processing time, which entries that did not expire before get if they do now.
        """
        self._copies.classes.activate()
        matched = match_savepoint(savepoint, self.program, allow_dropped)
        self._undeclared_keys = frozenset()
        self.batch = savepoint.manifest.batch + 1
        self._alignment = {}
        self._lineage = uuid.uuid4().hex
        now = matched.clocks.now if now is None else max(now, matched.clocks.now)
        migrations = value_migrations(matched.state_changes, max(now, 0))
        for level, slot, plan in RestoreLayout(savepoint, self.program, matched).plans():
            flats = read_entries(plan, migrations, matched.key_changes, now)
            entries = {k: v for flat in flats for k, v in zip(flat[::2], flat[1::2], strict=True)}
            self._hosts[level, slot].close()
            self._open_host(level, slot, SlotState(plan.meta, entries))
        return matched

    def close(self) -> None:
        """Closes all functions."""
        for mapper in self._mappers.values():
            mapper.close()
        for host in self._hosts.values():
            host.close()
