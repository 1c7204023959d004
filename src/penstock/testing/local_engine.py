"""Runs a job's programs in this process: the same mappers and hosts as on Spark, stores in memory, no JVM."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cloudpickle
import msgspec

from penstock.connectors.secret import secrets_may_travel
from penstock.connectors.sink import WriteTask
from penstock.engine.batch_host import BatchHost
from penstock.engine.body import unpack_body
from penstock.engine.frames import (
    Bundle,
    Bundles,
    Control,
    Counted,
    Marks,
    Output,
    Report,
    decode_bundle,
    unpack_column,
    unpack_tags,
)
from penstock.engine.host import LevelHost
from penstock.engine.logs import LogLine, catching
from penstock.engine.mapper import Mapper
from penstock.engine.program import Program
from penstock.engine.reports import compare_broadcast, count_letters, warn_of_unread
from penstock.engine.rescale import SlotState, rescale
from penstock.engine.sink_calls import calling_sink
from penstock.engine.slot_meta import SlotMeta
from penstock.engine.unpicklable import unpicklable
from penstock.metrics import JobMetrics
from penstock.metrics.values import Told
from penstock.runtime.store import MemoryBase, Store
from penstock.savepoints.check import fit
from penstock.savepoints.evolution import migrations
from penstock.savepoints.loading import Layout, entries_of
from penstock.savepoints.matching import Matched, match
from penstock.savepoints.part import in_chunks
from penstock.savepoints.saved_job import JobFacts, saved_job
from penstock.savepoints.savepoint import Savepoint
from penstock.savepoints.whole import SlotSnapshot, write_savepoint

Planned = tuple[int, Any, list[str]]  # source, task, splits with unread data
At = tuple[int, int]  # level, slot


class _Saved(msgspec.Struct, array_like=True):
    """A job's state between two batches."""

    batch: int
    max_parallelism: int
    slots: list[tuple[int, int, SlotMeta, dict[bytes, bytes]]]


