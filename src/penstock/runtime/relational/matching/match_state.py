"""The state of MATCH_RECOGNIZE: rows that wait for the watermark, partial matches, and when they time out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from penstock.runtime.cep.matcher import Event
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.matching.found_match import FoundMatch
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.time import MAX_WATERMARK


class Finder(Protocol):
    """Finds matches in the rows of a key. The partial matches of a key have a `timer`: when the finder must be called again."""

    def decode(self, data: bytes | None) -> Any: ...

    def encode(self, state: Any) -> bytes | None: ...

    def deadline(self, state: Any) -> int | None: ...

    def process(self, state: Any, event: Event | None, until: int) -> list[FoundMatch]: ...


class MatchTables:
    """The tables of one operator. Rows that wait are ordered by their time, then by their sort key and the order of arrival."""

    def __init__(self, context: OperatorContext, finder: Finder) -> None:
        self._finder = finder
        self._partials = KeyedTable(context, "partials", "partial-matches")
        self._arrivals = KeyedTable(context, "arrivals", "next-and-waiting")
        self._waiting = TimeOrderedTable(context, "waiting", "row")
        self._deadlines = TimeOrderedTable(context, "deadlines", "none")

    # -- rows that wait

    def add_waiting(
        self,
        keys: Sequence[bytes],
        positions: Sequence[Sequence[int]],
        times: Sequence[int],
        orders: Sequence[bytes],
        rows: Sequence[bytes],
    ) -> None:
        """Stores rows until the watermark reaches their times."""
        table = self._waiting
        entries, suffixes = self._arrivals.prefixes(keys), table.suffixes(keys)
        for entry, suffix, places in zip(entries, suffixes, positions, strict=True):
            stored = self._arrivals.get(entry)
            number, waiting = (0, 0) if stored is None else unpack(stored)
            for place in places:
                sub_key = orders[place] + number.to_bytes(8, "big")
                table.put(table.entry(times[place], suffix, sub_key), rows[place])
                number += 1
            self._arrivals.put(entry, pack((number, waiting + len(places))))

    def take_due(self, watermark: int) -> list[TimedEntry]:
        """Returns the rows that the watermark has reached, in order, and removes them."""
        due = self._waiting.take_until(watermark)
        counts: dict[bytes, int] = {}
        for entry in due:
            counts[entry.key] = counts.get(entry.key, 0) + 1
        for stored, count in zip(self._arrivals.prefixes(list(counts)), counts.values(), strict=True):
            number, waiting = unpack(self._arrivals.get(stored) or b"")
            self._arrivals.put(stored, None if waiting == count else pack((number, waiting - count)))
        return due

    def take_deadlines(self, time: int) -> list[bytes]:
        """Returns the keys with partial matches that time out until a time."""
        return [entry.key for entry in self._deadlines.take_until(time)]

    def next_row(self) -> int | None:
        """Returns the time of the first row that waits."""
        return self._waiting.first_time()

    def next_deadline(self) -> int | None:
        """Returns when the first partial match times out."""
        time = self._deadlines.first_time()
        return None if time == MAX_WATERMARK else time  # the end of the input, which no clock reaches

    # -- partial matches

    def load(self, keys: Sequence[bytes]) -> list[Any]:
        """Returns the partial matches of keys."""
        return [self._finder.decode(data) for data in self._partials.get_many(self._partials.prefixes(keys))]

    def save(self, keys: Sequence[bytes], states: Sequence[Any]) -> None:
        """Stores the partial matches of keys, and when they time out."""
        finder, table = self._finder, self._deadlines
        for entry, suffix, state in zip(self._partials.prefixes(keys), table.suffixes(keys), states, strict=True):
            deadline = finder.deadline(state)
            if deadline != state.timer:
                if state.timer is not None:
                    table.put(table.entry(state.timer, suffix), None)
                if deadline is not None:
                    table.put(table.entry(deadline, suffix), b"")
                state.timer = deadline
            self._partials.put(entry, finder.encode(state))
