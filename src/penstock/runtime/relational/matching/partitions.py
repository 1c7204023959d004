"""What is known of a partition besides its partial matches: how many matches it had, and values of its last rows, for PREV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.specs.operators import MatchSpec
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack


class Partition:
    """matches: how many there were. rows: the values of the last rows, the last one first."""

    __slots__ = ("matches", "rows")

    def __init__(self, matches: int = 0, rows: list[Any] | None = None) -> None:
        self.matches = matches
        self.rows: list[Any] = [] if rows is None else rows


class Partitions:
    """The partitions of one operator. Without PREV and MATCH_NUMBER nothing is stored."""

    def __init__(self, context: OperatorContext, spec: MatchSpec) -> None:
        self._previous = spec.previous or ()
        self._columns = list(dict.fromkeys(p.column for p in self._previous))
        self._longest = max((p.offset for p in self._previous), default=0)
        self._places = [(self._columns.index(p.column), p.offset - 1) for p in self._previous]
        self._numbered = any(navigation.kind == "NUMBER" for navigation in spec.navigations)
        self._needed = self._numbered or bool(self._previous)
        self._table = KeyedTable(context, "partitions", "number-and-rows") if self._needed else None

    def load(self, keys: Sequence[bytes]) -> list[Partition]:
        """Returns the partitions of keys."""
        if self._table is None:
            return [Partition() for _ in keys]
        stored = self._table.get_many(self._table.prefixes(keys))
        return [Partition() if data is None else Partition(*unpack(data)) for data in stored]

    def save(self, keys: Sequence[bytes], partitions: Sequence[Partition]) -> None:
        """Stores the partitions of keys."""
        if self._table is None:
            return
        for entry, partition in zip(self._table.prefixes(keys), partitions, strict=True):
            matches = partition.matches if self._numbered else 0
            if matches or partition.rows:
                self._table.put(entry, pack((matches, partition.rows)))

    def earlier_values(self, partition: Partition, row: Sequence[Any]) -> list[Any]:
        """Returns the values of PREV for the next row of a partition, and remembers the row."""
        rows = partition.rows
        found = [rows[before][column] if before < len(rows) else None for column, before in self._places]
        if self._longest:
            rows.insert(0, [row[column] for column in self._columns])
            del rows[self._longest :]
        return found
