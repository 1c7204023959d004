"""The host of a level: runs all operators of one level in one slot, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np

from penstock.engine.chain.calls import split_side_outputs
from penstock.engine.chain.flow import ChainInput, Flow
from penstock.engine.chain.rejected_elements import RejectedElements
from penstock.engine.chain.unread_outputs import UnreadOutputs
from penstock.engine.host.materialized import (
    MaterializedStore,
    MemoryMaterializedStore,
    pack_materialized,
    unpack_materialized,
)
from penstock.engine.host.operator_input import OperatorInput
from penstock.engine.host.operator_instance import OperatorInstance
from penstock.engine.host.reports import BatchFigures, add_flows, hash_broadcast_changes, sum_dead_letters
from penstock.engine.host.restored_keys import ResumedKeys, StoredKeys, check_first_keys
from penstock.engine.host.watermark_steps import MidStreamWatermarks, run_generators
from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.program.running_function import running_function
from penstock.engine.program.steps import WatermarkStep
from penstock.engine.program.subtask_context import NO_CHUNK
from penstock.engine.slots.clocks import BatchClock, SlotClocks
from penstock.engine.slots.hot_keys import hot_keys, hot_keys_of_blocks
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import Bundle, Bundles, Frame, Relay, SlotReport
from penstock.engine.wire.log_capture import take_captured_lines
from penstock.runtime.columnar.emissions import ColumnarEmissions
from penstock.runtime.columnar.loop import ColumnarLoop
from penstock.runtime.loop.channels import CombinedWatermark, combine
from penstock.runtime.loop.emissions import Advance, Emissions
from penstock.runtime.loop.records import PHASE_ELEMENT, Column, Tags
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.loop import RelationalLoop
from penstock.runtime.relational.operators.operator import Output
from penstock.runtime.state.store import Store
from penstock.runtime.state.tables import StateTables
from penstock.time import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP


class LevelHost:
    """All operators of one level in one slot. A worker creates it once; its store changes from batch to batch."""

    def __init__(
        self,
        program: Program,
        level: int,
        slot: int,
        store: Store,
        meta: SlotMetadata,
        materialized: MaterializedStore | None = None,
    ) -> None:
        self.program = program
        self.level = level
        self.slot = slot
        self.store = store
        self.tables = StateTables(meta.tables)
        self.report: SlotReport | None = None
        self._clocks = SlotClocks(program, level, slot, meta)
        self._input = OperatorInput(program, self._clocks)
        self._mid_streams = MidStreamWatermarks(program)
        self._operators = program.operators_at(level)
        self._instances = {
            o.number: OperatorInstance(
                o, program, slot, store, self.tables, self._apply_watermark_step, self._input.locate
            )
            for o in self._operators
            if slot < o.parallelism
        }
        self._stored_keys = StoredKeys(store, self.tables)
        self._resumed_keys = ResumedKeys(program, self._operators, self._stored_keys)
        self._materialized = materialized if materialized is not None else MemoryMaterializedStore()
        self._follows_clock = any(s.follows_clock for s in program.streams)
        self._out = Bundles()
        self._unread = UnreadOutputs()
        self._figures = BatchFigures()

    @property
    def meta(self) -> SlotMetadata:
        """Clocks and tables of the slot."""
        return self._clocks.meta

    def close(self) -> None:
        for instance in self._instances.values():
            instance.close()

    def restore_metadata(self, meta: SlotMetadata, cache_valid: bool) -> None:
        """Restores the clocks of the last committed batch. Another worker may have processed it."""
        if meta.batch < self.meta.batch:  # the last batch of this host was not committed and is repeated
            for instance in self._instances.values():
                instance.subtask.roll_back_metrics()
        self._clocks.meta = meta
        if not cache_valid:
            for instance in self._instances.values():
                instance.backend.clear_cache()
        self.tables.refresh(meta.tables)

    def run(self, frames: list[Frame], timestamp: int) -> list[Bundle]:
        """Processes the frames of one batch and returns the bundles for other levels. An error rolls the batch back."""
        before = msgspec.msgpack.encode(self.meta)
        try:
            self._run(frames, timestamp)
        except BaseException:
            self.roll_back(before)
            raise
        return list(self._out.take_all())

    def roll_back(self, meta: bytes) -> None:
        """Discards everything that the current batch changed and restores the encoded metadata from before it."""
        self._out.clear()
        self.store.take_changes()
        self._clocks.meta = msgspec.msgpack.decode(meta, type=SlotMetadata)
        for instance in self._instances.values():
            instance.roll_back()

    def _run(self, frames: list[Frame], timestamp: int) -> None:
        clock = self._begin_batch(frames, timestamp)
        self._mid_streams.begin_batch()
        for operator in self._operators:
            self._run_operator(operator, frames, clock)
        self._mid_streams.send(self._out)
        tables = map(self._clocks.split_table, self._clocks.stream_numbers())
        self._figures.wake_ups += [at for table in tables if (at := table.next_idle(clock.now)) is not None]
        self._write_report(clock)

    def _begin_batch(self, frames: list[Frame], timestamp: int) -> BatchClock:
        clock = self._input.clock = self._clocks.begin_batch(frames, timestamp)
        self.meta.batch += 1
        self._figures = BatchFigures()
        running = running_function()
        for instance in self._instances.values():
            instance.subtask.running = running
            instance.subtask.begin_metrics()
        return clock

    def _write_report(self, clock: BatchClock) -> None:
        meta, figures, instances = self.meta, self._figures, self._instances.values()
        meta.tables = self.tables.all()
        meta.ended = all(meta.watermarks[o.uid] == MAX_WATERMARK for o in self._operators)
        self.report = SlotReport(
            level=self.level,
            slot=self.slot,
            batch=meta.batch - 1,
            processing_time=clock.now,
            next_wakeup=min(figures.wake_ups, default=None),
            watermarks=dict(meta.watermarks),
            records=figures.records,
            late=figures.late,
            broadcast_hashes=dict(meta.broadcast),
            ended=meta.ended,
            aligned_progress=self._figures.aligned_progress,
            metrics={uid: m for i in instances for uid, m in i.subtask.take_metrics(clock.now).items()},
            logs=take_captured_lines(),
            dead_letters=sum_dead_letters(chain.from_iterable(i.take_dead_letter_counts() for i in instances)),
            flows=figures.flows,
            operator_seconds={uid: round(seconds, 4) for uid, seconds in figures.operator_seconds.items()},
            state_changes=figures.state_changes,
            hot_keys=figures.hot_keys,
            slowest_splits=self._clocks.slowest_splits() if self.slot == 0 else {},  # equal in all slots
        )

    # -- operators

    def _run_operator(self, operator: OperatorProgram, frames: list[Frame], clock: BatchClock) -> None:
        before = self.meta.watermarks.get(operator.uid, MIN_WATERMARK)
        combined = combine(self._clocks.channels(operator))
        end = max(before, combined.watermark)
        explicit = clock.explicit_watermarks(operator, end)
        self.meta.watermarks[operator.uid] = end
        reachable = max(end, self._clocks.reachable_watermark(operator)) if self._follows_clock else end
        instance = self._instances.get(operator.number)
        if instance is not None:
            advance = Advance(clock.now, before, end, list(explicit), self.meta.batch - 1)
            self._run_instance(instance, frames, advance)
            self._add_event_wake_up(instance, end, reachable)
        self._send_relay(operator, clock.now, end, combined, explicit, reachable)

    def _add_event_wake_up(self, instance: OperatorInstance, watermark: int, reachable: int) -> None:
        """Requests a batch for the next event-time timer if the clock alone will make it due: watermark = clock - 1."""
        if reachable > watermark and (time := instance.next_event_time(watermark)) is not None:
            due = max(time, watermark + 1)
            if due <= reachable and due < MAX_WATERMARK:
                self._figures.wake_ups.append(due + 1)

    def _run_instance(self, instance: OperatorInstance, frames: list[Frame], advance: Advance) -> None:
        operator, figures = instance.program, self._figures
        instance.name_in_logs()
        began, changes = time.perf_counter(), len(self.store.pending_changes())
        entered, left = self._process(instance, frames, advance)
        figures.records[operator.uid] = entered
        add_flows(figures.flows, instance.take_flows(entered, left))
        instance.flush()
        self._hash_broadcast_state(operator)
        instance.context.event_timers.flush()
        instance.context.processing_timers.flush()
        figures.operator_seconds |= instance.take_work(time.perf_counter() - began)
        self._count_changes(operator.uid, changes)
        if (wake_up := instance.next_wake_up()) is not None:
            figures.wake_ups.append(wake_up)
        if late := instance.take_late_count():
            figures.late[operator.uid] = late

    def _process(self, instance: OperatorInstance, frames: list[Frame], advance: Advance) -> tuple[int, int]:
        """Runs an operator on its elements. Returns how many elements it received and how many it emitted."""
        operator, loop = instance.program, instance.loop
        if isinstance(loop, RelationalLoop):
            inputs = self._input.read_changes(operator, frames, advance)
            return sum(map(len, inputs)), self._emit_changes(instance, loop.run(inputs, advance), advance.now)
        if isinstance(loop, ColumnarLoop):
            blocks = self._input.read_blocks(operator, frames)
            if operator.uid in self.meta.key_forms or operator.uid in self._resumed_keys:
                self._compare_keys(operator, [key for block in blocks for key in block.keys])
            if operator.spec.keyed and (hot := hot_keys_of_blocks(blocks)):
                self._figures.hot_keys[operator.uid] = hot
            fired = loop.run(blocks, advance)
            self._emit(instance, fired, advance.now)
            return sum(b.size() for b in blocks), len(fired.values)
        records = self._input.read_records(operator, frames)
        if operator.traits.generates_watermarks:
            progress = run_generators(instance, records, frames, self.program, self._out)
            if self.program.streams[operator.generated_stream].alignment is not None:
                self._figures.aligned_progress += progress
            return len(records.values), len(records.values)
        if records.keys:
            self._compare_keys(operator, records.keys, records.inputs)
        if records.keys and (hot := hot_keys(records.keys)):
            self._figures.hot_keys[operator.uid] = hot
        emissions = loop.run(records, advance)
        self._emit(instance, emissions, advance.now)
        return len(records.values), len(emissions.values)

    def _compare_keys(
        self, operator: OperatorProgram, keys: Sequence[Any], inputs: Sequence[int] | None = None
    ) -> None:
        """Compares the keys of the first elements with the stored ones."""
        if operator.uid in self.meta.key_forms:
            check_first_keys(self.meta, operator, self._stored_keys, keys, inputs)
        self._resumed_keys.warn_about(operator, keys)

    def _count_changes(self, uid: str, before: int) -> None:
        """Counts the state entries that an operator changed, and their bytes if the level has several operators.

        For the only operator of a level, the size of the state delta is known anyway.
        """
        changes = self.store.pending_changes()
        entries = len(changes) - before
        if entries > 0:
            new = islice(changes.items(), before, None) if len(self._instances) > 1 else ()
            self._figures.state_changes[uid] = entries, sum(len(k) + len(v or b"") for k, v in new)

    def _hash_broadcast_state(self, operator: OperatorProgram) -> None:
        if operator.traits.has_broadcast_state:
            hash_broadcast_changes(operator.uid, self.tables, self.store, self.meta)

    # -- output

    def _emit(self, instance: OperatorInstance, emissions: Emissions | ColumnarEmissions, now: int) -> None:
        if isinstance(emissions, Emissions) and instance.program.traits.materializes:
            self._emit_materialized(instance, emissions, now)
            return
        if not emissions.values:
            return
        flow = Flow(emissions.values, ChainInput(emissions.timestamps, emissions.tags, now))
        main: list[int] = []
        sides: dict[str, list[int]] = {}
        if not isinstance(emissions, Emissions) or emissions.maybe_tagged:
            main, sides = split_side_outputs(emissions.values)
        if sides:
            self._unread.warn(instance.program.name, sides.keys() - instance.sides.keys())
            for tag, at in sides.items():
                if tag in instance.sides:
                    instance.sides[tag].run(flow.derive([emissions.values[i][1] for i in at], at), NO_CHUNK, self._out)
            flow = flow.derive([emissions.values[i] for i in main], main)
        instance.chain.run(flow, NO_CHUNK, self._out)

    def _emit_changes(self, instance: OperatorInstance, output: Output, now: int) -> int:
        """Emits the rows of a relational operator, and returns their number."""
        if not output.parts:
            return 0
        changes = Changes.concatenate([part for part, _ in output.parts])
        n = changes.length
        watermarks = np.concatenate([marks for _, marks in output.parts])
        numbers = np.arange(n, dtype=np.int64)
        phase, zeros = np.full(n, PHASE_ELEMENT, np.int64), np.zeros(n, np.int64)
        tags = Tags(watermarks, phase, zeros, numbers, np.full(n, self.slot + 1, np.int64), numbers)
        timestamps = np.full(n, NO_TIMESTAMP, np.int64)
        instance.chain.run(Flow(changes, ChainInput(timestamps, lambda: tags, now)), NO_CHUNK, self._out)
        return n

    def _emit_materialized(self, instance: OperatorInstance, emissions: Emissions, now: int) -> None:
        """Emits what the first attempt of this batch stored, even if this attempt computed something else (time-rules 8.3)."""
        data = pack_materialized(emissions.values, emissions.timestamps(), emissions.tags())
        stored = self._materialized.store_first(instance.program.uid, self.slot, self.meta.batch - 1, data)
        values, timestamps, tags = unpack_materialized(stored)
        if values:
            instance.chain.run(Flow(values, ChainInput(timestamps, lambda: tags, now)), NO_CHUNK, self._out)

    def _apply_watermark_step(
        self, step: WatermarkStep, flow: Flow, timestamps: Column, rejected: RejectedElements
    ) -> Flow:
        return self._mid_streams.apply(step, flow, timestamps, rejected)

    def _send_relay(
        self,
        operator: OperatorProgram,
        now: int,
        watermark: int,
        combined: CombinedWatermark,
        explicit: list[int],
        reachable: int,
    ) -> None:
        """Sends the clocks of an operator to the same slot of the next levels."""
        meta = self.meta
        batch = meta.batch - 1
        idle, ended = combined.idle, combined.ended
        delay = getattr(getattr(operator.spec, "spec", None), "watermark_delay", 0)
        if delay:  # the operator emits rows so long after their times
            watermark, reachable, *explicit = (_delayed(mark, delay) for mark in (watermark, reachable, *explicit))
        frame = Relay(operator.number, batch, batch - 1, now, watermark, idle, ended, meta.run, explicit, reachable)
        for level in operator.relay_levels:
            self._out.add(level, self.slot, frame)


def _delayed(watermark: int, delay: int) -> int:
    return watermark if watermark >= MAX_WATERMARK else max(MIN_WATERMARK, watermark - delay)
