"""The host of a level in batch mode: all input of one slot, share by share, so that one share of its keys is in memory.

Elements without keys are taken as they come, some megabytes at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from penstock.engine.steps import WatermarkStep
from penstock.runtime.channels import combine
from penstock.runtime.records import Column
from penstock.runtime.slot import Advance
from penstock.time import MIN_WATERMARK

_PIECE = 8 << 20  # bytes of elements without keys that are taken at once


class BatchHost(LevelHost):
    """All operators of one level in one slot, from the first element to the last."""

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
        self._run_frames([f for f in first if isinstance(f, Rows)], always=True)
        while share != FIRST:
            for piece in self._pieces(blob for _, blob in blobs):
                self._run_frames(piece)
                yield from self._out.take_full()
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

    def _pieces(self, blobs: Iterator[bytes]) -> Iterator[list[Rows]]:
        """A share in pieces: elements without keys as they come, all that have a key at its end."""
        whole: list[Rows] = []
        loose: list[Rows] = []
        size = 0
        for blob in blobs:
            for frame in decode_bundle(blob):
                assert isinstance(frame, Rows)
                if self._takes_pieces(self.program.operators[frame.operator]):
                    loose.append(frame)
                    size += len(frame.body)
                else:
                    whole.append(frame)
            if size >= _PIECE:
                yield loose
                loose, size = [], 0
        yield loose + whole

    @staticmethod
    def _takes_pieces(program: OperatorProgram) -> bool:
        """Whether an operator's elements do not depend on each other. What `materialize` stores must be whole."""
        return not (program.spec.keyed or program.spec.kind == "materialize")

    def _run_frames(self, frames: list[Rows], always: bool = False) -> None:
        for program in self._operators:
            mine = [f for f in frames if f.operator == program.number]
            running = self._running.get(program.number)
            if running is not None and (mine or always):
                self._run_piece(running, mine)

    def _run_piece(self, running: RunningOperator, frames: list[Rows]) -> None:
        assert self._clock is not None
        program, now = running.program, self._clock.now
        RUNNING.operator, RUNNING.subtask = program.name, self.slot
        advance = Advance(now, MIN_WATERMARK, self.meta.watermarks[program.uid], [], self.meta.batch - 1)
        entered, left = self._feed(running, list[Frame](frames), self._clock, advance)
        self._counts[program.uid] = self._counts.get(program.uid, 0) + entered
        add_flows(self._flows, running.take_flows(entered, left))

    def _mid_stream_watermarks(self, step: WatermarkStep, flow: Flow, timestamps: Column, aside: Aside) -> Flow:
        """A strategy only gives timestamps."""
        now = flow.base.now
        if step.strategy.kind == "ingestion":
            timestamps = np.full(len(flow.values), now, np.int64)
        return Flow(flow.values, Base(timestamps, flow.tags().without_watermarks, now))
