"""Plans the batches of sources until their end, as the driver does on Spark."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.connectors.scripted import ScriptedSource
from penstock.connectors.source import Offset, ReadContext, Source
from penstock.local.executor import PlannedTask

# The splits of a source that watermark alignment holds back, by its number and the ended splits of all sources.
PausedSplits = Callable[[int, Mapping[int, Sequence[str]]], frozenset[str]]


@dataclass(slots=True)
class PlannedBatch:
    """One batch of all sources, with its control announcement. None means unchanged."""

    offsets: list[Offset]  # after the batch
    planned: list[PlannedTask] = field(default_factory=list)
    known: dict[int, list[str]] = field(default_factory=dict)
    ended: dict[int, list[str]] = field(default_factory=dict)
    clock: int | None = None
    run: str | None = None
    end: bool = False


class LocalSourceReader:
    """Reads all sources of a job."""

    def __init__(
        self,
        sources: list[Source],
        parallelism: int,
        offsets: list[Offset] | None = None,
        paused_splits: PausedSplits = lambda number, ended: frozenset(),
    ) -> None:
        self._sources = sources
        self._parallelism = parallelism
        self._paused_splits = paused_splits
        folder = tempfile.mkdtemp(prefix="penstock-harness-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for number, source in enumerate(sources):
            own = os.path.join(folder, str(number))
            os.makedirs(own, exist_ok=True)
            source.attach(own)
        if offsets is None:
            self.offsets = [source.initial() for source in sources]
        else:
            self.offsets = [source.restored(saved) for source, saved in zip(sources, offsets, strict=True)]

    def positions(self) -> list[Offset]:
        """Returns the position of each source, which is valid in another checkpoint too."""
        return [source.position(offset) for source, offset in zip(self._sources, self.offsets, strict=True)]

    def batches(self) -> Iterator[PlannedBatch]:
        """Yields all batches, until the sources have ended or none has new elements."""
        script = next((i for i, s in enumerate(self._sources) if isinstance(s, ScriptedSource) and s.lockstep), None)
        yield from self._unscripted_batches() if script is None else self._scripted_batches(script)

    def _scripted_batches(self, number: int) -> Iterator[PlannedBatch]:
        """One batch per step. The step sets the clock, the run and the ended splits."""
        source = self._sources[number]
        assert isinstance(source, ScriptedSource)
        while (at := self.offsets[number]["step"]) < len(source.steps):
            step = source.steps[at]
            batch = self._plan_next()
            batch.clock, batch.end = step.clock, step.end
            batch.run = None if step.run is None else str(step.run)
            batch.ended = {i: list(step.ended) for i in range(len(self._sources))} if step.ended else {}
            yield batch
            if step.end:
                return
        yield PlannedBatch(self.offsets, end=True)

    def _unscripted_batches(self) -> Iterator[PlannedBatch]:
        while True:
            batch = self._plan_next()
            for number, source in enumerate(self._sources):
                batch.ended[number] = source.ended(self.offsets[number])
            ends = all(s.bounded or s.stops for s in self._sources)
            if ends and all(set(batch.known[i]) <= set(batch.ended[i]) for i in range(len(self._sources))):
                batch.end = True
                yield batch
                return
            if batch.offsets == self.offsets:
                return
            yield batch

    def _plan_next(self) -> PlannedBatch:
        """Plans the next batch of all sources."""
        ended = {number: source.ended(self.offsets[number]) for number, source in enumerate(self._sources)}
        for number, source in enumerate(self._sources):
            source.configure(ReadContext(paused_splits=self._paused_splits(number, ended)))
        batch = PlannedBatch([s.latest(at) for s, at in zip(self._sources, self.offsets, strict=True)])
        for number, source in enumerate(self._sources):
            start, end = self.offsets[number], batch.offsets[number]
            batch.known[number] = source.splits(start)
            batch.planned += [(number, t, source.waiting(end)) for t in source.plan(start, end, self._parallelism)]
        return batch

    def commit(self, batch: PlannedBatch) -> None:
        """Records that a batch was run. The next one continues after it."""
        self.offsets = batch.offsets
        for source, offset in zip(self._sources, self.offsets, strict=True):
            source.committed(offset)
