"""The host of a level: one slot's batch, for all operators of the level. Bundles in, bundles out."""

from __future__ import annotations

import time
from functools import partial
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np

from penstock.engine import materials
from penstock.engine.aside import Aside
from penstock.engine.calls import split_side_outputs
from penstock.engine.clocks import WHOLE, BatchClock, SlotClocks
from penstock.engine.columns import unpack
from penstock.engine.flow import Base, Flow
from penstock.engine.frames import (
    Bundle,
    Bundles,
    Columns,
    Frame,
    Marks,
    Relay,
    Report,
    Rows,
    decode_bundle,
    unpack_rows,
)
from penstock.engine.hot_keys import HotKeys, hot_keys, hot_keys_of_blocks
from penstock.engine.logs import RUNNING, take_lines
from penstock.engine.marks import ChunkMarks, assigned_timestamps, made_generator
from penstock.engine.materials import Materials, MemoryMaterials
from penstock.engine.place import NO_CHUNK, ChunkName
from penstock.engine.program import OperatorProgram, Program
from penstock.engine.reports import add_flows, count_letters
from penstock.engine.running import RunningOperator
from penstock.engine.slot_meta import SlotMeta
from penstock.engine.steps import WatermarkStep
from penstock.functions import DEAD_LETTERS
from penstock.runtime.channels import combine
from penstock.runtime.keys import key_hash
from penstock.runtime.records import PHASE_ELEMENT, Column, Records, Tags, column
from penstock.runtime.slot import Advance, Emissions
from penstock.runtime.state.backend import Tables
from penstock.runtime.state.cell import SlotCell
from penstock.runtime.store import Store
from penstock.runtime.vector.blocks import Block
from penstock.runtime.vector.emissions import VectorEmissions
from penstock.runtime.vector.loop import VectorLoop
from penstock.state import ValueStateDescriptor
from penstock.time import MAX_WATERMARK, MIN_WATERMARK


