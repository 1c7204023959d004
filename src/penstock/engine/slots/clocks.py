"""The clocks of a slot: processing time, split watermarks and upstream watermarks. They are equal in all slots of a level."""

from __future__ import annotations

from itertools import accumulate

import msgspec

from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.slots.slot_metadata import SlotMetadata, UpstreamClock
from penstock.engine.wire.frames import ChunkProgress, Columns, Control, Frame, Relay, Rows
from penstock.errors import CheckpointError
from penstock.runtime.loop.channels import ALL_SPLITS, Channel, SplitTable
from penstock.time import MIN_WATERMARK


class SlotClocks:
    """Updates the clocks of a slot from the control, relay and progress frames of each batch."""

    def __init__(self, program: Program, level: int, slot: int, meta: SlotMetadata) -> None:
        self.program = program
        self.level = level
        self.slot = slot
        self.meta = meta
        self.before: dict[int, SplitTable] = {}  # splits of each stream before the current batch

    def begin_batch(self, frames: list[Frame], timestamp: int) -> BatchClock:
        """Applies the frames of a batch and returns its clock."""
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
        self.before = {s: _copy(self.split_table(s)) for s in self.stream_numbers()}
        chunks = [f for f in frames if isinstance(f, ChunkProgress)]
        if control is not None:
            self._apply_control(control)
        self._apply_progress(chunks, passed, fresh_run or first, now)
        if control is not None and control.end:  # also ends splits that are new in this batch
            for stream in self.stream_numbers():
                self.split_table(stream).end_all()
        for relay in relays.values():
            self._apply_relay(relay)
        return BatchClock(now, chunks, list(relays.values()))

    def _check_relays(self, relays: list[Relay]) -> None:
        """Raises if an operator sent two relays or skipped a batch, because then a row was lost or duplicated (time-rules 2.5)."""
        seen: set[int] = set()
        for relay in relays:
            known = self.meta.edges.get(self.program.operators[relay.operator].uid)
            if relay.operator in seen or (known is not None and known.batch != relay.previous_batch):
                raise CheckpointError(
                    "RELAY_LOST",
                    f"Slot {self.slot} of level {self.level} got batch {relay.batch} of operator "
                    f"'{self.program.operators[relay.operator].name}' after batch {known.batch if known else None}, "
                    f"but it follows batch {relay.previous_batch}. A row was lost or duplicated. Resume from the last "
                    "checkpoint.",
                )
            seen.add(relay.operator)

    def stream_numbers(self) -> list[int]:
        """The watermark streams that this level reads."""
        return [i for i, s in enumerate(self.program.streams) if self.level in s.levels]

    def split_table(self, stream: int) -> SplitTable:
        """The splits of a stream. Creates the table on first use."""
        program = self.program.streams[stream]
        table = self.meta.streams.get(program.uid)
        if table is None:
            table = self.meta.streams[program.uid] = SplitTable({}, program.idle_timeout)
            if program.operator >= 0:
                table.add_splits([ALL_SPLITS])
        table.idle_timeout = program.idle_timeout
        return table

    def _apply_control(self, control: Control) -> None:
        for stream in self.stream_numbers():
            table, source = self.split_table(stream), self.program.streams[stream].source
            table.add_splits(control.known.get(source, ()))
            table.end_splits(control.ended.get(source, ()))

    def _apply_progress(self, chunks: list[ChunkProgress], passed: int, fresh_run: bool, now: int) -> None:
        for stream in self.stream_numbers():
            table = self.split_table(stream)
            mine = [c for c in chunks if c.stream == stream]
            transient: dict[str, int] = {}
            for chunk in mine:
                if chunk.transient:
                    transient[chunk.split] = max(transient.get(chunk.split, MIN_WATERMARK), chunk.watermark)
                else:
                    table.mark(chunk.split, chunk.watermark)
            if transient:
                table.mark(ALL_SPLITS, min(transient.values()))
            active = {ALL_SPLITS if c.transient else c.split for c in mine if c.count}
            for split in active if self.program.streams[stream].ingestion else ():
                table.mark(split, now - 1)
            backlogged = {split for c in mine for split in c.backlogged_splits}
            new = table.splits.keys() - self.before[stream].splits.keys()  # idle time starts with the next batch
            table.update_idleness(passed, active | new, backlogged, fresh_run)

    def _apply_relay(self, relay: Relay) -> None:
        channel = Channel(mark=relay.watermark, idle=relay.idle, ended=relay.ended)
        self.meta.edges[self.program.operators[relay.operator].uid] = UpstreamClock(channel, relay.batch)
        if relay.ended:
            for stream in self.stream_numbers():
                if self.program.streams[stream].operator == relay.operator:
                    self.split_table(stream).end_all()

    def channels(self, program: OperatorProgram) -> list[Channel]:
        """The splits and upstream operators whose watermarks an operator combines."""
        channels = [c for s in program.streams for c in self.split_table(s).splits.values()]
        for number in program.upstream_operators:
            edge = self.meta.edges.get(self.program.operators[number].uid)
            channels.append(Channel() if edge is None else edge.channel)
        if not channels:
            channels.append(Channel())
        return channels

    def alignment_watermarks(self) -> dict[str, dict[str, tuple[int, bool]]]:
        """Watermarks of the splits of aligned streams, and whether each split is active."""
        aligned = [s for s in self.stream_numbers() if self.program.streams[s].alignment is not None]
        return {
            self.program.streams[s].uid: {
                name: (c.mark, not c.idle and not c.ended) for name, c in self.split_table(s).splits.items()
            }
            for s in aligned
        }

    def slowest_splits(self) -> dict[str, tuple[str, int, int]]:
        """By source: the active split with the lowest watermark, its watermark, and the highest watermark of all splits."""
        slowest: dict[str, tuple[str, int, int]] = {}
        for stream in self.stream_numbers():
            program, splits = self.program.streams[stream], self.split_table(stream).splits
            active = [(c.mark, name) for name, c in splits.items() if not c.idle and not c.ended]
            if program.source >= 0 and active:
                mark, name = min(active)
                highest = max(c.mark for c in splits.values())
                slowest[self.program.sources[program.source].uid] = name, mark, highest
        return slowest


