"""Reads ordinary sources to their end, batch by batch, as the driver does on Spark."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.connectors.scripted import ScriptedSource
from penstock.connectors.source import Offset, Source
from penstock.testing.local import Planned


@dataclass(slots=True)
class Reading:
    """One batch of sources, and what control says with it; None: as before."""

    offsets: list[Offset]  # after the batch
    planned: list[Planned] = field(default_factory=list)
    known: dict[int, list[str]] = field(default_factory=dict)
    ended: dict[int, list[str]] = field(default_factory=dict)
    clock: int | None = None
    run: str | None = None
    end: bool = False


class SourceReader:
    """How far each source of a job has been read."""

    def __init__(self, sources: list[Source], parallelism: int, offsets: list[Offset] | None = None) -> None:
        self._sources = sources
        self._parallelism = parallelism
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
        """How far each source has been read, for a reader of another folder."""
        return [source.position(offset) for source, offset in zip(self._sources, self.offsets, strict=True)]

    def batches(self) -> Iterator[Reading]:
        """Every batch until the sources have ended, then the end; or until none has anything new."""
        script = next((i for i, s in enumerate(self._sources) if isinstance(s, ScriptedSource) and s.lockstep), None)
        yield from self._decided() if script is None else self._scripted(script)

    def _scripted(self, number: int) -> Iterator[Reading]:
        """One step per batch; what a step says of clock, run and ends is control's word."""
        source = self._sources[number]
        assert isinstance(source, ScriptedSource)
        while (at := self.offsets[number]["step"]) < len(source.steps):
            step = source.steps[at]
            reading = self._read()
            reading.clock, reading.end = step.clock, step.end
            reading.run = None if step.run is None else str(step.run)
            reading.ended = {i: list(step.ended) for i in range(len(self._sources))} if step.ended else {}
            yield reading
            if step.end:
                return
        yield Reading(self.offsets, end=True)

    def _decided(self) -> Iterator[Reading]:
        while True:
            reading = self._read()
            for number, source in enumerate(self._sources):
                reading.ended[number] = source.ended(self.offsets[number])
            ends = all(s.bounded or s.stops for s in self._sources)
            if ends and all(set(reading.known[i]) <= set(reading.ended[i]) for i in range(len(self._sources))):
                reading.end = True
                yield reading
                return
            if reading.offsets == self.offsets:
                return
            yield reading

    def _read(self) -> Reading:
        """The next part of each source."""
        reading = Reading([s.latest(at) for s, at in zip(self._sources, self.offsets, strict=True)])
        for number, source in enumerate(self._sources):
            start, end = self.offsets[number], reading.offsets[number]
            reading.known[number] = source.splits(start)
            reading.planned += [(number, t, source.waiting(end)) for t in source.plan(start, end, self._parallelism)]
        return reading

    def commit(self, reading: Reading) -> None:
        """The batch has run: the next one goes on behind it."""
        self.offsets = reading.offsets
        for source, offset in zip(self._sources, self.offsets, strict=True):
            source.committed(offset)
