"""The host of a level: one slot's batch, for all operators of the level. Bundles in, bundles out."""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np

from penstock.engine import materials
from penstock.engine.chain import NO_CHUNK, Base, ChainRunner, ChunkName, Flow, Place, split_side_outputs
from penstock.engine.frames import (
    Bundle,
    Bundles,
    Control,
    Frame,
    Marks,
    Relay,
    Report,
    Rows,
    decode_bundle,
    unpack_rows,
)
from penstock.engine.logs import RUNNING, take_lines
from penstock.engine.marks import ChunkMarks, assigned_timestamps
from penstock.engine.materials import Materials, MemoryMaterials
from penstock.engine.operators import make_operator
from penstock.engine.program import OperatorProgram, Program
from penstock.engine.steps import WatermarkStep, needs_origins
from penstock.errors import CheckpointError
from penstock.runtime.batch import BatchLoop
from penstock.runtime.channels import Channel, SplitTable, combine
from penstock.runtime.keys import KeyTable, key_hash
from penstock.runtime.operator import OperatorContext
from penstock.runtime.records import Records, Tags
from penstock.runtime.slot import Advance, Emissions, SlotLoop
from penstock.runtime.state.backend import StateBackend, Table, Tables
from penstock.runtime.state.cell import SlotCell
from penstock.runtime.store import Store
from penstock.runtime.timers import TimerQueue
from penstock.state import ValueStateDescriptor
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

_WHOLE = "*"  # the split that stands for all transient splits of a stream


class Edge(msgspec.Struct, array_like=True):
    """What is known of an upstream operator."""

    channel: Channel
    batch: int = -1


class SlotMeta(msgspec.Struct):
    """A slot's clocks and tables; stored with its state."""

    batch: int = 0
    now: int = MIN_WATERMARK
    run: str = ""
    streams: dict[str, SplitTable] = {}
    edges: dict[str, Edge] = {}
    watermarks: dict[str, int] = {}
    tables: list[Table] = []
    broadcast: dict[str, int] = {}  # a running hash of each operator's changes to broadcast state: equal in all slots
    ended: bool = False


class _Running:
    """One operator in one slot."""

    def __init__(self, program: OperatorProgram, host: LevelHost) -> None:
        job, slot = host.program, host.slot
        self.program = program
        self.operator = make_operator(program, slot)
        self.keys = KeyTable(job.max_parallelism)
        self.backend = StateBackend(host.store, host.tables, program.uid, self.keys, job.cached)
        self.place = Place(job, slot, program.parallelism)
        runtime = self.place.runtime(program.uid, program.name, self.backend if self.operator.keyed else None)
        RUNNING.operator, RUNNING.subtask = program.name, slot  # functions may log in open
        event = TimerQueue(host.store, self._table(host, "event"), self.keys)
        processing = TimerQueue(host.store, self._table(host, "processing"), self.keys)
        self.context = OperatorContext(self.backend, event, processing, runtime)
        self.operator.open(self.context)
        self._late = 0
        traced = program.spec.kind == "materialize" or any(map(needs_origins, (program.chain, *program.side.values())))
        self.loop = (BatchLoop if job.batch else SlotLoop)(program.name, self.operator, self.context, traced)
        self.chain = ChainRunner(program.chain, self.place)
        self.sides = {tag: ChainRunner(steps, self.place) for tag, steps in program.side.items()}
        for chain in (self.chain, *self.sides.values()):
            chain.watermark_hook = host.mid_stream_watermarks
            chain.open()

    def _table(self, host: LevelHost, domain: str) -> bytes:
        return host.tables.of(self.program.uid, f"__{domain}_timers__", "timers", "timers").number.to_bytes(2, "big")

    def late_since_last_batch(self) -> int:
        """Late records that the operator dropped and only counted."""
        counted: int = getattr(self.operator, "late_records", 0)
        self._late, before = counted, self._late
        return counted - before

    def close(self) -> None:
        self.operator.close()
        for chain in (self.chain, *self.sides.values()):
            chain.close()


