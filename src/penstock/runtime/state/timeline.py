"""Timeline state: the elements of a key by time. Appending writes one entry, and ranges of time are read and dropped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from penstock.runtime.state.cell import Cell
from penstock.runtime.state.codec import Codec, is_immutable
from penstock.runtime.state.handle import StateHandle
from penstock.runtime.state.store import Changes, Store, after_prefix
from penstock.state import StateDescriptor
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

_SIGN = 1 << 63
_MAX_CACHED = 500_000  # elements


class TimelineDescriptor(StateDescriptor):
    """Describes a timeline per key. Used by operators; not part of the public API."""

    kind = "timeline"


class KeyTimeline:
    """The elements of one key in a batch by time and arrival. Elements before index `start` have been dropped."""

    __slots__ = (
        "cleanup_timer",
        "drop_until",
        "first_new",
        "loaded_from",
        "next",
        "numbers",
        "start",
        "times",
        "values",
    )

    def __init__(self, following: int, loaded_from: int) -> None:
        self.times: list[int] = []
        self.values: list[Any] = []
        self.numbers: list[int] = []  # by arrival; numbers from `first_new` on are not stored yet
        self.start = 0
        self.first_new = self.next = following
        self.loaded_from = loaded_from  # stored elements from this time on are in memory
        self.drop_until: int | None = None  # stored elements up to this time will be deleted
        self.cleanup_timer: int | None = None  # set by the owner; None again after elements were dropped

    def between(self, lower: int, upper: int) -> range:
        """Returns the indexes of the elements in a range of time, both bounds included."""
        first = bisect_left(self.times, lower, self.start)
        return range(first, bisect_right(self.times, upper, first))


class TimelineHandle(StateHandle):
    """A timeline per key: one entry per element, and one with the next number. Elements must not be changed in place."""

    __slots__ = ("_cached_elements", "_timelines")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        super().__init__(store, table, cell, codec, cached)
        self._timelines: dict[Any, KeyTimeline] = {}
        self._cached_elements = 0

    def add(self, time: int, value: Any) -> KeyTimeline:
        """Adds an element to the timeline of the current key."""
        value = self._normal(value)
        timeline = self._timelines.get(self._cell.at)
        if timeline is None:
            timeline = self._begin(self._cell.at)
        times = timeline.times
        if len(times) == timeline.start or time >= times[-1]:
            times.append(time)
            timeline.values.append(value)
            timeline.numbers.append(timeline.next)
        else:
            index = bisect_right(times, time, timeline.start)
            times.insert(index, time)
            timeline.values.insert(index, value)
            timeline.numbers.insert(index, timeline.next)
        timeline.next += 1
        return timeline

    def since(self, time: int) -> KeyTimeline:
        """Returns the timeline of the current key with all its elements from a time on."""
        timeline = self._timelines.get(self._cell.at)
        if timeline is None:
            timeline = self._begin(self._cell.at)
        if time < timeline.loaded_from:
            self._load(self._cell.at, timeline, time)
        return timeline

    def drop(self, until: int) -> None:
        """Drops the elements of the current key up to a time."""
        timeline = self.since(MAX_WATERMARK)
        timeline.start = bisect_right(timeline.times, until, timeline.start)
        timeline.cleanup_timer = None
        if timeline.first_new:
            timeline.drop_until = until if timeline.drop_until is None else max(until, timeline.drop_until)

    def _begin(self, at: Any) -> KeyTimeline:
        timeline: KeyTimeline | None = None if self._cache is None else self._cache.pop(at, None)
        if timeline is None:
            head = self._store.get(self._table + self._cell.prefix(at))
            if head is None:
                timeline = KeyTimeline(0, MIN_WATERMARK)
            else:
                timeline = KeyTimeline(int.from_bytes(head, "big"), MAX_WATERMARK)
        else:
            self._cached_elements -= len(timeline.times)
        self._timelines[at] = timeline
        return timeline

    def _load(self, at: Any, timeline: KeyTimeline, time: int) -> None:
        prefix, decode = self._table + self._cell.prefix(at), self._codec.decode
        first = max(time, MIN_WATERMARK if timeline.drop_until is None else timeline.drop_until + 1)
        complete = timeline.loaded_from == MAX_WATERMARK
        stop = after_prefix(prefix) if complete else prefix + _bytes(timeline.loaded_from)
        times, values, numbers = [], [], []
        for stored, data in self._store.scan(prefix + _bytes(first), stop):
            times.append(int.from_bytes(stored[-16:-8], "big") - _SIGN)
            numbers.append(int.from_bytes(stored[-8:], "big"))
            values.append(decode(data))
        timeline.loaded_from = time
        if not times:
            return
        in_memory = slice(timeline.start, None)
        times += timeline.times[in_memory]
        values += timeline.values[in_memory]
        numbers += timeline.numbers[in_memory]
        timeline.start = 0
        # Elements of this batch may be in between. The sort is stable, so at the same time the stored ones come first.
        order = sorted(range(len(times)), key=times.__getitem__)
        timeline.times = [times[i] for i in order]
        timeline.values = [values[i] for i in order]
        timeline.numbers = [numbers[i] for i in order]

    def flush(self) -> None:
        # All reads come before the first write, because scanning a store with new changes is slow.
        deleted: list[bytes] = []
        for at, timeline in self._timelines.items():
            if timeline.drop_until is not None:
                self._find_dropped(self._table + self._cell.prefix(at), timeline, deleted)
        writes = self._store.pending_changes()
        writes.update(dict.fromkeys(deleted))
        for at, timeline in self._timelines.items():
            if timeline.next > timeline.first_new:
                self._write(self._table + self._cell.prefix(at), timeline, writes)
        if self._cache is not None:
            self._fill_cache(self._cache)
        self._end_batch()

    def _find_dropped(self, prefix: bytes, timeline: KeyTimeline, deleted: list[bytes]) -> None:
        """Collects the entries of dropped elements, and the entry with the next number if no element is left."""
        assert timeline.drop_until is not None
        rest = prefix + _bytes(timeline.drop_until + 1)
        deleted += [stored for stored, _ in self._store.scan(prefix + _bytes(MIN_WATERMARK), rest)]
        timeline.drop_until = None
        empty = timeline.start == len(timeline.times)
        if empty and next(self._store.scan(rest, after_prefix(prefix)), None) is None:
            deleted.append(prefix)
            timeline.next = timeline.first_new = 0
            timeline.loaded_from = MIN_WATERMARK

    def _write(self, prefix: bytes, timeline: KeyTimeline, writes: Changes) -> None:
        times, values, numbers, encode = timeline.times, timeline.values, timeline.numbers, self._codec.encode
        added = [index for index in range(timeline.start, len(times)) if numbers[index] >= timeline.first_new]
        if not added:  # all new elements were dropped in the same batch
            timeline.next = timeline.first_new
            return
        for index in added:
            writes[prefix + _bytes(times[index]) + numbers[index].to_bytes(8, "big")] = encode(values[index])
        writes[prefix] = timeline.next.to_bytes(8, "big")
        timeline.first_new = timeline.next

    def _fill_cache(self, cache: dict[Any, Any]) -> None:
        """Caches the timelines whose elements cannot be changed in place."""
        if self._cached_elements > _MAX_CACHED:
            self.clear_cache()
        for at, timeline in self._timelines.items():
            # New elements before `loaded_from` are stored now. They would be there twice when earlier elements are loaded.
            first = bisect_left(timeline.times, timeline.loaded_from, timeline.start)
            if first:
                del timeline.times[:first], timeline.values[:first], timeline.numbers[:first]
                timeline.start = 0
            if self._codec.immutable or all(map(is_immutable, timeline.values)):
                cache[at] = timeline
                self._cached_elements += len(timeline.times)

    def _end_batch(self) -> None:
        self._timelines = {}

    def clear_cache(self) -> None:
        super().clear_cache()
        self._cached_elements = 0


def timeline_value_offset(data: bytes) -> int | None:
    """Start of the value in a stored entry; None for the entry with the next number.

    That entry has eight bytes, and the number is far too small to use the first two. The second byte of a pickle is 0x80.
    """
    return None if len(data) == 8 and data[:2] == b"\x00\x00" else 0


def _bytes(time: int) -> bytes:
    return (time + _SIGN).to_bytes(8, "big")
