"""Runs the batches of a program in this process, with the same mappers and hosts as on Spark and with state in memory.

A batch has three steps: `run` computes it and prepares the output of the sinks, `commit_sinks` makes the output visible, and
`complete` applies its changes to the state. Until then, `roll_back` undoes it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import msgspec

from penstock.connectors.sink import SinkWriter, WriteTask
from penstock.engine.host.batch_host import BatchHost
from penstock.engine.host.host import LevelHost
from penstock.engine.host.mapper import Mapper
from penstock.engine.host.materialized import MaterializedStore
from penstock.engine.host.reports import check_broadcast_state
from penstock.engine.program.pickling import ProgramCopies
from penstock.engine.program.program import Program
from penstock.engine.program.sink_calls import sink_call
from penstock.engine.slots.alignment import AlignmentTables, advance_alignment, is_aligned, paused_splits
from penstock.engine.slots.rescale import SlotState
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.body import unpack_body
from penstock.engine.wire.frames import (
    Bundle,
    Bundles,
    Control,
    SinkRows,
    SlotReport,
    SourceTaskReport,
    decode_bundle,
    unpack_column,
    unpack_tags,
)
from penstock.runtime.state.store import Changes, MemoryView, Store

PlannedTask = tuple[int, Any, list[str]]  # number of the source, read task, splits with unread data
SlotKey = tuple[int, int]  # level, slot


@dataclass(slots=True)
class BatchResult:
    """What a batch has computed: the prepared output of its sinks, and the reports of its sources and slots."""

    batch: int
    timestamp: int
    prepared: dict[int, list[Any]] = field(default_factory=dict)  # by the number of a sink
    records_written: dict[int, int] = field(default_factory=dict)  # by the number of a sink
    write_seconds: dict[int, float] = field(default_factory=dict)  # by the number of a sink
    slot_reports: list[SlotReport] = field(default_factory=list)
    source_reports: list[SourceTaskReport] = field(default_factory=list)


class BatchExecutor:
    """All mappers, hosts and sinks of a program. One thread runs its batches."""

    def __init__(
        self,
        program: Program,
        write_task: WriteTask,
        *,
        seed: int | None = None,
        materialized: MaterializedStore | None = None,
    ) -> None:
        self._copies = ProgramCopies(program)
        self._copies.classes.activate()
        self.program: Program = self._copies.new()
        self.write_task = write_task  # of the sinks; each batch sets its number
        self._random = None if seed is None else random.Random(seed)  # shuffles bundles, as a cluster does
        self._materialized = materialized
        self._bases: dict[SlotKey, MemoryView] = {}
        self._state_bytes: dict[SlotKey, int] = {}  # of the committed keys and values
        self._hosts: dict[SlotKey, LevelHost] = {}
        self._mappers: dict[tuple[int, int], Mapper] = {}
        self._before: dict[SlotKey, bytes] = {}  # the metadata of all slots before the current batch
        self._alignment: AlignmentTables = {}
        self._is_aligned = is_aligned(program)
        self._clock: int | None = None  # of the last batch
        self.undeclared_keys = program.undeclared_keys
        self.batch = 0  # number of the next batch
        self.after_slot: Callable[[int, int], None] | None = None  # called with level and slot; for tests

    def open(self, states: Mapping[SlotKey, SlotState]) -> None:
        """Opens the functions of all slots, with their state. Slots that are missing in `states` start empty."""
        self._alignment = {}
        for level in range(1, self.program.depth + 1):
            for slot in range(self.program.parallelism):
                if (before := self._hosts.get((level, slot))) is not None:
                    before.close()
                self._open_host(level, slot, states.get((level, slot)) or SlotState(SlotMetadata()))

    def _open_host(self, level: int, slot: int, state: SlotState) -> None:
        base = self._bases[level, slot] = MemoryView()
        base.entries.update(state.entries)
        self._state_bytes[level, slot] = sum(map(len, state.entries)) + sum(map(len, state.entries.values()))
        host = BatchHost if self.program.batch_mode else LevelHost
        program = self._copies.new()
        program.undeclared_keys = self.undeclared_keys
        self._hosts[level, slot] = host(program, level, slot, Store(base), state.meta, self._materialized)

    def activate_classes(self) -> None:
        """Makes the classes of the program known to `pickle`. Another program may have run in this process since."""
        self._copies.classes.activate()

    # -- one batch

    def run(self, planned: Sequence[PlannedTask], control: Control | None, timestamp: int) -> BatchResult:
        """Computes a batch and prepares its output. After an error it is rolled back."""
        self.activate_classes()
        self._before = {at: msgspec.msgpack.encode(host.meta) for at, host in self._hosts.items()}
        result = BatchResult(self.batch, timestamp)
        try:
            bundles = [*self._run_mappers(planned), *self._control_bundles(control)]
            for level in range(1, self.program.depth + 1):
                bundles = self._run_level(level, bundles, timestamp)
            result.slot_reports = [host.report for host in self._hosts.values() if host.report is not None]
            check_broadcast_state(result.slot_reports)
            self._write_sinks(bundles, result)
        except BaseException:
            self.roll_back(result)
            raise
        return result

    def _run_mappers(self, planned: Sequence[PlannedTask]) -> Iterator[Bundle]:
        numbers: dict[int, Iterator[int]] = {}  # of the tasks of each source
        for source, task, unread_splits in planned:
            number = next(numbers.setdefault(source, count()))
            # Functions are opened once per subtask. In batch mode there are more tasks than subtasks.
            subtask = number % self.program.source_parallelism if self.program.batch_mode else number
            mapper = self._get_mapper(source, subtask)
            mapper.batch = self.batch
            yield from mapper.run(task, unread_splits)

    def _get_mapper(self, source: int, subtask: int) -> Mapper:
        mapper = self._mappers.get((source, subtask))
        if mapper is None:
            program = self._copies.new()
            mapper = self._mappers[source, subtask] = Mapper(program, program.sources[source], subtask)
        return mapper

    def _control_bundles(self, control: Control | None) -> list[Bundle]:
        out = Bundles()
        slots = range(self.program.parallelism)
        if control is not None:
            for level in self.program.control_levels():
                for slot in slots:
                    out.add(level, slot, control)
        return list(out.take_all())

    def _run_level(self, level: int, bundles: list[Bundle], timestamp: int) -> list[Bundle]:
        if self._random is not None:
            self._random.shuffle(bundles)
        result: list[Bundle] = []
        for slot in range(self.program.parallelism):
            host = self._hosts[level, slot]
            if isinstance(host, BatchHost):
                result += self._run_batch_host(host, bundles, timestamp)
            else:
                mine = [bundle for bundle in bundles if bundle[0] == slot]
                result += [bundle for bundle in mine if bundle[1] != level]
                started = time.time()
                result += host.run([f for _, to, blob in mine if to == level for f in decode_bundle(blob)], timestamp)
                assert host.report is not None
                host.report.started_at = started
                host.report.seconds = {"run": round(time.time() - started, 4)}
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

    # -- sinks

    def _write_sinks(self, bundles: list[Bundle], result: BatchResult) -> None:
        writers: dict[int, SinkWriter] = {}
        try:
            for _, _, blob in bundles:
                for frame in decode_bundle(blob):
                    if isinstance(frame, SourceTaskReport):
                        result.source_reports.append(frame)
                    elif isinstance(frame, SinkRows):
                        self._write_elements(frame, writers, result)
            for number, writer in writers.items():
                started = time.perf_counter()
                with sink_call(self.program, number, self.batch, writer):
                    prepared = writer.prepare()
                result.prepared[number] = [] if prepared is None else [prepared]
                _add_seconds(result, number, started)
        except BaseException:
            for writer in writers.values():
                writer.abort()
            raise

    def _write_elements(self, frame: SinkRows, writers: dict[int, SinkWriter], result: BatchResult) -> None:
        number, sink = frame.sink, self.program.sinks[frame.sink]
        result.records_written[number] = result.records_written.get(number, 0) + frame.count
        if not sink.wants_values:
            return
        started, writer = time.perf_counter(), writers.get(number)
        if writer is None:
            with sink_call(self.program, number, self.batch):
                writer = writers[number] = sink.writer(self._sink_task(number))
        tags = unpack_tags(frame.tags) if frame.tags else None
        values, timestamps = unpack_body(frame.body)[1], unpack_column(frame.timestamps)
        with sink_call(self.program, number, self.batch, writer):
            writer.write(values, timestamps, tags)
        _add_seconds(result, number, started)

    def _sink_task(self, number: int) -> WriteTask:
        task = self.write_task
        return WriteTask(
            self.batch,
            task.partition,
            task.attempt,
            task.lineage,
            self.program.sink_uids[number],
            self.program.parallelism,
            task.begun_before,
            task.repeated,
            whole_job=self.program.batch_mode,
        )

    def commit_sinks(self, result: BatchResult) -> list[list[Any]]:
        """Makes the output of a batch visible. Returns what each sink passes to the program that runs the job."""
        committed = []
        for number, sink in enumerate(self.program.sinks):
            with sink_call(self.program, number, self.batch):
                committed.append(sink.commit(self.batch, result.prepared.get(number, [])) or [])
        return committed

    def sink_wakeups(self) -> list[int]:
        """Returns when sinks need another batch, in milliseconds since the epoch."""
        return [due for sink in self.program.sinks if (due := sink.due()) is not None]

    def finish_sinks(self) -> None:
        """Informs all sinks that the input has ended."""
        for number, sink in enumerate(self.program.sinks):
            with sink_call(self.program, number, self.batch):
                sink.finish()

    # -- the end of a batch

    def changes(self) -> Iterator[tuple[SlotKey, SlotMetadata, Changes]]:
        """Yields the metadata and the changed entries of each slot, before `complete`."""
        for at, host in self._hosts.items():
            yield at, host.meta, host.store.pending_changes()

    def complete(self, result: BatchResult) -> None:
        """Applies the changes of a batch to the state, and reports their size."""
        for at, host in self._hosts.items():
            changes, base = host.store.take_changes(), self._bases[at]
            written = sum(_entry_size(k, v) for k, v in changes.items())
            self._state_bytes[at] += written - sum(_entry_size(k, base.get(k)) for k in changes)
            base.apply(changes)
            if host.report is not None:
                host.report.state_bytes, host.report.delta_bytes = self._state_bytes[at], written
        if self._is_aligned:
            reports: list[SourceTaskReport | SlotReport] = [*result.source_reports, *result.slot_reports]
            progress = list(chain.from_iterable(r.aligned_progress for r in reports))
            passed = 0 if self._clock is None else max(0, result.timestamp - self._clock)
            advance_alignment(self.program, self._alignment, progress, result.timestamp, passed)
        self._clock = result.timestamp
        self.batch += 1

    def roll_back(self, result: BatchResult) -> None:
        """Undoes a batch: its changes of state and metrics. Removes the output that it has prepared."""
        for number, prepared in result.prepared.items():
            self.program.sinks[number].abort(self.batch, prepared)
        for at, host in self._hosts.items():
            host.roll_back(self._before[at])
        for mapper in self._mappers.values():
            mapper.roll_back()

    # -- state

    def paused_splits(self, source: int, ended: Mapping[int, Sequence[str]]) -> frozenset[str]:
        """Returns the splits of a source that watermark alignment holds back. `ended` are ended splits by source."""
        return paused_splits(self.program, source, self._alignment, ended) if self._is_aligned else frozenset()

    def slots(self) -> Iterator[tuple[SlotKey, SlotMetadata, MemoryView]]:
        """Yields the metadata and the committed entries of each slot."""
        for at, host in self._hosts.items():
            yield at, host.meta, self._bases[at]

    def close(self) -> None:
        """Closes all functions."""
        for mapper in self._mappers.values():
            mapper.close()
        for host in self._hosts.values():
            host.close()


def _add_seconds(result: BatchResult, sink: int, started: float) -> None:
    result.write_seconds[sink] = result.write_seconds.get(sink, 0.0) + time.perf_counter() - started


def _entry_size(key: bytes, value: bytes | None) -> int:
    return 0 if value is None else len(key) + len(value)
