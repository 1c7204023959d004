"""Plans the batches of the sources of a job: where they end, and the tasks that read them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.connectors.buffer_timeout import BufferTimeout
from penstock.connectors.source import Offset, ReadContext
from penstock.engine.program.program import Program, SourceProgram
from penstock.engine.slots.control import SplitStatus
from penstock.local.executor import PlannedTask
from penstock.runtime.loop.call_site import CallSite

PausedSplits = Callable[[int, Mapping[int, list[str]]], frozenset[str]]


class SourcePlanner:
    """All sources of a program, and the offsets after the last committed batch."""

    def __init__(self, program: Program, folder: str, paused_splits: PausedSplits, timeout: float | None) -> None:
        """`timeout` is that of `BufferTimeout`."""
        self._program = program
        self._sources = program.sources
        self._paused_splits = paused_splits
        self._is_aligned = any(stream.alignment is not None for stream in program.streams)
        self.offsets: list[Offset] = []
        self.statuses: dict[int, SplitStatus] = {}  # at the offsets
        self.lags: dict[int, int | None] = {}
        self._buffer_timeouts = [BufferTimeout(timeout) for _ in self._sources]
        for source in self._sources:
            own = os.path.join(folder, source.uid)
            os.makedirs(own, exist_ok=True)
            with source_call(source):
                source.source.attach(own)

    def start(self, offsets: list[Offset] | None) -> None:
        """Sets the offsets from which the job continues; None means the initial ones."""
        if offsets is None:
            offsets = []
            for source in self._sources:
                with source_call(source):
                    offsets.append(source.source.initial())
        self.advance(offsets)

    def restore(self, positions: Mapping[str, Any]) -> None:
        """Sets the offsets to positions of another run, by the number of the source. Others start at the beginning."""
        offsets = []
        for number, source in enumerate(self._sources):
            position = positions.get(str(number))
            with source_call(source):
                offsets.append(source.source.initial() if position is None else source.source.restored(position))
        self.advance(offsets)

    def advance(self, offsets: list[Offset]) -> None:
        """Sets the offsets after a committed batch."""
        self.offsets = offsets
        for number, (source, offset) in enumerate(zip(self._sources, offsets, strict=True)):
            with source_call(source):
                source.source.committed(offset)
                self.statuses[number] = SplitStatus(source.source.splits(offset), source.source.ended(offset))

    def latest(self, max_records: int | None) -> list[Offset]:
        """Returns where the next batch ends in each source. Records may wait for a batch to fill."""
        ended = {number: status.ended for number, status in self.statuses.items()} if self._is_aligned else {}
        offsets = []
        for number, (source, start) in enumerate(zip(self._sources, self.offsets, strict=True)):
            paused = self._paused_splits(number, ended) if self._is_aligned else frozenset()
            with source_call(source):
                source.source.configure(ReadContext(max_records, paused))
                end = self._buffer_timeouts[number].admit(source.source, start, source.source.latest(start))
                if end != start:
                    self.lags[number] = source.source.lag(end)
            offsets.append(end)
        return offsets

    def tasks(self, offsets: list[Offset]) -> list[PlannedTask]:
        """Returns the tasks that read from the current offsets to these ones."""
        tasks: list[PlannedTask] = []
        for number, (source, start, end) in enumerate(zip(self._sources, self.offsets, offsets, strict=True)):
            if start != end:
                with source_call(source):
                    waiting = source.source.waiting(end)
                    planned = source.source.plan(start, end, self._program.parallelism)
                tasks += [(number, task, waiting) for task in planned]
        return tasks

    def positions(self) -> dict[int, Any]:
        """Returns the position of each source, which is valid in another checkpoint too."""
        positions = {}
        for number, (source, offset) in enumerate(zip(self._sources, self.offsets, strict=True)):
            with source_call(source):
                positions[number] = source.source.position(offset)
        return positions


@contextmanager
def source_call(source: SourceProgram) -> Iterator[None]:
    """Wraps the errors of one call of a source, so that they name it."""
    try:
        yield
    except Exception as error:
        raise CallSite(source.name, source.uid, None, "Source").error(error) from error
