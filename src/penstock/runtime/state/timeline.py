"""Elements of a key by time: appending writes one entry, a stretch of time is read by itself, and old ones go together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from penstock.runtime.codec import Codec, is_immutable
from penstock.runtime.state.cell import Cell
from penstock.runtime.store import Changes, Store, after_prefix
from penstock.state import StateDescriptor
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

_SIGN = 1 << 63
_MOST_CACHED = 500_000  # elements


class TimelineDescriptor(StateDescriptor):
    """A timeline per key; of operators, not for users."""

    kind = "timeline"


class Line:
    """One key's elements in a batch, in order of time and arrival: those from `start` on."""

    __slots__ = ("dropped", "fresh", "low", "next", "note", "numbers", "start", "times", "values")

    def __init__(self, following: int, low: int) -> None:
        self.times: list[int] = []
        self.values: list[Any] = []
        self.numbers: list[int] = []  # by arrival; from `fresh` on they are not stored yet
        self.start = 0
        self.fresh = self.next = following
        self.low = low  # stored elements from this time on are in memory
        self.dropped: int | None = None  # stored elements up to this time are to be deleted
        self.note: Any = None  # the owner's; None again when elements are dropped

    def between(self, lower: int, upper: int) -> range:
        """Where the elements of a stretch of time stand, both ends included."""
        first = bisect_left(self.times, lower, self.start)
        return range(first, bisect_right(self.times, upper, first))


class TimelineHandle:
    """A timeline per key: an entry per element, and one that numbers them. Elements must not be changed in place."""

    __slots__ = ("_cache", "_cached_elements", "_cell", "_codec", "_lines", "_store", "_table")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        self._store = store
        self._table = table
        self._cell = cell
        self._codec = codec
        self._lines: dict[Any, Line] = {}
        self._cache: dict[Any, Line] | None = {} if cached else None
        self._cached_elements = 0

    def add(self, time: int, value: Any) -> Line:
        """Appends an element to the current key's line."""
        line = self._lines.get(self._cell.at)
        if line is None:
            line = self._begin(self._cell.at)
        times = line.times
        if len(times) == line.start or time >= times[-1]:
            times.append(time)
            line.values.append(value)
            line.numbers.append(line.next)
        else:
            place = bisect_right(times, time, line.start)
            times.insert(place, time)
            line.values.insert(place, value)
            line.numbers.insert(place, line.next)
        line.next += 1
        return line

    def since(self, time: int) -> Line:
        """The current key's line, with all its elements from a time on."""
        line = self._lines.get(self._cell.at)
        if line is None:
            line = self._begin(self._cell.at)
        if time < line.low:
            self._load(self._cell.at, line, time)
        return line

    def drop(self, until: int) -> None:
        """Drops the current key's elements up to a time."""
        line = self.since(MAX_WATERMARK)
        line.start = bisect_right(line.times, until, line.start)
        line.note = None
        if line.fresh:
            line.dropped = until if line.dropped is None else max(until, line.dropped)

    def _begin(self, at: Any) -> Line:
        line = None if self._cache is None else self._cache.pop(at, None)
        if line is None:
            head = self._store.get(self._table + self._cell.prefix(at))
            line = Line(0, MIN_WATERMARK) if head is None else Line(int.from_bytes(head, "big"), MAX_WATERMARK)
        else:
            self._cached_elements -= len(line.times)
        self._lines[at] = line
        return line

    def _load(self, at: Any, line: Line, time: int) -> None:
        prefix, decode = self._table + self._cell.prefix(at), self._codec.decode
        first = max(time, MIN_WATERMARK if line.dropped is None else line.dropped + 1)
        stop = after_prefix(prefix) if line.low == MAX_WATERMARK else prefix + _bytes(line.low)
        times, values, numbers = [], [], []
        for stored, data in self._store.scan(prefix + _bytes(first), stop):
            times.append(int.from_bytes(stored[-16:-8], "big") - _SIGN)
            numbers.append(int.from_bytes(stored[-8:], "big"))
            values.append(decode(data))
        line.low = time
        if not times:
            return
        at_hand = slice(line.start, None)
        times += line.times[at_hand]
        values += line.values[at_hand]
        numbers += line.numbers[at_hand]
        line.start = 0
        # Elements of this batch may stand between those just read; of one time, those read came first.
        order = sorted(range(len(times)), key=times.__getitem__)
        line.times = [times[i] for i in order]
        line.values = [values[i] for i in order]
        line.numbers = [numbers[i] for i in order]

    def flush(self) -> None:
        """Writes what changed and forgets the batch. All is read first: a store that changes is slow to scan."""
        gone: list[bytes] = []
        for at, line in self._lines.items():
            if line.dropped is not None:
                self._find_dropped(self._table + self._cell.prefix(at), line, gone)
        writes = self._store.changes()
        writes.update(dict.fromkeys(gone))
        for at, line in self._lines.items():
            if line.next > line.fresh:
                self._write(self._table + self._cell.prefix(at), line, writes)
        if self._cache is not None:
            self._keep_cache()
        self._lines = {}

    def _find_dropped(self, prefix: bytes, line: Line, gone: list[bytes]) -> None:
        """The entries to delete: of what was dropped; and the one that numbers them, if no element is left."""
        assert line.dropped is not None
        rest = prefix + _bytes(line.dropped + 1)
        gone += [stored for stored, _ in self._store.scan(prefix + _bytes(MIN_WATERMARK), rest)]
        line.dropped = None
        if line.start == len(line.times) and next(self._store.scan(rest, after_prefix(prefix)), None) is None:
            gone.append(prefix)
            line.next = line.fresh = 0
            line.low = MIN_WATERMARK

    def _write(self, prefix: bytes, line: Line, writes: Changes) -> None:
        times, values, encode = line.times, line.values, self._codec.encode
        added = [place for place in range(line.start, len(times)) if line.numbers[place] >= line.fresh]
        if not added:  # all that came was dropped again
            line.next = line.fresh
            return
        for place in added:
            number = line.numbers[place].to_bytes(8, "big")
            writes[prefix + _bytes(times[place]) + number] = encode(values[place])
        writes[prefix] = line.next.to_bytes(8, "big")
        line.fresh = line.next

    def _keep_cache(self) -> None:
        """Lines whose elements nobody can change in place stay in memory."""
        assert self._cache is not None
        if self._cached_elements > _MOST_CACHED:
            self.forget_cache()
        for at, line in self._lines.items():
            if line.start:
                del line.times[: line.start], line.values[: line.start], line.numbers[: line.start]
                line.start = 0
            if self._codec.immutable or all(map(is_immutable, line.values)):
                self._cache[at] = line
                self._cached_elements += len(line.times)

    def forget(self) -> None:
        """Drops a batch that failed."""
        self._lines = {}
        self.forget_cache()

    def forget_cache(self) -> None:
        if self._cache is not None:
            self._cache.clear()
            self._cached_elements = 0


def _bytes(time: int) -> bytes:
    return (time + _SIGN).to_bytes(8, "big")
