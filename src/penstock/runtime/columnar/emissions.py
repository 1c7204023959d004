"""Emissions of windows that fire together: the values in a list, everything else in columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from penstock.runtime.columnar.accumulators import Groups
from penstock.runtime.loop.records import PHASE_ELEMENT, PHASE_EVENT_TIMER, PHASE_PROCESSING_TIMER, Column, Tags, column

EmissionOrder = tuple[Tags, Column]  # the tags that define the order of emissions, and their timestamps


@dataclass(slots=True)
class Firing:
    """Windows of some keys that fire. `times` are the times of their timers, `dues` when these are due (time-rules 3.4).

    `before` is None for event-time timers. For processing-time timers it is the watermark before the batch.
    """

    groups: Groups
    starts: Column
    ends: Column
    times: Column
    dues: Column
    before: int | None = None
    closing: bool = True  # whether windows that fire at their end are cleared

    @classmethod
    def of_window(cls, groups: Groups, start: int, end: int, time: int, before: int | None = None) -> Firing:
        """Returns the firing of one window for many keys, whose timers have the same time."""
        n = len(groups.codes)
        starts, ends, times = (np.full(n, bound, np.int64) for bound in (start, end, time))
        return cls(groups, starts, ends, times, times, before)

    @staticmethod
    def join(parts: list[Firing]) -> Firing:
        """Joins firings of the same time domain."""
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

    def take(self, indices: Any) -> Firing:
        """Returns the windows at some indices."""
        starts, ends, times, dues = (c[indices] for c in (self.starts, self.ends, self.times, self.dues))
        return Firing(self.groups.take(indices), starts, ends, times, dues, self.before, self.closing)

    def window_ranks(self) -> Column | None:
        """Returns ranks in the timer order of windows, which is the order of their encoded bounds.

        Returns None if the order by key is unique already: there is one window, or no two windows share a key.
        """
        if self.before is None or len(self.starts) == 0 or self.starts[0] == self.starts[-1] == self.starts.max():
            return None
        starts, inverse = np.unique(self.starts, return_inverse=True)
        size = int(self.ends[0] - self.starts[0])  # windows that fire in processing time all have the same size
        encoded = [msgspec.msgpack.encode((start, start + size)) for start in starts.tolist()]
        rank = np.argsort(np.argsort(np.array(encoded, object)))
        return rank[inverse]

    def emission_order(self, hashes: Column, emitters: Column) -> EmissionOrder:
        """Returns the order of emissions. `emitters` are indices of windows, `hashes` the key hashes of all windows."""
        n = len(emitters)
        in_event_time = self.before is None
        watermarks = self.dues[emitters] - 1 if in_event_time else np.full(n, self.before, np.int64)
        phases = np.full(n, PHASE_EVENT_TIMER if in_event_time else PHASE_PROCESSING_TIMER, np.int64)
        origins = (self.dues if in_event_time else self.times)[emitters]
        none = np.zeros(n, np.int64)
        return Tags(watermarks, phases, origins, none, hashes[emitters], none), self.ends[emitters] - 1


@dataclass(slots=True)
class ColumnarEmissions:
    """Emissions of a batch. Their order is computed when it is first needed."""

    values: list[Any] = field(default_factory=list)
    _parts: list[Callable[[], EmissionOrder]] = field(default_factory=list)
    _order: list[EmissionOrder] | None = None

    def add_firing(self, firing: Firing, hashes: Column, values: list[Any], emitters: Column | None = None) -> None:
        """Adds the results of fired windows. `emitters` holds the index of the window of each value; None means one each."""
        self.values += values
        windows = np.arange(len(values)) if emitters is None else emitters
        self._parts.append(lambda: firing.emission_order(hashes, windows))

    def add_from_elements(
        self, tags: Tags, effective: Column, hashes: Column, values: list[Any], timestamps: Column
    ) -> None:
        """Adds values that elements caused, one per element."""
        self.values += values
        self._parts.append(lambda: (_tags_of_elements(tags, effective, hashes), timestamps))

    def timestamps(self) -> Column:
        """Returns the timestamps of the emissions."""
        return np.concatenate([stamps for _, stamps in self._computed_order()]) if self._parts else column([])

    def tags(self) -> Tags:
        """Returns the tags that define the order of the emissions in the next operator."""
        if not self._parts:
            return Tags(*(column([]) for _ in range(6)))
        tags = Tags.concatenate([tags for tags, _ in self._computed_order()])
        tags.count = np.arange(len(self.values), dtype=np.int64)
        return tags

    def _computed_order(self) -> list[EmissionOrder]:
        if self._order is None:
            self._order = [part() for part in self._parts]
        return self._order


def _tags_of_elements(old: Tags, effective: Column, hashes: Column) -> Tags:
    """Returns the tags of emissions that elements cause: those of the elements, as in `Emissions.tags`."""
    after_processing_timer = old.phase == PHASE_PROCESSING_TIMER
    return Tags(
        effective,
        np.where(after_processing_timer, PHASE_ELEMENT, old.phase),
        np.where(after_processing_timer, -1, old.origin),
        np.where(after_processing_timer, old.origin, old.position),
        hashes,
        np.zeros(len(hashes), np.int64),
    )