class BatchClock:
    """Processing time, chunk watermarks and explicit watermarks of one batch."""

    def __init__(self, now: int, chunks: list[ChunkProgress], relays: list[Relay]) -> None:
        self.now = now
        self._relays = relays
        self._orders: dict[int, dict[str, int]] = {}
        self._chunks: dict[tuple[int, str], list[ChunkProgress]] = {}
        for chunk in sorted(chunks, key=lambda c: c.start):
            self._chunks.setdefault((chunk.stream, chunk.split), []).append(chunk)

    def split_order(self, stream: int, table: SplitTable) -> dict[str, int]:
        """The rank of each split of a stream, by name."""
        order = self._orders.get(stream)
        if order is None:
            names = {*table.splits, *(split for number, split in self._chunks if number == stream)}
            order = self._orders[stream] = {name: i for i, name in enumerate(sorted(names))}
        return order

    def watermark_before(self, frame: Rows | Columns, table: SplitTable) -> int:
        """The watermark of a split before a chunk, from earlier batches and from earlier chunks of this batch."""
        chunks = self._chunks.get((frame.stream, frame.split), [])
        transient = any(c.transient for c in chunks)
        channel = table.splits.get(ALL_SPLITS if transient else frame.split)
        mark = MIN_WATERMARK if channel is None else channel.mark
        return max([mark, *(c.watermark for c in chunks if c.start < frame.start)])

    def explicit_watermarks(self, program: OperatorProgram, end: int) -> list[int]:
        """The explicit watermarks of the batch for an operator, ascending and not above `end`."""
        watermarks = {
            min(m, end)
            for (stream, _), cs in self._chunks.items()
            if stream in program.streams
            for m in accumulate((m for c in cs for m in c.explicit_watermarks), max)  # lower ones have no effect
        }
        watermarks |= {
            min(m, end) for r in self._relays if r.operator in program.upstream_operators for m in r.explicit_watermarks
        }
        return sorted(watermarks)


def _copy(table: SplitTable) -> SplitTable:
    return msgspec.convert(msgspec.to_builtins(table), SplitTable)
