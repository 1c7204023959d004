"""What windows emit when many of them fire at once: values in a list, everything else in columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.runtime.records import PHASE_EVENT_TIMER, PHASE_PROCESSING_TIMER, Column, Tags, column
from penstock.time import MIN_WATERMARK


@dataclass(slots=True)
class Firing:
    """Timers of one time that fire together. `due` is when (time.md 3.4); results carry the timestamp `stamp`."""

    time: int
    due: int
    stamp: int
    event_time: bool = True
    before: int = MIN_WATERMARK  # of processing timers: the watermark before the batch


@dataclass(slots=True)
class VectorEmissions:
    """Emissions of a batch, in order, all of them made by timers."""

    values: list[Any] = field(default_factory=list)
    _firings: list[tuple[Firing, Column]] = field(default_factory=list)

    def add(self, firing: Firing, hashes: Column, values: list[Any]) -> None:
        """Values that keys with these hashes emit, one each."""
        self.values += values
        self._firings.append((firing, hashes))

    def timestamps(self) -> Column:
        return self._column([f.stamp for f, _ in self._firings])

    def tags(self) -> Tags:
        """Where the emissions stand in the next operator's order."""
        firings = [f for f, _ in self._firings]
        n = len(self.values)
        return Tags(
            self._column([f.due - 1 if f.event_time else f.before for f in firings]),
            self._column([PHASE_EVENT_TIMER if f.event_time else PHASE_PROCESSING_TIMER for f in firings]),
            self._column([f.due if f.event_time else f.time for f in firings]),
            np.zeros(n, np.int64),
            np.concatenate([hashes for _, hashes in self._firings]) if self._firings else column([]),
            np.arange(n, dtype=np.int64),
        )

    def _column(self, of_firings: list[int]) -> Column:
        return np.repeat(column(of_firings), [len(hashes) for _, hashes in self._firings])