class LevelHost:
    """All operators of one level in one slot. Made once per worker; the store under it changes from batch to batch."""

    def __init__(
        self, program: Program, level: int, slot: int, store: Store, meta: SlotMeta, materials: Materials | None = None
    ) -> None:
        self.program = program
        self.level = level
        self.slot = slot
        self.store = store
        self.meta = meta
        self.tables = Tables(meta.tables)
        self._operators = program.operators_at(level)
        self._running = {o.number: _Running(o, self) for o in self._operators if slot < o.parallelism}
        self._materials = materials if materials is not None else MemoryMaterials()
        self._out = Bundles()
        self._mid_marks: dict[int, ChunkMarks] = {}
        self._before: dict[int, SplitTable] = {}
        self.report: Report | None = None

    def close(self) -> None:
        for running in self._running.values():
            running.close()

    def take_meta(self, meta: SlotMeta, cache_valid: bool) -> None:
        """Goes on from the clocks of the last committed batch, which another worker may have run."""
        if meta.batch < self.meta.batch:  # the last batch of this host was not committed: it runs again
            for running in self._running.values():
                running.place.roll_back_metrics()
        self.meta = meta
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
        self.meta = msgspec.msgpack.decode(before, type=SlotMeta)
        for running in self._running.values():
            running.backend.forget()
            running.context.event_timers.forget()
            running.context.processing_timers.forget()
            running.late_since_last_batch()  # what the failed attempt counted does not count
            running.place.roll_back_metrics()

    def _run(self, frames: list[Frame], timestamp: int) -> None:
        clock = self._clock(frames, timestamp)
        for running in self._running.values():
            running.place.begin_metrics()
        batch = self.meta.batch
        self.meta.batch += 1
        counts: dict[str, int] = {}
        late: dict[str, int] = {}
        wakes: list[int] = []
        self._mid_marks.clear()
        for program in self._operators:
            self._run_operator(program, frames, clock, batch, counts, late, wakes)
        self._tell_mid_streams()
        self.meta.tables = self.tables.all()
        wakes += [w for s in self._listened() if (w := self._table_of(s).next_idle(clock.now)) is not None]
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
            marks=self._aligned_marks(),
            metrics={u: m for r in self._running.values() for u, m in r.place.take_metrics(clock.now).items()},
            logs=take_lines(),
        )

    def _aligned_marks(self) -> dict[str, dict[str, tuple[int, bool]]]:
        """What the driver needs to hold back splits that run ahead."""
        aligned = [s for s in self._listened() if self.program.streams[s].alignment is not None]
        return {
            self.program.streams[s].uid: {
                name: (c.mark, not c.idle and not c.ended) for name, c in self._table_of(s).splits.items()
            }
            for s in aligned
        }

    # -- clocks

    def _clock(self, frames: list[Frame], timestamp: int) -> _Clock:
        """Takes in what control, relays and marks say; the same in all slots."""
        meta = self.meta
        control = next((f for f in frames if isinstance(f, Control)), None)
        relays = {f.operator: f for f in frames if isinstance(f, Relay)}
        self._check_relays([f for f in frames if isinstance(f, Relay)])
        run = control.run if control is not None else next((r.run for r in relays.values()), meta.run)
        fresh_run, meta.run = run != meta.run, run
        if relays:
            timestamp = max(r.now for r in relays.values())
        elif control is not None and control.clock is not None:
            timestamp = control.clock
        first = meta.now == MIN_WATERMARK
        now = max(meta.now, timestamp)
        passed = 0 if first else now - meta.now
        meta.now = now
        self._before = {s: _copied(self._table_of(s)) for s in self._listened()}
        chunks = [f for f in frames if isinstance(f, Marks)]
        if control is not None:
            self._control(control)
        self._marks(chunks, passed, fresh_run or first, now)
        if control is not None and control.end:  # also of splits that spoke in this batch only
            for stream in self._listened():
                self._table_of(stream).end_all()
        for relay in relays.values():
            self._relay(relay)
        return _Clock(now, chunks, list(relays.values()))

    def _check_relays(self, relays: list[Relay]) -> None:
        """Two relays on an edge, or one that skips a batch, mean that a row was lost or doubled (time.md 2.5)."""
        seen: set[int] = set()
        for relay in relays:
            known = self.meta.edges.get(self.program.operators[relay.operator].uid)
            if relay.operator in seen or (known is not None and known.batch != relay.previous):
                raise CheckpointError(
                    "RELAY_LOST",
                    f"Slot {self.slot} of level {self.level} got batch {relay.batch} of operator "
                    f"'{self.program.operators[relay.operator].name}' after batch {known.batch if known else None}, "
                    f"which says it follows {relay.previous}: a row was lost or doubled. Resume from the last checkpoint.",
                )
            seen.add(relay.operator)

    def _listened(self) -> list[int]:
        return [i for i, s in enumerate(self.program.streams) if self.level in s.levels]

    def _table_of(self, stream: int) -> SplitTable:
        program = self.program.streams[stream]
        table = self.meta.streams.get(program.uid)
        if table is None:
            table = self.meta.streams[program.uid] = SplitTable({}, program.idle_timeout)
            if program.operator >= 0:
                table.known([_WHOLE])
        table.idle_timeout = program.idle_timeout
        return table

    def _control(self, control: Control) -> None:
        for stream in self._listened():
            table, source = self._table_of(stream), self.program.streams[stream].source
            table.known(control.known.get(source, ()))
            table.ended(control.ended.get(source, ()))

    def _marks(self, chunks: list[Marks], passed: int, fresh_run: bool, now: int) -> None:
        for stream in self._listened():
            table = self._table_of(stream)
            mine = [c for c in chunks if c.stream == stream]
            whole: dict[str, int] = {}
            for chunk in mine:
                if chunk.transient:
                    whole[chunk.split] = max(whole.get(chunk.split, MIN_WATERMARK), chunk.mark)
                else:
                    table.mark(chunk.split, chunk.mark)
            if whole:
                table.mark(_WHOLE, min(whole.values()))
            spoke = {_WHOLE if c.transient else c.split for c in mine if c.count}
            for split in spoke if self.program.streams[stream].ingestion else ():
                table.mark(split, now - 1)
            waiting = {w for c in mine for w in c.waiting}
            new = table.splits.keys() - self._before[stream].splits.keys()  # no time has passed for them
            table.age(passed, spoke | new, waiting, fresh_run)

    def _relay(self, relay: Relay) -> None:
        channel = Channel(mark=relay.watermark, idle=relay.idle, ended=relay.ended)
        self.meta.edges[self.program.operators[relay.operator].uid] = Edge(channel, relay.batch)
        if relay.ended:
            for stream in self._listened():
                if self.program.streams[stream].operator == relay.operator:
                    self._table_of(stream).end_all()

    def _channels(self, program: OperatorProgram) -> list[Channel]:
        found = [c for s in program.streams for c in self._table_of(s).splits.values()]
        for number in program.edges:
            edge = self.meta.edges.get(self.program.operators[number].uid)
            found.append(Channel() if edge is None else edge.channel)
        if not found:
            found.append(Channel())
        return found

    # -- operators

    def _run_operator(
        self,
        program: OperatorProgram,
        frames: list[Frame],
        clock: _Clock,
        batch: int,
        counts: dict[str, int],
        late: dict[str, int],
        wakes: list[int],
    ) -> None:
        before = self.meta.watermarks.get(program.uid, MIN_WATERMARK)
        combined = combine(self._channels(program))
        end = max(before, combined.watermark)
        marks = clock.explicit(program, end)
        self.meta.watermarks[program.uid] = end
        running = self._running.get(program.number)
        if running is not None:
            RUNNING.operator, RUNNING.subtask = program.name, self.slot
            records = self._records(
                program, [f for f in frames if isinstance(f, Rows) and f.operator == program.number], clock
            )
            counts[program.uid] = len(records.values)
            if program.spec.kind == "generator":
                self._generate(running, records, frames)
            else:
                emissions = running.loop.run(records, Advance(clock.now, before, end, list(marks), batch))
                self._emit(running, emissions, clock.now)
            running.backend.clean()
            running.backend.flush()
            if program.spec.kind == "broadcast":
                self._hash_broadcast(program.uid)
            running.context.event_timers.flush()
            running.context.processing_timers.flush()
            if (earliest := running.context.processing_timers.earliest) is not None:
                wakes.append(earliest)
            if dropped := running.late_since_last_batch():
                late[program.uid] = dropped
        self._relay_on(program, batch, clock.now, end, combined.idle, combined.ended, marks)

    def _records(self, program: OperatorProgram, frames: list[Rows], clock: _Clock) -> Records:
        """The elements of an operator, with the watermarks that their splits had before them."""
        frames.sort(key=lambda f: (self._origin(f, clock), f.start))
        parts = []
        for frame in frames:
            at_least = clock.mark_before(frame, self._before[frame.stream]) if frame.stream >= 0 else MIN_WATERMARK
            records = unpack_rows(frame, self._origin(frame, clock), at_least)
            if frame.stream < 0 and (mid := self._mid_stream_of(frame)) is not None:
                records.tags.watermark = np.maximum(records.tags.watermark, mid)
            elif frame.stream >= 0 and self.program.streams[frame.stream].ingestion:
                records.timestamps = np.full(len(records.values), clock.now, np.int64)
            parts.append((frame.input, records))
        return Records.concatenate(parts, program.spec.keyed)

    def _mid_stream_of(self, frame: Rows) -> int | None:
        """The mark before the batch, for elements that got their watermarks behind an operator (time.md 2.10)."""
        return self._before[frame.start].splits[_WHOLE].mark if frame.split == _WHOLE else None

    def _origin(self, frame: Rows, clock: _Clock) -> int:
        """A number that orders splits: sources that are only broadcast first, then sources, then their splits by name.

        All slots and levels know the same splits of a batch, so they give the same numbers.
        """
        if frame.stream < 0:
            return 0
        source = self.program.streams[frame.stream].source
        rank = source + (0 if self.program.sources[source].only_broadcast else len(self.program.sources))
        return (rank << 32) + clock.split_order(frame.stream, self._table_of(frame.stream))[frame.split]

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

    def _emit(self, running: _Running, emissions: Emissions, now: int) -> None:
        if running.program.spec.kind == "materialize":
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

    def _emit_materialized(self, running: _Running, emissions: Emissions, now: int) -> None:
        """Emits what the first run of this batch stored, whatever this run computed (time.md 8.3)."""
        data = materials.pack(emissions.values, emissions.timestamps(), emissions.tags())
        kept = self._materials.keep(running.program.uid, self.slot, self.meta.batch - 1, data)
        values, timestamps, tags = materials.unpack(kept)
        if values:
            running.chain.run(Flow(values, Base(timestamps, lambda: tags, now)), NO_CHUNK, self._out)

    def _generate(self, running: _Running, records: Records, frames: list[Frame]) -> None:
        """A watermark generator with memory: runs split by split, and speaks for the splits to all slots behind it."""
        strategy, number = running.program.spec.strategy, running.program.own_stream
        kept = running.backend.handle(ValueStateDescriptor("generator"))
        records.arrange(MIN_WATERMARK, MIN_WATERMARK)
        waiting = sorted({w for f in frames if isinstance(f, Marks) for w in f.waiting})
        keys = records.keys or []
        for split in sorted(set(keys)):
            at = [i for i, key in enumerate(keys) if key == split]
            running.backend.set_key(split)
            marks = ChunkMarks()
            generator, marks.mark = kept.value() or (strategy.generator(), MIN_WATERMARK)
            values = [records.values[i] for i in at]
            timestamps = assigned_timestamps(running.program.name, strategy, values, records.timestamps[at])
            before = marks.generated(generator, values, timestamps)
            positions = records.tags.position[at]
            kept.update((generator, marks.mark))
            base = Base(timestamps, partial(Tags.of_source, before, 0, positions))
            start = int(positions[0])
            running.chain.run(Flow(values, base), ChunkName(split, start), self._out)
            self._tell(number, Marks(number, split, start, marks.mark, marks.count, marks.explicit, waiting, False))
        running.backend.unset_key()

    def mid_stream_watermarks(self, step: WatermarkStep, flow: Flow) -> Flow:
        """A strategy behind an operator: one generator for all slots; records keep the mark before the batch."""
        timestamps = assigned_timestamps(step.name, step.strategy, flow.values, flow.timestamps())
        if step.strategy.kind == "ingestion":
            timestamps = np.full(len(flow.values), flow.base.now, np.int64)
        marks = self._mid_marks.setdefault(step.stream, ChunkMarks())
        if step.strategy.kind in ("bounded", "ingestion"):
            marks.bounded(timestamps, step.strategy.delay)
        elif step.strategy.kind == "custom":
            assert step.strategy.generator is not None
            marks.generated(step.strategy.generator(), flow.values, timestamps)
        return Flow(flow.values, Base(timestamps, flow.tags().without_watermarks, flow.base.now))

    def _tell_mid_streams(self) -> None:
        """The highest end mark of all slots counts, so every slot tells every slot."""
        for number, marks in self._mid_marks.items():
            self._tell(number, Marks(number, _WHOLE, self.slot, marks.mark, marks.count, marks.explicit, [], False))

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