class LocalJob:
    """One run of a job, batch by batch. A batch that fails leaves no trace."""

    def __init__(self, program: Program, seed: int = 0) -> None:
        try:
            with secrets_may_travel():
                self._pickled = cloudpickle.dumps(program)
        except Exception as error:
            raise unpicklable(program, error) from error
        self.program: Program = self._copy()
        self._random = random.Random(seed)  # bundles arrive in any order, and it must not matter
        self._bases: dict[At, MemoryBase] = {}
        self._hosts: dict[At, LevelHost] = {}
        self._mappers: dict[tuple[int, int], Mapper] = {}
        self.reports: list[Report] = []
        self.late_records = 0
        self.metrics = JobMetrics()
        self.logs: list[LogLine] = []  # of failed batches too
        self.dead_letters: dict[str, tuple[int, int]] = {}  # by operator: how many were made, and how many nobody reads
        self.skipped: dict[str, int] = {}  # by source: records that do not decode and were dropped
        self._warned: set[str] = set()
        self.batch = 0
        self._lineage = uuid.uuid4().hex  # a restored job is one of its own
        self.after_slot: Callable[[int, int], None] | None = None  # called with level and slot; may fail the batch
        with catching(self.logs.extend):
            for level in range(1, program.depth + 1):
                for slot in range(program.parallelism):
                    self._open(level, slot, SlotState(SlotMeta(), {}))

    def _copy(self) -> Program:
        copy: Program = cloudpickle.loads(self._pickled)
        return copy

    def _open(self, level: int, slot: int, state: SlotState) -> None:
        base = self._bases[level, slot] = MemoryBase()
        base.entries.update(state.entries)
        host = BatchHost if self.program.batch else LevelHost
        self._hosts[level, slot] = host(self._copy(), level, slot, Store(base), state.meta)

    # -- batches

    def run(
        self, planned: Sequence[Planned], control: Control | None, timestamp: int, marks: Sequence[Marks] = ()
    ) -> list[list[Any]]:
        """One batch; what each sink's commit gives back. `marks` are watermarks that no source task speaks of."""
        metas = {at: msgspec.msgpack.encode(host.meta) for at, host in self._hosts.items()}
        with catching(self.logs.extend):
            try:
                bundles = [*self._map(planned), *self._tell(control, marks)]
                for level in range(1, self.program.depth + 1):
                    bundles = self._level(level, bundles, timestamp)
                reports = [host.report for host in self._hosts.values() if host.report is not None]
                compare_broadcast(reports)
                committed, counted = self._sink(bundles)
            except BaseException:
                for at, host in self._hosts.items():
                    host._roll_back(metas[at])
                for mapper in self._mappers.values():
                    mapper.roll_back()
                raise
        told: list[tuple[int, Told]] = [(c.subtask, c.metrics) for c in counted]
        self.metrics.add(told + [(r.slot, r.metrics) for r in reports])
        for at, host in self._hosts.items():
            self._bases[at].apply(host.store.take_changes())
        self.reports = reports
        self.late_records += sum(count for report in reports for count in report.late.values())
        self._count_letters(counted)
        for c in counted:
            uid = self.program.sources[c.source].uid
            self.skipped[uid] = self.skipped.get(uid, 0) + c.skipped
        self.batch += 1
        return committed

    def _count_letters(self, counted: list[Counted]) -> None:
        told = [r.dead for r in self.reports] + [c.dead for c in counted]
        before = [(uid, *counts) for uid, counts in self.dead_letters.items()]
        self.dead_letters = count_letters([*before, *((uid, *counts) for dead in told for uid, counts in dead.items())])
        warn_of_unread([uid for uid, (_, unread) in self.dead_letters.items() if unread], self._warned)

    def _map(self, planned: Sequence[Planned]) -> list[Bundle]:
        bundles: list[Bundle] = []
        for number, (source, task, waiting) in enumerate(planned):
            mapper = self._mapper(source, number)
            mapper.batch = self.batch
            bundles += mapper.run(task, waiting)
        return bundles

    def _mapper(self, source: int, number: int) -> Mapper:
        mapper = self._mappers.get((source, number))
        if mapper is None:
            program = self._copy()
            mapper = self._mappers[source, number] = Mapper(program, program.sources[source], number)
        return mapper

    def _tell(self, control: Control | None, marks: Sequence[Marks]) -> list[Bundle]:
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

    def _level(self, level: int, bundles: list[Bundle], timestamp: int) -> list[Bundle]:
        self._random.shuffle(bundles)
        result: list[Bundle] = []
        for slot in range(self.program.parallelism):
            host = self._hosts[level, slot]
            if isinstance(host, BatchHost):
                result += self._whole(host, bundles, timestamp)
            else:
                result += host.run([(to, blob) for at, to, blob in bundles if at == slot], timestamp)
            if self.after_slot is not None:
                self.after_slot(level, slot)
        return result

    def _whole(self, host: BatchHost, bundles: list[Bundle], timestamp: int) -> list[Bundle]:
        shares = self.program.shares
        assert shares is not None
        mine = [bundle for bundle in bundles if shares.slot_of(bundle[0]) == host.slot]
        rows = [(shares.share_of(address), blob) for address, level, blob in mine if level == host.level]
        passing = [bundle for bundle in mine if bundle[1] != host.level]
        return [*passing, *host.run_whole(sorted(rows, key=lambda row: row[0]), timestamp)]

    def _sink(self, bundles: list[Bundle]) -> tuple[list[list[Any]], list[Counted]]:
        came = [f for _, _, blob in bundles for f in decode_bundle(blob)]
        frames = [f for f in came if isinstance(f, Output)]
        committed = []
        for number, sink in enumerate(self.program.sinks):
            with calling_sink(self.program, number, self.batch):
                task = WriteTask(
                    self.batch,
                    0,
                    "0",
                    self._lineage,
                    self.program.sink_uids[number],
                    self.program.parallelism,
                    whole_job=self.program.batch,
                )
                writer = sink.writer(task)
            with calling_sink(self.program, number, self.batch, writer):
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
        return committed, [f for f in came if isinstance(f, Counted)]

    def finish_sinks(self) -> None:
        """All input has come to its end."""
        for number, sink in enumerate(self.program.sinks):
            with calling_sink(self.program, number, self.batch):
                sink.finish()

    # -- what can be looked at

    def watermarks(self) -> dict[str, int]:
        """Each operator's watermark after the last batch, by uid."""
        return {uid: w for host in self._hosts.values() for uid, w in host.meta.watermarks.items()}

    def states(self) -> dict[At, SlotState]:
        """All committed state, by level and slot."""
        return {at: SlotState(host.meta, dict(self._bases[at].entries)) for at, host in self._hosts.items()}

    # -- snapshots

    def snapshot(self) -> bytes:
        """All state, clocks and timers."""
        slots = [(level, slot, state.meta, state.entries) for (level, slot), state in self.states().items()]
        return msgspec.msgpack.encode(_Saved(self.batch, self.program.max_parallelism, slots))

    def restore(self, snapshot: bytes) -> None:
        """Takes up a snapshot's state, at this job's parallelism."""
        saved = msgspec.msgpack.decode(snapshot, type=_Saved)
        self.batch = saved.batch
        self._lineage = uuid.uuid4().hex
        for level in range(1, self.program.depth + 1):
            slots = [SlotState(meta, entries) for at, _, meta, entries in saved.slots if at == level]
            placed = rescale(
                slots,
                {o.uid: o.parallelism for o in self.program.operators_at(level)},
                parallelism=self.program.parallelism,
                max_parallelism=self.program.max_parallelism,
                max_parallelism_before=saved.max_parallelism,
            )
            for slot, state in enumerate(placed):
                self._hosts[level, slot].close()
                self._open(level, slot, state)

    def savepoint(self, path: str, positions: Mapping[int, Any], control: Any) -> Savepoint:
        """Writes all state, clocks and positions as a savepoint, which jobs on Spark take up too."""
        slots = (
            SlotSnapshot(level, slot, host.meta, in_chunks(self._bases[level, slot].scan))
            for (level, slot), host in self._hosts.items()
        )
        facts = JobFacts("harness", self.batch - 1, {**control, "n": self.batch})
        return write_savepoint(path, saved_job(self.program, positions), slots, facts)

    def restore_savepoint(self, savepoint: Savepoint, allow_dropped: bool = False) -> Matched:
        """Takes up a savepoint's state, at this job's parallelism, its operators matched by uid."""
        matched = match(savepoint.manifest, self.program, savepoint.path, allow_dropped)
        fit(savepoint.manifest, self.program, matched, savepoint.path)
        self.batch = savepoint.manifest.batch + 1
        self._lineage = uuid.uuid4().hex
        rewriting = migrations(matched.changes)
        for level, slot, plan in Layout(savepoint, self.program, matched).plans():
            flats = entries_of(plan, rewriting, matched.keys)
            entries = {k: v for flat in flats for k, v in zip(flat[::2], flat[1::2], strict=True)}
            self._hosts[level, slot].close()
            self._open(level, slot, SlotState(plan.meta, entries))
        return matched

    def close(self) -> None:
        """Closes all functions."""
        for mapper in self._mappers.values():
            mapper.close()
        for host in self._hosts.values():
            host.close()
