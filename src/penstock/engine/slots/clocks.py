"""The clocks of a slot: processing time, split watermarks and upstream watermarks. They are equal in all slots of a level."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import msgspec

from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.slots.alignment import paused_splits
from penstock.engine.slots.slot_metadata import SlotMetadata, UpstreamClock
from penstock.engine.slots.split_progress import apply_progress
from penstock.engine.wire.frames import ChunkProgress, Columns, Control, Frame, Relay, Rows
from penstock.errors import CheckpointError
from penstock.runtime.loop.channels import ALL_SPLITS, Channel, SplitTable, combine
from penstock.time import MAX_WATERMARK, MIN_WATERMARK


class SlotClocks:
    """Updates the clocks of a slot from the control, relay and progress frames of each batch."""

    def __init__(self, program: Program, level: int, slot: int, meta: SlotMetadata) -> None:
        self.program = program
        self.level = level
        self.slot = slot
        self.meta = meta
        self.before: dict[int, SplitTable] = {}  # splits of each stream before the current batch
        self._reachable: dict[int, int] = {}  # by upstream operator, from the relays of the current batch

    def begin_batch(self, frames: list[Frame], timestamp: int) -> BatchClock:
        """Applies the frames of a batch and returns its clock."""
        meta = self.meta
        control = next((f for f in frames if isinstance(f, Control)), None)
        relays = {f.operator: f for f in frames if isinstance(f, Relay)}
        self._check_relays([f for f in frames if isinstance(f, Relay)])
        run = control.run if control is not None else next((r.run for r in relays.values()), meta.run)
        fresh_run, meta.run = run != meta.run, run
        first = meta.now == MIN_WATERMARK
        now = max(meta.now, batch_time(frames, timestamp))
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
        self._reachable = {relay.operator: relay.reachable for relay in relays.values()}
        for relay in relays.values():
            self._apply_relay(relay)
        sequences = {s for s in self.stream_numbers() if self.program.streams[s].transient_splits == "sequence"}
        return BatchClock(now, chunks, list(relays.values()), sequences)

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
            table, before = self.split_table(stream), self.before[stream]
            activity = apply_progress(
                table, self.program.streams[stream], [c for c in chunks if c.stream == stream], now
            )
            new = table.splits.keys() - before.splits.keys()  # idle time starts with the next batch
            waiting = activity.waiting | self._paused_splits(stream)
            table.update_idleness(passed, activity.active | new, waiting, fresh_run)

    def _paused_splits(self, stream: int) -> frozenset[str]:
        """The splits that alignment has paused in this batch. They are not idle."""
        program = self.program.streams[stream]
        if program.alignment is None or program.idle_timeout is None:
            return frozenset()
        tables = {self.program.streams[number].uid: table for number, table in self.before.items()}
        return paused_splits(self.program, program.source, tables)

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

    def reachable_watermark(self, program: OperatorProgram) -> int:
        """The watermark that an operator reaches if only the clock advances and no record arrives (time-rules 7.4)."""
        channels = self.channels(program)
        by_clock = [self.program.streams[s].follows_clock for s in program.streams for _ in self.split_table(s).splits]
        ahead = [MAX_WATERMARK if follows else MIN_WATERMARK for follows in by_clock]
        ahead += [self._reachable.get(number, MIN_WATERMARK) for number in program.upstream_operators]
        if not any(mark > MIN_WATERMARK for mark in ahead):
            return combine(channels).watermark
        pairs = zip(channels, ahead, strict=True)
        return combine(msgspec.structs.replace(c, mark=max(c.mark, mark)) for c, mark in pairs).watermark

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

    def __init__(self, now: int, chunks: list[ChunkProgress], relays: list[Relay], sequences: set[int]) -> None:
        self.now = now
        self._relays = relays
        self._orders: dict[int, dict[str, int]] = {}
        self._chunks: dict[tuple[int, str], list[ChunkProgress]] = {}
        for chunk in sorted((c for c in chunks if c.split), key=lambda c: c.start):
            self._chunks.setdefault((chunk.stream, chunk.split), []).append(chunk)
        self._sequences = {stream: _highest_before(stream, self._chunks) for stream in sequences}

    def split_order(self, stream: int, table: SplitTable) -> dict[str, int]:
        """The rank of each split of a stream, by name."""
        order = self._orders.get(stream)
        if order is None:
            names = {*table.splits, *(split for number, split in self._chunks if number == stream)}
            order = self._orders[stream] = {name: i for i, name in enumerate(sorted(names))}
        return order

    def watermark_before(self, frame: Rows | Columns, table: SplitTable, periodic: bool) -> int:
        """The watermark of a split before a chunk, from earlier batches and from earlier chunks of this batch.

        Transient splits that follow each other in time continue with the watermark of the previous one. A periodic watermark
        advances only between batches.
        """
        chunks = self._chunks.get((frame.stream, frame.split), [])
        transient = any(c.transient for c in chunks)
        channel = table.splits.get(ALL_SPLITS if transient else frame.split)
        mark = MIN_WATERMARK if channel is None else channel.mark
        if periodic:
            return mark
        earlier = self._highest_before(frame.stream, frame.split)
        return max([mark, earlier, *(c.watermark for c in chunks if c.start < frame.start)])

    def _highest_before(self, stream: int, split: str) -> int:
        """The highest watermark in this batch of the splits before a split, if they follow each other in time."""
        return self._sequences.get(stream, {}).get(split, MIN_WATERMARK)

    def explicit_watermarks(self, program: OperatorProgram, end: int) -> list[int]:
        """The explicit watermarks of the batch for an operator, ascending and not above `end`."""
        watermarks = {
            min(max(m, self._highest_before(stream, split)), end)
            for (stream, split), cs in self._chunks.items()
            if stream in program.streams
            for m in accumulate((m for c in cs for m in c.explicit_watermarks), max)  # lower ones have no effect
        }
        watermarks |= {
            min(m, end) for r in self._relays if r.operator in program.upstream_operators for m in r.explicit_watermarks
        }
        return sorted(watermarks)


def batch_time(frames: list[Frame], timestamp: int) -> int:
    """The processing time of a batch: that of the levels before, or of the control source, or the time at which it was planned."""
    relayed = [frame.now for frame in frames if isinstance(frame, Relay)]
    if relayed:
        return max(relayed)
    control = next((frame for frame in frames if isinstance(frame, Control)), None)
    return timestamp if control is None or control.clock is None else control.clock


def _highest_before(stream: int, chunks: Mapping[tuple[int, str], list[ChunkProgress]]) -> dict[str, int]:
    """For each split of a stream in a batch, the highest watermark of the splits before it. Names sort in their order."""
    highest, before = MIN_WATERMARK, {}
    for split in sorted(split for number, split in chunks if number == stream):
        before[split] = highest
        highest = max(highest, *(c.watermark for c in chunks[stream, split]))
    return before


def _copy(table: SplitTable) -> SplitTable:
    return msgspec.convert(msgspec.to_builtins(table), SplitTable)
