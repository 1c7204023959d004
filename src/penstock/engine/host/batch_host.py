"""The host of a level in batch mode: processes the whole input of a slot, one partition of its keys at a time.

Only one partition is in memory. Elements without keys are processed as they arrive, some megabytes at a time. A partition
that is too large, because one key has many elements, is sorted on disk.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from penstock.engine.chain.flow import ChainInput, Flow
from penstock.engine.chain.rejected_elements import RejectedElements
from penstock.engine.host.host import LevelHost
from penstock.engine.host.operator_instance import OperatorInstance
from penstock.engine.host.reports import add_flows
from penstock.engine.host.spill import SpilledRecords
from penstock.engine.program.batch_partitions import FIRST_PARTITION
from penstock.engine.program.program import OperatorProgram
from penstock.engine.program.steps import WatermarkStep
from penstock.engine.slots.clocks import BatchClock
from penstock.engine.wire.frames import Bundle, Frame, Rows, decode_bundle
from penstock.runtime.loop.batch import BatchLoop
from penstock.runtime.loop.channels import combine
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.records import Column
from penstock.time import MIN_WATERMARK


class BatchHost(LevelHost):
    """All operators of one level in one slot, from the first element to the last."""

    chunk_bytes = 8 << 20  # bytes of elements without keys that are processed at once
    spill_bytes = 64 << 20  # bytes of one operator and partition in memory before they are sorted on disk

    def run_partitions(self, rows: Iterable[tuple[int, bytes]], timestamp: int) -> Iterator[Bundle]:
        """Processes the whole input of the slot: (partition, bundle) pairs, ordered by partition."""
        partitions = groupby(rows, itemgetter(0))
        first: list[Frame] = []
        partition, bundles = next(partitions, (FIRST_PARTITION, iter(())))
        if partition == FIRST_PARTITION:
            first = [frame for _, bundle in bundles for frame in decode_bundle(bundle)]
            partition, bundles = next(partitions, (FIRST_PARTITION, iter(())))
        clock = self._begin_batch(first, timestamp)
        for operator in self._operators:
            self.meta.watermarks[operator.uid] = combine(self._clocks.channels(operator)).watermark
        for instance in self._instances.values():
            mine = [f for f in first if isinstance(f, Rows) and f.operator == instance.program.number]
            # An operator that materializes stores its output once, and an aggregate of a table without rows has a result. Both must
            # not run without input here. They run at the end if they got nothing.
            program = instance.program
            if mine or not (program.traits.materializes or program.spec.kind == "relational"):
                self._run_frames(instance, mine)
        while partition != FIRST_PARTITION:
            yield from self._run_partition(bundle for _, bundle in bundles)
            partition, bundles = next(partitions, (FIRST_PARTITION, iter(())))
        self._finish(clock)
        yield from self._out.take_all()

    def _finish(self, clock: BatchClock) -> None:
        for operator in self._operators:
            instance = self._instances.get(operator.number)
            if instance is not None:
                if operator.uid not in self._figures.records:
                    self._run_frames(instance, [])  # see run_partitions
                instance.flush()  # broadcast state, so that the slots can be compared
                self._hash_broadcast_state(operator)
                if late := instance.take_late_count():
                    self._figures.late[operator.uid] = late
            combined = combine(self._clocks.channels(operator))
            self._send_relay(operator, clock.now, combined.watermark, combined, [], combined.watermark)
        self._write_report(clock)

    # -- elements

    def _run_partition(self, bundles: Iterator[bytes]) -> Iterator[Bundle]:
        """Processes elements without keys as they arrive, and keyed elements when the partition is complete."""
        spilled: dict[int, SpilledRecords] = {}
        try:
            collected = yield from self._collect(bundles, spilled)
            for number, frames in collected.items():
                instance = self._instances[number]
                if number in spilled:
                    self._spill(instance, frames, spilled)
                else:
                    self._run_frames(instance, frames)
                    yield from self._out.take_full()
            for number, records in spilled.items():
                yield from self._run_spilled(self._instances[number], records)
        finally:
            for records in spilled.values():
                records.close()

    def _collect(
        self, bundles: Iterator[bytes], spilled: dict[int, SpilledRecords]
    ) -> Generator[Bundle, None, dict[int, list[Rows]]]:
        """Returns the frames that wait for the end of the partition, by operator. Processes or spills the others."""
        collected: dict[int, list[Rows]] = {}
        sizes: dict[int, int] = {}
        for bundle in bundles:
            for frame in decode_bundle(bundle):
                assert isinstance(frame, Rows)
                collected.setdefault(frame.operator, []).append(frame)
                sizes[frame.operator] = sizes.get(frame.operator, 0) + len(frame.body)
            for number in [n for n, size in sizes.items() if size >= self.chunk_bytes]:
                instance = self._instances[number]
                if self._accepts_chunks(instance.program):
                    self._run_frames(instance, collected.pop(number))
                    yield from self._out.take_full()
                elif instance.program.spec.keyed and sizes[number] >= self.spill_bytes:
                    self._spill(instance, collected.pop(number), spilled)
                else:
                    continue
                del sizes[number]
        return collected

    @staticmethod
    def _accepts_chunks(operator: OperatorProgram) -> bool:
        """Whether the elements of an operator are independent. What an operator materializes must be stored at once."""
        return not (operator.spec.keyed or operator.traits.materializes)

    def _run_frames(self, instance: OperatorInstance, frames: list[Rows]) -> None:
        instance.name_in_logs()
        self._count(instance, *self._process(instance, list[Frame](frames), self._advance(instance)))

    def _advance(self, instance: OperatorInstance) -> Advance:
        end = self.meta.watermarks[instance.program.uid]
        return Advance(self.meta.now, MIN_WATERMARK, end, [], self.meta.batch - 1)

    def _count(self, instance: OperatorInstance, entered: int, left: int) -> None:
        uid, records = instance.program.uid, self._figures.records
        records[uid] = records.get(uid, 0) + entered
        add_flows(self._figures.flows, instance.take_flows(entered, left))

    # -- partitions that do not fit into memory, because a key may have any number of elements

    def _spill(self, instance: OperatorInstance, frames: list[Rows], spilled: dict[int, SpilledRecords]) -> None:
        loop, keys = instance.loop, instance.keys
        assert isinstance(loop, BatchLoop)
        records = self._input.read_records(instance.program, list[Frame](frames))
        number = instance.program.number
        if number not in spilled:
            spilled[number] = SpilledRecords(loop.sort, lambda key: keys[key].hash)
        spilled[number].add(records)

    def _run_spilled(self, instance: OperatorInstance, spilled: SpilledRecords) -> Iterator[Bundle]:
        loop = instance.loop
        assert isinstance(loop, BatchLoop)
        instance.name_in_logs()
        for records, more in spilled.read_sorted():
            loop.key_continues = more
            emissions = loop.run(records, self._advance(instance))
            self._emit(instance, emissions, self.meta.now)
            self._count(instance, len(records.values), len(emissions.values))
            yield from self._out.take_full()

    def _apply_watermark_step(
        self, step: WatermarkStep, flow: Flow, timestamps: Column, rejected: RejectedElements
    ) -> Flow:
        """Assigns timestamps. Batch mode has no watermarks."""
        now = flow.base.now
        if step.strategy.kind == "ingestion":
            timestamps = np.full(len(flow.values), now, np.int64)
        return Flow(flow.values, ChainInput(timestamps, flow.tags().without_watermarks, now))
