"""Decodes the elements that a slot received for its operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine.chain.column_chunks import unpack_block
from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.slots.clocks import BatchClock, SlotClocks
from penstock.engine.wire.frames import Columns, Frame, Rows, unpack_rows
from penstock.runtime.columnar.column_block import ColumnBlock
from penstock.runtime.loop.channels import ALL_SPLITS
from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.records import PHASE_ELEMENT, Records, Tags, sort_order
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.operators.operator import Input
from penstock.time import MIN_WATERMARK


class OperatorInput:
    """Reads the frames of a batch, in the order of their splits."""

    def __init__(self, program: Program, clocks: SlotClocks) -> None:
        self._program = program
        self._clocks = clocks
        self.clock: BatchClock | None = None  # of the current batch

    def read_records(self, operator: OperatorProgram, frames: list[Frame]) -> Records:
        """The elements of an operator, each with the watermark that its split had before it."""
        assert self.clock is not None
        mine = [f for f in frames if isinstance(f, Rows) and f.operator == operator.number]
        mine.sort(key=self._order)
        parts = []
        for frame in mine:
            watermark = self._watermark_before(frame)
            records = unpack_rows(frame, self._origin(frame), watermark)
            if not frame.from_source:
                records.tags.watermark = np.maximum(records.tags.watermark, watermark)
            elif self._program.streams[frame.stream].ingestion:
                records.timestamps = np.full(len(records.values), self.clock.now, np.int64)
            parts.append((frame.input, records))
        return Records.concatenate(parts, operator.spec.keyed)

    def read_blocks(self, operator: OperatorProgram, frames: list[Frame]) -> list[ColumnBlock]:
        """The elements of an operator that processes columns."""
        assert self.clock is not None
        mine = [f for f in frames if isinstance(f, Columns) and f.operator == operator.number]
        mine.sort(key=self._order)
        blocks = []
        for frame in mine:
            block = unpack_block(frame, self._origin(frame), self._watermark_before(frame))
            if frame.from_source and self._program.streams[frame.stream].ingestion:
                block.times = np.full(len(block), self.clock.now, np.int64)
            blocks.append(block)
        return blocks

    def read_changes(self, operator: OperatorProgram, frames: list[Frame], advance: Advance) -> list[Input]:
        """The rows of a relational operator, by input, each in the order in which it is processed (time-rules 1.6)."""
        assert self.clock is not None
        mine = [f for f in frames if isinstance(f, Rows) and f.operator == operator.number]
        mine.sort(key=lambda frame: (frame.input, *self._order(frame)))
        parts: list[tuple[int, Changes, Tags]] = []
        for frame in mine:
            watermark = self._watermark_before(frame)
            records = unpack_rows(frame, self._origin(frame), watermark)
            records.tags.watermark = np.maximum(records.tags.watermark, watermark)
            parts.append((frame.input, records.values, records.tags))  # type: ignore[arg-type]
        return _ordered_inputs(parts, operator.spec.spec, advance)

    def locate(self, tags: Tags, index: int) -> dict[str, Any]:
        """Source, split and position of an element on which a function raised; only the batch if a timer emitted it."""
        details: dict[str, Any] = {"batch": self._clocks.meta.batch - 1}
        origin, sources = int(tags.origin[index]), self._program.sources
        number = (origin >> 32) % len(sources)
        if tags.phase[index] != PHASE_ELEMENT or origin < 0 or self.clock is None or number >= len(sources):
            return details
        details |= {"source": sources[number].name, "position": int(tags.position[index])}
        for stream in self._clocks.stream_numbers():
            if self._program.streams[stream].source == number:
                splits = self.clock.split_order(stream, self._clocks.split_table(stream))
                details["split"] = next((name for name, i in splits.items() if i == origin & 0xFFFFFFFF), None)
        return details

    def _order(self, frame: Rows | Columns) -> tuple[int, int, int]:
        return self._origin(frame), frame.start, frame.stream

    def _origin(self, frame: Rows | Columns) -> int:
        """A number that orders splits: sources that are only broadcast, then other sources, then splits by name.

        All slots and levels know the same splits of a batch, so they compute the same numbers.
        """
        if not frame.from_source:
            return 0
        assert self.clock is not None
        source = self._program.streams[frame.stream].source
        rank = source + (0 if self._program.sources[source].only_broadcast else len(self._program.sources))
        splits = self.clock.split_order(frame.stream, self._clocks.split_table(frame.stream))
        return (rank << 32) + splits[frame.split]

    def _watermark_before(self, frame: Rows | Columns) -> int:
        """The watermark of a split before a chunk. Watermarks assigned after an operator advance only between batches.

        That of ingestion time advances with the clock, before the first element of the batch (time-rules 7.4).
        """
        if frame.stream < 0:
            return MIN_WATERMARK
        assert self.clock is not None
        if self._program.streams[frame.stream].follows_clock:
            return self.clock.now - 1
        before = self._clocks.before[frame.stream]
        if not frame.from_source:
            return before.splits[ALL_SPLITS].mark
        return self.clock.watermark_before(frame, before, self._program.streams[frame.stream].periodic)


def _ordered_inputs(parts: list[tuple[int, Changes, Tags]], spec: Any, advance: Advance) -> list[Input]:
    """Joins the parts of each input and sorts their rows. All parts of an input stand together."""
    types = [spec.input_types, *([spec.right_types] if hasattr(spec, "right_types") else [])]
    none = np.zeros(0, np.int64)
    if not parts:
        return [Input(Changes.empty(t), none, none) for t in types]
    tags = Tags.concatenate([t for _, _, t in parts])
    effective = np.maximum(advance.before, np.minimum(tags.watermark, advance.end))
    order = sort_order(effective, tags)
    ranks = np.arange(len(effective))
    if order is not None:
        ranks[order] = np.arange(len(effective))
    inputs, start = [], 0
    for number, row_types in enumerate(types):
        own = [changes for n, changes, _ in parts if n == number]
        if not own:
            inputs.append(Input(Changes.empty(row_types), none, none))
            continue
        changes = Changes.concatenate(own)
        stop = start + changes.length
        own_ranks, marks = ranks[start:stop], effective[start:stop]
        if order is not None:
            within = np.argsort(own_ranks, kind="stable")
            changes, own_ranks, marks = changes.take(within), own_ranks[within], marks[within]
        inputs.append(Input(changes, marks, own_ranks))
        start = stop
    return inputs