class LevelHost:
    """All operators of one level in one slot. Made once per worker; the store under it changes from batch to batch."""

    def __init__(
        self, program: Program, level: int, slot: int, store: Store, meta: SlotMeta, materials: Materials | None = None
    ) -> None:
        self.program = program
        self.level = level
        self.slot = slot
        self.store = store
        self._clocks = SlotClocks(program, level, slot, meta)
        self.tables = Tables(meta.tables)
        self._operators = program.operators_at(level)
        self._running = {
            o.number: RunningOperator(o, program, slot, store, self.tables, self._mid_stream_watermarks, self._locate)
            for o in self._operators
            if slot < o.parallelism
        }
        self._materials = materials if materials is not None else MemoryMaterials()
        self._out = Bundles()
        self._mid_marks: dict[int, ChunkMarks] = {}
        self._clock: BatchClock | None = None  # of the running batch
        self.report: Report | None = None
        self._work: dict[str, float] = {}  # of the running batch: seconds by operator and step
        self._changed: dict[str, tuple[int, int]] = {}
        self._hot: dict[str, HotKeys] = {}

    @property
    def meta(self) -> SlotMeta:
        """What the slot remembers beside its state."""
        return self._clocks.meta

    def close(self) -> None:
        for running in self._running.values():
            running.close()

    def take_meta(self, meta: SlotMeta, cache_valid: bool) -> None:
        """Goes on from the clocks of the last committed batch, which another worker may have run."""
        if meta.batch < self.meta.batch:  # the last batch of this host was not committed: it runs again
            for running in self._running.values():
                running.place.roll_back_metrics()
        self._clocks.meta = meta
        if not cache_valid:
            for running in self._running.values():
                running.backend.forget_cache()
        self.tables.refresh(meta.tables)

    def run(self, bundles: list[tuple[int, bytes]], timestamp: int) -> list[Bundle]:
        """One batch: what came in for this slot, to what goes out. On error nothing of the batch remains."""
        passing = [(self.slot, level, blob) for level, blob in bundles if level != self.level]
        frames = [f for level, blob in bundles if level == self.level for f in decode_bundle(blob)]
        before = msgspec.msgpack.encode(self.meta)
        try:
            self._run(frames, timestamp)
        except BaseException:
            self._roll_back(before)
            raise
        return [*passing, *self._out.take_all()]

    def _roll_back(self, before: bytes) -> None:
        self._out = Bundles()
        self.store.take_changes()
        self._clocks.meta = msgspec.msgpack.decode(before, type=SlotMeta)
        for running in self._running.values():
            running.backend.forget()
            running.context.event_timers.forget()
            running.context.processing_timers.forget()
            running.late_since_last_batch()  # what the failed attempt counted does not count
            list(running.dead_letters())
            running.take_flows(0, 0)
            running.take_work(0)
            running.place.roll_back_metrics()

    def _run(self, frames: list[Frame], timestamp: int) -> None:
        clock = self._clock = self._clocks.take_in(frames, timestamp)
        for running in self._running.values():
            running.place.begin_metrics()
        batch = self.meta.batch
        self.meta.batch += 1
        counts: dict[str, int] = {}
        late: dict[str, int] = {}
        flows: dict[str, tuple[int, int]] = {}
        wakes: list[int] = []
        self._mid_marks.clear()
        self._work, self._changed, self._hot = {}, {}, {}
        for program in self._operators:
            self._run_operator(program, frames, clock, batch, counts, late, flows, wakes)
        self._tell_mid_streams()
        self.meta.tables = self.tables.all()
        wakes += [
            w for s in self._clocks.listened() if (w := self._clocks.table_of(s).next_idle(clock.now)) is not None
        ]
        self._tell_report(batch, clock, counts, late, flows, wakes)

    def _tell_report(
        self,
        batch: int,
        clock: BatchClock,
        counts: dict[str, int],
        late: dict[str, int],
        flows: dict[str, tuple[int, int]],
        wakes: list[int],
    ) -> None:
        self.meta.ended = all(self.meta.watermarks[o.uid] == MAX_WATERMARK for o in self._operators)
        self.report = Report(
            level=self.level,
            slot=self.slot,
            batch=batch,
            now=clock.now,
            wake=min(wakes, default=None),
            watermarks=dict(self.meta.watermarks),
            records=counts,
            late=late,
            broadcast=dict(self.meta.broadcast),
            ended=self.meta.ended,
            marks=self._clocks.aligned_marks(),
            metrics={u: m for r in self._running.values() for u, m in r.place.take_metrics(clock.now).items()},
            logs=take_lines(),
            dead=count_letters(chain.from_iterable(r.dead_letters() for r in self._running.values())),
            flows=flows,
            work={uid: round(seconds, 4) for uid, seconds in self._work.items()},
            changed=self._changed,
            hot=self._hot,
            behind=self._clocks.furthest_behind() if self.slot == 0 else {},  # all slots would say the same
        )

    # -- operators

    def _run_operator(
        self,
        program: OperatorProgram,
        frames: list[Frame],
        clock: BatchClock,
        batch: int,
        counts: dict[str, int],
        late: dict[str, int],
        flows: dict[str, tuple[int, int]],
        wakes: list[int],
    ) -> None:
        before = self.meta.watermarks.get(program.uid, MIN_WATERMARK)
        combined = combine(self._clocks.channels(program))
        end = max(before, combined.watermark)
        marks = clock.explicit(program, end)
        self.meta.watermarks[program.uid] = end
        running = self._running.get(program.number)
        if running is not None:
            RUNNING.operator, RUNNING.subtask = program.name, self.slot
            advance = Advance(clock.now, before, end, list(marks), batch)
            began, changes = time.perf_counter(), len(self.store.changes())
            entered, left = self._feed(running, frames, clock, advance)
            counts[program.uid] = entered
            add_flows(flows, running.take_flows(entered, left))
            running.flush()
            if program.spec.kind in ("broadcast", "dynamic_cep"):
                self._hash_broadcast(program.uid)
            running.context.event_timers.flush()
            running.context.processing_timers.flush()
            self._work |= running.take_work(time.perf_counter() - began)
            self._count_changes(program.uid, changes)
            if (earliest := running.wake()) is not None:
                wakes.append(earliest)
            if dropped := running.late_since_last_batch():
                late[program.uid] = dropped
        self._relay_on(program, batch, clock.now, end, combined.idle, combined.ended, marks)

    def _count_changes(self, uid: str, before: int) -> None:
        """Entries of state that an operator changed. Their bytes are the whole delta's, where no other operator has a part."""
        changes = self.store.changes()
        entries = len(changes) - before
        if entries > 0:
            new = islice(changes.items(), before, None) if len(self._running) > 1 else ()
            self._changed[uid] = entries, sum(len(k) + len(v or b"") for k, v in new)

    def _feed(
        self, running: RunningOperator, frames: list[Frame], clock: BatchClock, advance: Advance
    ) -> tuple[int, int]:
        """Runs an operator on what came for it; how many elements came, and how many left."""
        program, loop = running.program, running.loop
        if isinstance(loop, VectorLoop):
            blocks = self._blocks([f for f in frames if isinstance(f, Columns) and f.operator == program.number], clock)
            if program.spec.keyed and (hot := hot_keys_of_blocks(blocks)):
                self._hot[program.uid] = hot
            fired = loop.run(blocks, advance)
            self._emit(running, fired, clock.now)
            return sum(b.size() for b in blocks), len(fired.values)
        records = self._records(
            program, [f for f in frames if isinstance(f, Rows) and f.operator == program.number], clock
        )
        if program.spec.kind == "generator":
            self._generate(running, records, frames)
            return len(records.values), len(records.values)
        if records.keys and (hot := hot_keys(records.keys)):
            self._hot[program.uid] = hot
        emissions = loop.run(records, advance)
        self._emit(running, emissions, clock.now)
        return len(records.values), len(emissions.values)

    def _blocks(self, frames: list[Columns], clock: BatchClock) -> list[Block]:
        """The same as `_records`, for an operator that works by columns."""
        frames.sort(key=lambda f: (self._origin(f, clock), f.start))
        blocks = []
        for frame in frames:
            at_least = self._at_least(frame, clock)
            block = unpack(frame, self._origin(frame, clock), at_least)
            if frame.stream >= 0 and self.program.streams[frame.stream].ingestion:
                block.times = np.full(len(block), clock.now, np.int64)
            blocks.append(block)
        return blocks

    def _at_least(self, frame: Rows | Columns, clock: BatchClock) -> int:
        """The watermark of a split before a chunk, or before the batch where elements got theirs behind an operator."""
        if frame.stream >= 0:
            return clock.mark_before(frame, self._clocks.before[frame.stream])
        mid = self._mid_stream_of(frame)
        return MIN_WATERMARK if mid is None else mid

    def _records(self, program: OperatorProgram, frames: list[Rows], clock: BatchClock) -> Records:
        """The elements of an operator, with the watermarks that their splits had before them."""
        frames.sort(key=lambda f: (self._origin(f, clock), f.start))
        parts = []
        for frame in frames:
            at_least = self._at_least(frame, clock)
            records = unpack_rows(frame, self._origin(frame, clock), at_least)
            if frame.stream < 0:
                records.tags.watermark = np.maximum(records.tags.watermark, at_least)
            elif frame.stream >= 0 and self.program.streams[frame.stream].ingestion:
                records.timestamps = np.full(len(records.values), clock.now, np.int64)
            parts.append((frame.input, records))
        return Records.concatenate(parts, program.spec.keyed)

    def _mid_stream_of(self, frame: Rows | Columns) -> int | None:
        """The mark before the batch, for elements that got their watermarks behind an operator (time.md 2.10)."""
        return self._clocks.before[frame.start].splits[WHOLE].mark if frame.split == WHOLE else None

    def _origin(self, frame: Rows | Columns, clock: BatchClock) -> int:
        """A number that orders splits: sources that are only broadcast first, then sources, then their splits by name.

        All slots and levels know the same splits of a batch, so they give the same numbers.
        """
        if frame.stream < 0:
            return 0
        source = self.program.streams[frame.stream].source
        rank = source + (0 if self.program.sources[source].only_broadcast else len(self.program.sources))
        return (rank << 32) + clock.split_order(frame.stream, self._clocks.table_of(frame.stream))[frame.split]

    def _locate(self, tags: Tags, at: int) -> dict[str, Any]:
        """What is known of the source of an element that a function raised on; nothing of what timers emitted."""
        known: dict[str, Any] = {"batch": self.meta.batch - 1}
        origin, sources = int(tags.origin[at]), self.program.sources
        number = (origin >> 32) % len(sources)
        if tags.phase[at] != PHASE_ELEMENT or origin < 0 or self._clock is None or number >= len(sources):
            return known
        known |= {"source": sources[number].name, "position": int(tags.position[at])}
        for stream in self._clocks.listened():
            if self.program.streams[stream].source == number:
                splits = self._clock.split_order(stream, self._clocks.table_of(stream))
                known["split"] = next((name for name, i in splits.items() if i == origin & 0xFFFFFFFF), None)
        return known

    def _hash_broadcast(self, uid: str) -> None:
        """All slots change broadcast state alike (time.md 6.2); the driver compares these hashes when it commits."""
        tables = {t.number.to_bytes(2, "big"): t.name.encode() for t in self.tables.all() if t.operator == uid}
        changed = [
            (tables[key[:2]], key[4:], value)
            for key, value in self.store.changes().items()
            if key[2:4] == SlotCell.GROUP and key[:2] in tables
        ]
        if changed:
            changed.sort(key=lambda c: c[:2])
            before = self.meta.broadcast.get(uid, 0)
            self.meta.broadcast[uid] = key_hash(msgspec.msgpack.encode((before, changed)))

    def _emit(self, running: RunningOperator, emissions: Emissions | VectorEmissions, now: int) -> None:
        if isinstance(emissions, Emissions) and running.program.spec.kind == "materialize":
            self._emit_materialized(running, emissions, now)
            return
        if not emissions.values:
            return
        base = Base(emissions.timestamps, emissions.tags, now)
        flow = Flow(emissions.values, base)
        main, sides = split_side_outputs(emissions.values)
        if sides:
            for tag, at in sides.items():
                if tag in running.sides:
                    running.sides[tag].run(flow.derive([emissions.values[i][1] for i in at], at), NO_CHUNK, self._out)
            flow = flow.derive([emissions.values[i] for i in main], main)
        running.chain.run(flow, NO_CHUNK, self._out)

    def _emit_materialized(self, running: RunningOperator, emissions: Emissions, now: int) -> None:
        """Emits what the first run of this batch stored, whatever this run computed (time.md 8.3)."""
        data = materials.pack(emissions.values, emissions.timestamps(), emissions.tags())
        kept = self._materials.keep(running.program.uid, self.slot, self.meta.batch - 1, data)
        values, timestamps, tags = materials.unpack(kept)
        if values:
            running.chain.run(Flow(values, Base(timestamps, lambda: tags, now)), NO_CHUNK, self._out)

    def _generate(self, running: RunningOperator, records: Records, frames: list[Frame]) -> None:
        """A watermark generator with memory: runs split by split, and speaks for the splits to all slots behind it."""
        program, site, dead = running.program, running.loop.site, running.sides.get(DEAD_LETTERS.tag_id)
        strategy, number, guarded = program.spec.strategy, program.own_stream, program.guarded
        kept = running.backend.handle(ValueStateDescriptor("generator"))
        records.arrange(MIN_WATERMARK, MIN_WATERMARK)
        whole = Base(records.timestamps, lambda: records.tags)
        waiting = sorted({w for f in frames if isinstance(f, Marks) for w in f.waiting})
        keys = records.keys or []
        for split in sorted(set(keys)):
            at = [i for i, key in enumerate(keys) if key == split]
            running.backend.set_key(split)
            marks = ChunkMarks()
            came = Flow([records.values[i] for i in at], whole, column(at))
            unstamped, timestamps = Aside(site, came, guarded), came.timestamps()
            if (assign := strategy.timestamp_of()) is not None:
                timestamps = assigned_timestamps(assign, came.values, timestamps, unstamped)
            stamped = unstamped.without(came)
            unmarked = Aside(site, stamped, guarded)
            generator, marks.mark = kept.value() or (made_generator(strategy, unmarked), MIN_WATERMARK)
            before, generator = marks.generated(generator, stamped.values, timestamps, unmarked)
            kept.update((generator, marks.mark))
            base = Base(timestamps, partial(Tags.of_source, before, 0, stamped.tags().position))
            start = int(records.tags.position[at[0]])
            running.chain.run(unmarked.without(Flow(stamped.values, base)), ChunkName(split, start), self._out)
            if dead is not None:
                for letters in (*unstamped.letters(), *unmarked.letters()):
                    dead.run(letters, NO_CHUNK, self._out)
            self._tell(number, Marks(number, split, start, marks.mark, marks.count, marks.explicit, waiting, False))
        running.backend.unset_key()

    def _mid_stream_watermarks(self, step: WatermarkStep, flow: Flow, timestamps: Column, aside: Aside) -> Flow:
        """A strategy behind an operator: one generator for all slots; records keep the mark before the batch."""
        if step.strategy.kind == "ingestion":
            timestamps = np.full(len(flow.values), flow.base.now, np.int64)
        marks = self._mid_marks.setdefault(step.stream, ChunkMarks())
        if step.strategy.kind in ("bounded", "ingestion"):
            marks.bounded(timestamps, step.strategy.delay)
        elif step.strategy.kind == "custom":
            marks.generated(made_generator(step.strategy, aside), flow.values, timestamps, aside)
        return Flow(flow.values, Base(timestamps, flow.tags().without_watermarks, flow.base.now))

    def _tell_mid_streams(self) -> None:
        """The highest end mark of all slots counts, so every slot tells every slot."""
        for number, marks in self._mid_marks.items():
            self._tell(number, Marks(number, WHOLE, self.slot, marks.mark, marks.count, marks.explicit, [], False))

    def _tell(self, stream: int, frame: Marks) -> None:
        for level in self.program.streams[stream].levels:
            for slot in range(self.program.parallelism):
                self._out.add(level, slot, frame)

    def _relay_on(
        self, program: OperatorProgram, batch: int, now: int, end: int, idle: bool, ended: bool, marks: list[int]
    ) -> None:
        """Tells the slots of the next levels this operator's clocks: each slot tells only its namesakes."""
        frame = Relay(program.number, batch, batch - 1, now, end, idle, ended, self.meta.run, marks)
        for level in program.relay_levels:
            self._out.add(level, self.slot, frame)
