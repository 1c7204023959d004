"""The host of a level in batch mode: all input of one slot, share by share, so that one share of its keys is in memory.

Elements without keys are taken as they come, some megabytes at a time. A share that is too large, because one of its keys
is, is sorted on disk.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from penstock.engine.aside import Aside
from penstock.engine.flow import Base, Flow
from penstock.engine.frames import Bundle, Frame, Rows, decode_bundle
from penstock.engine.host import LevelHost
from penstock.engine.logs import RUNNING
from penstock.engine.program import OperatorProgram
from penstock.engine.reports import add_flows
from penstock.engine.running import RunningOperator
from penstock.engine.shares import FIRST
from penstock.engine.spilled import SpilledRecords
from penstock.engine.steps import WatermarkStep
from penstock.runtime.batch import BatchLoop
from penstock.runtime.channels import combine
from penstock.runtime.records import Column
from penstock.runtime.slot import Advance
from penstock.time import MIN_WATERMARK


class BatchHost(LevelHost):
    """All operators of one level in one slot, from the first element to the last."""

    piece = 8 << 20  # bytes of elements without keys that are taken at once
    spill_at = 64 << 20  # bytes of an operator's share that are held in memory before it is sorted on disk

    def run_whole(self, rows: Iterable[tuple[int, bytes]], timestamp: int) -> Iterator[Bundle]:
        """Everything that came for this slot, as (share, blob) in order of shares, to what goes out."""
        self._counts: dict[str, int] = {}
        self._flows: dict[str, tuple[int, int]] = {}
        pending = groupby(rows, itemgetter(0))
        first: list[Frame] = []
        share, blobs = next(pending, (FIRST, iter(())))
        if share == FIRST:
            first = [frame for _, blob in blobs for frame in decode_bundle(blob)]
            share, blobs = next(pending, (FIRST, iter(())))
        self._begin(first, timestamp)
        for running in self._running.values():
            mine = [f for f in first if isinstance(f, Rows) and f.operator == running.program.number]
            if mine or running.program.spec.kind != "materialize":  # what that stores first counts
                self._run_piece(running, mine)
        while share != FIRST:
            yield from self._run_share(blob for _, blob in blobs)
            share, blobs = next(pending, (FIRST, iter(())))
        self._end()
        yield from self._out.take_all()

    # -- begin and end

    def _begin(self, frames: list[Frame], timestamp: int) -> None:
        self._clock = self._clocks.take_in(frames, timestamp)
        self.meta.batch += 1
        for running in self._running.values():
            running.place.begin_metrics()
        for program in self._operators:
            self.meta.watermarks[program.uid] = combine(self._clocks.channels(program)).watermark

    def _end(self) -> None:
        assert self._clock is not None
        batch, now = self.meta.batch - 1, self._clock.now
        late: dict[str, int] = {}
        for program in self._operators:
            running = self._running.get(program.number)
            if running is not None:
                if program.uid not in self._counts:
                    self._run_piece(running, [])  # that nothing came is stored too
                running.flush()  # broadcast state, for the slots to be compared
                if program.spec.kind == "broadcast":
                    self._hash_broadcast(program.uid)
                if dropped := running.late_since_last_batch():
                    late[program.uid] = dropped
            combined = combine(self._clocks.channels(program))
            self._relay_on(program, batch, now, combined.watermark, combined.idle, combined.ended, [])
        self.meta.tables = self.tables.all()
        self._tell_report(batch, self._clock, self._counts, late, self._flows, [])

    # -- elements

    def _run_share(self, blobs: Iterator[bytes]) -> Iterator[Bundle]:
        """Elements without keys as they come, all that have a key at the end, when all of them are there."""
        spilled: dict[int, SpilledRecords] = {}
        try:
            waiting = yield from self._collected(blobs, spilled)
            for number, frames in waiting.items():
                running = self._running[number]
                if number in spilled:
                    self._spill(running, frames, spilled)
                else:
                    self._run_piece(running, frames)
                    yield from self._out.take_full()
            for number, records in spilled.items():
                yield from self._run_spilled(self._running[number], records)
        finally:
            for records in spilled.values():
                records.close()

    def _collected(
        self, blobs: Iterator[bytes], spilled: dict[int, SpilledRecords]
    ) -> Generator[Bundle, None, dict[int, list[Rows]]]:
        """What has to wait for the end of the share, by operator; the rest runs, and what is too much goes to disk."""
        waiting: dict[int, list[Rows]] = {}
        sizes: dict[int, int] = {}
        for blob in blobs:
            for frame in decode_bundle(blob):
                assert isinstance(frame, Rows)
                waiting.setdefault(frame.operator, []).append(frame)
                sizes[frame.operator] = sizes.get(frame.operator, 0) + len(frame.body)
            for number in [n for n, size in sizes.items() if size >= self.piece]:
                running = self._running[number]
                if self._takes_pieces(running.program):
                    self._run_piece(running, waiting.pop(number))
                    yield from self._out.take_full()
                elif running.program.spec.keyed and sizes[number] >= self.spill_at:
                    self._spill(running, waiting.pop(number), spilled)
                else:
                    continue
                del sizes[number]
        return waiting

    @staticmethod
    def _takes_pieces(program: OperatorProgram) -> bool:
        """Whether an operator's elements do not depend on each other. What `materialize` stores must be whole."""
        return not (program.spec.keyed or program.spec.kind == "materialize")

    def _run_piece(self, running: RunningOperator, frames: list[Rows]) -> None:
        assert self._clock is not None
        program = running.program
        RUNNING.operator, RUNNING.subtask = program.name, self.slot
        self._count(running, *self._feed(running, list[Frame](frames), self._clock, self._advance(running)))

    def _advance(self, running: RunningOperator) -> Advance:
        assert self._clock is not None
        end = self.meta.watermarks[running.program.uid]
        return Advance(self._clock.now, MIN_WATERMARK, end, [], self.meta.batch - 1)

    def _count(self, running: RunningOperator, entered: int, left: int) -> None:
        uid = running.program.uid
        self._counts[uid] = self._counts.get(uid, 0) + entered
        add_flows(self._flows, running.take_flows(entered, left))

    # -- more of a share than fits: one key may have any number of elements

    def _spill(self, running: RunningOperator, frames: list[Rows], spilled: dict[int, SpilledRecords]) -> None:
        assert self._clock is not None
        loop, keys = running.loop, running.keys
        assert isinstance(loop, BatchLoop)
        records = self._records(running.program, frames, self._clock)
        number = running.program.number
        if number not in spilled:
            spilled[number] = SpilledRecords(loop.arrange, lambda key: keys[key].hash)
        spilled[number].add(records)

    def _run_spilled(self, running: RunningOperator, spilled: SpilledRecords) -> Iterator[Bundle]:
        assert self._clock is not None
        loop = running.loop
        assert isinstance(loop, BatchLoop)
        RUNNING.operator, RUNNING.subtask = running.program.name, self.slot
        for records, more in spilled.blocks():
            loop.goes_on = more
            emissions = loop.run(records, self._advance(running))
            self._emit(running, emissions, self._clock.now)
            self._count(running, len(records.values), len(emissions.values))
            yield from self._out.take_full()

    def _mid_stream_watermarks(self, step: WatermarkStep, flow: Flow, timestamps: Column, aside: Aside) -> Flow:
        """A strategy only gives timestamps."""
        now = flow.base.now
        if step.strategy.kind == "ingestion":
            timestamps = np.full(len(flow.values), now, np.int64)
        return Flow(flow.values, Base(timestamps, flow.tags().without_watermarks, now))
