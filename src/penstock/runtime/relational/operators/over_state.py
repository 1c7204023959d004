"""The state of OVER by time: rows that wait for the watermark, rows that later frames need, and accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.state.time_to_live import TimeToLive
from penstock.time import MIN_WATERMARK

_SIGN = 1 << 63
TimedRow = tuple[int, bytes]


class KeptRow(NamedTuple):
    """A row that has left: its time, its bytes and its sub key."""

    time: int
    row: bytes
    sub_key: bytes


@dataclass(slots=True)
class KeyState:
    """What is stored of a key.

    last: the time of the last row that left. count: how many rows have left. next: the number of the next row that is stored.
    waiting: how many rows wait. cleanup: the watermark at which no later frame needs the rows that have left.
    """

    last: int = MIN_WATERMARK
    count: int = 0
    next: int = 0
    accumulators: Any = None
    waiting: int = 0
    cleanup: int | None = None


class OverState:
    """The tables of one operator. Sub keys of rows are their time and their number in the order of arrival."""

    def __init__(
        self, context: OperatorContext, ttl: TimeToLive, waits: bool, keeps_rows: bool, cleans_up: bool
    ) -> None:
        self._ttl = ttl
        self.keeps_rows = keeps_rows
        self._facts = KeyedTable(context, "facts", ttl.schema("facts"))
        self._history = KeyedTable(context, "history", ttl.schema("row")) if keeps_rows else None
        self._waiting = TimeOrderedTable(context, "waiting", "row") if waits else None
        self._cleanup = TimeOrderedTable(context, "cleanup", "none") if cleans_up else None

    def load(self, keys: Sequence[bytes]) -> list[KeyState]:
        """Returns what is stored of keys."""
        found = map(self._ttl.unwrap, self._facts.get_many(self._facts.prefixes(keys)))
        return [KeyState() if value is None else KeyState(*unpack(value)) for value in found]

    def _store(self, prefix: bytes, state: KeyState) -> None:
        values = (state.last, state.count, state.next, state.accumulators, state.waiting, state.cleanup)
        self._facts.put(prefix, self._ttl.wrap(pack(values)))

    # -- rows that wait

    def add_waiting(
        self, keys: list[bytes], positions: list[list[int]], times: list[int], dues: list[int], rows: list[bytes]
    ) -> None:
        """Stores rows until the watermark reaches them."""
        table = self._waiting
        assert table is not None
        prefixes, suffixes = self._facts.prefixes(keys), table.suffixes(keys)
        for prefix, suffix, state, places in zip(prefixes, suffixes, self.load(keys), positions, strict=True):
            for place in places:
                table.put(table.entry(dues[place], suffix, _sub_key(times[place], state.next)), rows[place])
                state.next += 1
            state.waiting += len(places)
            self._store(prefix, state)

    def waiting_until(self, time: int) -> dict[bytes, list[tuple[int, int]]]:
        """Returns, by key, when rows leave and their times, for rows that leave until a time. Each list is ordered."""
        found: dict[bytes, list[tuple[int, int]]] = {}
        assert self._waiting is not None
        for entry in self._waiting.until(time):
            found.setdefault(entry.key, []).append((entry.time, self.time_of(entry)))
        return found

    def take_due(self, watermark: int) -> list[TimedEntry]:
        """Returns the rows that the watermark has reached, and removes them. Rows that leave together are ordered by time."""
        found = [] if self._waiting is None else self._waiting.take_until(watermark)
        return sorted(found, key=lambda entry: (entry.time, entry.sub_key[:8]))

    @staticmethod
    def time_of(entry: TimedEntry) -> int:
        """Returns the time of a row that waits."""
        return _time(entry.sub_key)

    def next_time(self) -> int | None:
        """Returns the earliest watermark at which there is work."""
        times = [table.first_time() for table in (self._waiting, self._cleanup) if table is not None]
        return min((time for time in times if time is not None), default=None)

    # -- rows that later frames need

    def history(self, keys: Sequence[bytes]) -> list[list[KeptRow]]:
        """Returns the rows of keys that have left and that frames may need."""
        table = self._history
        if table is None:
            return [[] for _ in keys]
        found: list[list[KeptRow]] = []
        for prefix in table.prefixes(keys):
            rows = ((sub_key, self._ttl.unwrap(value)) for sub_key, value in table.scan(prefix))
            found.append([KeptRow(_time(sub_key), row, sub_key) for sub_key, row in rows if row is not None])
        return found

    def keep(
        self,
        keys: Sequence[bytes],
        states: Sequence[KeyState],
        old: Sequence[list[KeptRow]],
        new: Sequence[list[TimedRow]],
        rows_back: int,
        time_back: int,
    ) -> None:
        """Stores keys: of their rows only those that later frames may need, which reach back so many rows and milliseconds."""
        if self._history is not None:
            for prefix, state, olds, news in zip(self._history.prefixes(keys), states, old, new, strict=True):
                first_time = state.last - time_back if time_back >= 0 else state.last + 1
                first_row = len(olds) + len(news) - max(rows_back, 0)
                for place, kept in enumerate(olds):
                    if place < first_row and kept.time < first_time:
                        self._history.put(prefix + kept.sub_key, None)
                for place, (time, row) in enumerate(news, len(olds)):
                    if place >= first_row or time >= first_time:
                        self._history.put(prefix + _sub_key(time, state.next), self._ttl.wrap(row))
                        state.next += 1
        if self._cleanup is not None:
            for suffix, state in zip(self._cleanup.suffixes(keys), states, strict=True):
                if state.cleanup is not None:
                    self._cleanup.put(self._cleanup.entry(state.cleanup, suffix), None)
                state.cleanup = cleanup_time(state.last, time_back)
                self._cleanup.put(self._cleanup.entry(state.cleanup, suffix), b"")
        for prefix, state in zip(self._facts.prefixes(keys), states, strict=True):
            self._store(prefix, state)

    def forget(self, keys: Sequence[bytes], states: Sequence[KeyState]) -> None:
        """Removes the rows of keys that have left, and starts the keys again."""
        if self._history is not None:
            for prefix, rows in zip(self._history.prefixes(keys), self.history(keys), strict=True):
                for kept in rows:
                    self._history.put(prefix + kept.sub_key, None)
        assert self._cleanup is not None
        for suffix, state in zip(self._cleanup.suffixes(keys), states, strict=True):
            if state.cleanup is not None:
                self._cleanup.put(self._cleanup.entry(state.cleanup, suffix), None)
            state.last, state.count, state.accumulators, state.cleanup = MIN_WATERMARK, 0, None, None

    def remove_unneeded(self, time: int) -> None:
        """Removes the rows of keys whose frames have all passed."""
        keys = [] if self._cleanup is None else [entry.key for entry in self._cleanup.until(time)]
        if not keys:
            return
        states = self.load(keys)
        self.forget(keys, states)
        for prefix, state in zip(self._facts.prefixes(keys), states, strict=True):
            if state.waiting:
                self._store(prefix, state)
            else:
                self._facts.put(prefix, None)

    def sweep(self) -> None:
        """Removes some expired entries."""
        self._ttl.sweep(self._facts)
        if self._history is not None:
            self._ttl.sweep(self._history)


def cleanup_time(last: int, time_back: int) -> int:
    """Returns when a key is forgotten: one and a half frames after its last row, as in Flink."""
    return last + time_back * 3 // 2 + 1


def _time(sub_key: bytes) -> int:
    return int.from_bytes(sub_key[:8], "big") - _SIGN


def _sub_key(time: int, number: int) -> bytes:
    return (time + _SIGN).to_bytes(8, "big") + number.to_bytes(8, "big")
