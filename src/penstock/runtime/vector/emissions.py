"""What windows emit when many of them fire at once: values in a list, everything else in columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.runtime.records import PHASE_EVENT_TIMER, PHASE_PROCESSING_TIMER, Column, Tags, column
from penstock.runtime.vector.measures import Groups


@dataclass(slots=True)
class Firing:
    """Windows of some keys that fire. `times` are those of their timers, `dues` when they are due (time.md 3.4).

    `before` is None for timers of event time; for those of processing time it is the watermark before the batch.
    """

    groups: Groups
    starts: Column
    ends: Column
    times: Column
    dues: Column
    before: int | None = None

    @classmethod
    def of_window(cls, groups: Groups, start: int, end: int, time: int, before: int | None = None) -> Firing:
        """One window of many keys, by timers of one time."""
        n = len(groups.codes)
        starts, ends, times = (np.full(n, bound, np.int64) for bound in (start, end, time))
        return cls(groups, starts, ends, times, times, before)

    @staticmethod
    def join(parts: list[Firing]) -> Firing:
        """Firings of one clock as one."""
        if len(parts) == 1:
            return parts[0]
        columns = (np.concatenate([getattr(p, name) for p in parts]) for name in ("starts", "ends", "times", "dues"))
        return Firing(Groups.join([p.groups for p in parts]), *columns, parts[0].before)

    def take(self, at: Any) -> Firing:
        groups = self.groups.take(at)
        return Firing(groups, self.starts[at], self.ends[at], self.times[at], self.dues[at], self.before)


@dataclass(slots=True)
class VectorEmissions:
    """Emissions of a batch, in order, all of them made by timers."""

    values: list[Any] = field(default_factory=list)
    _parts: list[tuple[Firing, Column, Column]] = field(default_factory=list)

    def add(self, firing: Firing, hashes: Column, values: list[Any], emitters: Column | None = None) -> None:
        """Values that fired windows give, of keys with these hashes. `emitters`: which window each is of; None: one each."""
        self.values += values
        self._parts.append((firing, hashes, np.arange(len(values)) if emitters is None else emitters))

    def timestamps(self) -> Column:
        return self._column([f.ends[at] - 1 for f, _, at in self._parts])

    def tags(self) -> Tags:
        """Where the emissions stand in the next operator's order."""
        n = len(self.values)
        return Tags(
            self._column([_watermarks(f)[at] for f, _, at in self._parts]),
            self._column([np.full(len(at), _phase(f), np.int64) for f, _, at in self._parts]),
            self._column([(f.dues if f.before is None else f.times)[at] for f, _, at in self._parts]),
            np.zeros(n, np.int64),
            self._column([hashes[at] for _, hashes, at in self._parts]),
            np.arange(n, dtype=np.int64),
        )

    @staticmethod
    def _column(parts: list[Column]) -> Column:
        return np.concatenate(parts) if parts else column([])


def _watermarks(firing: Firing) -> Column:
    return firing.dues - 1 if firing.before is None else np.full(len(firing.times), firing.before, np.int64)


def _phase(firing: Firing) -> int:
    return PHASE_EVENT_TIMER if firing.before is None else PHASE_PROCESSING_TIMER
