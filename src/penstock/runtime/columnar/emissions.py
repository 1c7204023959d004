"""What windows emit when many of them fire at once: values in a list, everything else in columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from penstock.runtime.records import PHASE_ELEMENT, PHASE_EVENT_TIMER, PHASE_PROCESSING_TIMER, Column, Tags, column
from penstock.runtime.vector.measures import Groups

Told = tuple[Tags, Column]  # where emissions stand in the order, and their timestamps


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
    closing: bool = True  # windows that fire at their end are done

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
        return Firing(
            Groups.join([p.groups for p in parts]),
            np.concatenate([p.starts for p in parts]),
            np.concatenate([p.ends for p in parts]),
            np.concatenate([p.times for p in parts]),
            np.concatenate([p.dues for p in parts]),
            parts[0].before,
            parts[0].closing,
        )

    def take(self, at: Any) -> Firing:
        groups = self.groups.take(at)
        return Firing(groups, self.starts[at], self.ends[at], self.times[at], self.dues[at], self.before, self.closing)

    def window_ranks(self) -> Column | None:
        """Numbers in the order that timers give to windows: by their encoded bounds. None: one window, or none shares a key."""
        if self.before is None or len(self.starts) == 0 or self.starts[0] == self.starts[-1] == self.starts.max():
            return None
        different, which = np.unique(self.starts, return_inverse=True)
        size = int(self.ends[0] - self.starts[0])  # windows by the clock are all of one size
        encoded = [msgspec.msgpack.encode((start, start + size)) for start in different.tolist()]
        rank = np.argsort(np.argsort(np.array(encoded, object)))
        return rank[which]

    def told(self, hashes: Column, at: Column) -> Told:
        """Of what some of the windows emit, whose keys have these hashes."""
        n = len(at)
        by_event_time = self.before is None
        watermarks = self.dues[at] - 1 if by_event_time else np.full(n, self.before, np.int64)
        phase = PHASE_EVENT_TIMER if by_event_time else PHASE_PROCESSING_TIMER
        origins = (self.dues if by_event_time else self.times)[at]
        none = np.zeros(n, np.int64)
        return Tags(watermarks, np.full(n, phase, np.int64), origins, none, hashes[at], none), self.ends[at] - 1


@dataclass(slots=True)
class VectorEmissions:
    """Emissions of a batch. Where each stands in the order is worked out when somebody asks."""

    values: list[Any] = field(default_factory=list)
    _parts: list[Callable[[], Told]] = field(default_factory=list)
    _told: list[Told] | None = None

    def add(self, firing: Firing, hashes: Column, values: list[Any], emitters: Column | None = None) -> None:
        """Values that fired windows give, of keys with these hashes. `emitters`: which window each is of; None: one each."""
        self.values += values
        at = np.arange(len(values)) if emitters is None else emitters
        self._parts.append(lambda: firing.told(hashes, at))

    def add_of_elements(
        self, tags: Tags, effective: Column, hashes: Column, values: list[Any], timestamps: Column
    ) -> None:
        """Values that elements make come out, one each."""
        self.values += values
        self._parts.append(lambda: (_of_elements(tags, effective, hashes), timestamps))

    def timestamps(self) -> Column:
        return np.concatenate([stamps for _, stamps in self._all()]) if self._parts else column([])

    def tags(self) -> Tags:
        """Where the emissions stand in the next operator's order."""
        if not self._parts:
            return Tags(*(column([]) for _ in range(6)))
        together = Tags.concatenate([tags for tags, _ in self._all()])
        together.count = np.arange(len(self.values), dtype=np.int64)
        return together

    def _all(self) -> list[Told]:
        if self._told is None:
            self._told = [part() for part in self._parts]
        return self._told


def _of_elements(old: Tags, effective: Column, hashes: Column) -> Tags:
    """What an element emits stands at the element's place (as in `Emissions.tags`)."""
    after_processing_timer = old.phase == PHASE_PROCESSING_TIMER
    return Tags(
        effective,
        np.where(after_processing_timer, PHASE_ELEMENT, old.phase),
        np.where(after_processing_timer, -1, old.origin),
        np.where(after_processing_timer, old.origin, old.position),
        hashes,
        np.zeros(len(hashes), np.int64),
    )