class _Clock:
    """What a batch's frames say of time."""

    def __init__(self, now: int, chunks: list[Marks], relays: list[Relay]) -> None:
        self.now = now
        self._relays = relays
        self._orders: dict[int, dict[str, int]] = {}
        self._chunks: dict[tuple[int, str], list[Marks]] = {}
        for chunk in sorted(chunks, key=lambda c: c.start):
            self._chunks.setdefault((chunk.stream, chunk.split), []).append(chunk)

    def split_order(self, stream: int, table: SplitTable) -> dict[str, int]:
        order = self._orders.get(stream)
        if order is None:
            names = {*table.splits, *(split for number, split in self._chunks if number == stream)}
            order = self._orders[stream] = {name: i for i, name in enumerate(sorted(names))}
        return order

    def mark_before(self, frame: Rows, table: SplitTable) -> int:
        """The mark of a split before a chunk: from earlier batches, and from earlier chunks of this one."""
        chunks = self._chunks.get((frame.stream, frame.split), [])
        transient = any(c.transient for c in chunks)
        channel = table.splits.get(_WHOLE if transient else frame.split)
        mark = MIN_WATERMARK if channel is None else channel.mark
        return max([mark, *(c.mark for c in chunks if c.start < frame.start)])

    def explicit(self, program: OperatorProgram, end: int) -> list[int]:
        """The explicit watermarks that all slots of an operator step through."""
        found = {
            min(m, end)
            for (stream, _), cs in self._chunks.items()
            if stream in program.streams
            for c in cs
            for m in c.explicit
        }
        found |= {min(m, end) for r in self._relays if r.operator in program.edges for m in r.marks}
        return sorted(found)


def _copied(table: SplitTable) -> SplitTable:
    return msgspec.convert(msgspec.to_builtins(table), SplitTable)
