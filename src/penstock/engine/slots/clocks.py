"""A slot's clocks: what control, relays and marks of a batch say of time, the same in all slots of a level."""

from __future__ import annotations

import msgspec

from penstock.engine.frames import Columns, Control, Frame, Marks, Relay, Rows
from penstock.engine.program import OperatorProgram, Program
from penstock.engine.slot_meta import Edge, SlotMeta
from penstock.errors import CheckpointError
from penstock.runtime.channels import Channel, SplitTable
from penstock.time import MIN_WATERMARK

WHOLE = "*"  # the split that stands for all transient splits of a stream


class SlotClocks:
    """Takes in what a batch's frames say of time, and keeps it in the slot's memory."""

    def __init__(self, program: Program, level: int, slot: int, meta: SlotMeta) -> None:
        self.program = program
        self.level = level
        self.slot = slot
        self.meta = meta
        self.before: dict[int, SplitTable] = {}  # the splits of each stream, as they were before the batch

    def take_in(self, frames: list[Frame], timestamp: int) -> BatchClock:
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
        self.before = {s: _copied(self.table_of(s)) for s in self.listened()}
        chunks = [f for f in frames if isinstance(f, Marks)]
        if control is not None:
            self._control(control)
        self._marks(chunks, passed, fresh_run or first, now)
        if control is not None and control.end:  # also of splits that spoke in this batch only
            for stream in self.listened():
                self.table_of(stream).end_all()
        for relay in relays.values():
            self._relay(relay)
        return BatchClock(now, chunks, list(relays.values()))

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

    def listened(self) -> list[int]:
        return [i for i, s in enumerate(self.program.streams) if self.level in s.levels]

    def table_of(self, stream: int) -> SplitTable:
        program = self.program.streams[stream]
        table = self.meta.streams.get(program.uid)
        if table is None:
            table = self.meta.streams[program.uid] = SplitTable({}, program.idle_timeout)
            if program.operator >= 0:
                table.known([WHOLE])
        table.idle_timeout = program.idle_timeout
        return table

    def _control(self, control: Control) -> None:
        for stream in self.listened():
            table, source = self.table_of(stream), self.program.streams[stream].source
            table.known(control.known.get(source, ()))
            table.ended(control.ended.get(source, ()))

    def _marks(self, chunks: list[Marks], passed: int, fresh_run: bool, now: int) -> None:
        for stream in self.listened():
            table = self.table_of(stream)
            mine = [c for c in chunks if c.stream == stream]
            whole: dict[str, int] = {}
            for chunk in mine:
                if chunk.transient:
                    whole[chunk.split] = max(whole.get(chunk.split, MIN_WATERMARK), chunk.mark)
                else:
                    table.mark(chunk.split, chunk.mark)
            if whole:
                table.mark(WHOLE, min(whole.values()))
            spoke = {WHOLE if c.transient else c.split for c in mine if c.count}
            for split in spoke if self.program.streams[stream].ingestion else ():
                table.mark(split, now - 1)
            waiting = {w for c in mine for w in c.waiting}
            new = table.splits.keys() - self.before[stream].splits.keys()  # no time has passed for them
            table.age(passed, spoke | new, waiting, fresh_run)

    def _relay(self, relay: Relay) -> None:
        channel = Channel(mark=relay.watermark, idle=relay.idle, ended=relay.ended)
        self.meta.edges[self.program.operators[relay.operator].uid] = Edge(channel, relay.batch)
        if relay.ended:
            for stream in self.listened():
                if self.program.streams[stream].operator == relay.operator:
                    self.table_of(stream).end_all()

    def channels(self, program: OperatorProgram) -> list[Channel]:
        found = [c for s in program.streams for c in self.table_of(s).splits.values()]
        for number in program.edges:
            edge = self.meta.edges.get(self.program.operators[number].uid)
            found.append(Channel() if edge is None else edge.channel)
        if not found:
            found.append(Channel())
        return found

    def aligned_marks(self) -> dict[str, dict[str, tuple[int, bool]]]:
        """What the driver needs to hold back splits that run ahead."""
        aligned = [s for s in self.listened() if self.program.streams[s].alignment is not None]
        return {
            self.program.streams[s].uid: {
                name: (c.mark, not c.idle and not c.ended) for name, c in self.table_of(s).splits.items()
            }
            for s in aligned
        }

    def furthest_behind(self) -> dict[str, tuple[str, int, int]]:
        """By source: the split that holds its watermark back, its mark, and the highest mark of all its splits."""
        found: dict[str, tuple[str, int, int]] = {}
        for stream in self.listened():
            program, splits = self.program.streams[stream], self.table_of(stream).splits
            active = [(c.mark, name) for name, c in splits.items() if not c.idle and not c.ended]
            if program.source >= 0 and active:
                mark, name = min(active)
                highest = max(c.mark for c in splits.values())
                found[self.program.sources[program.source].uid] = name, mark, highest
        return found


class BatchClock:
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

    def mark_before(self, frame: Rows | Columns, table: SplitTable) -> int:
        """The mark of a split before a chunk: from earlier batches, and from earlier chunks of this one."""
        chunks = self._chunks.get((frame.stream, frame.split), [])
        transient = any(c.transient for c in chunks)
        channel = table.splits.get(WHOLE if transient else frame.split)
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
