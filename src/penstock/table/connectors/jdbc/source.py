"""Reads a table of a database once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.connectors.source import Chunk, Offset, Source
from penstock.formats.columns.interface import Decoded
from penstock.runtime.relational.changes import Changes
from penstock.table.connectors.jdbc.database import Database, column_list, quoted
from penstock.table.connectors.lookup.rows import to_columns
from penstock.types.logical.kinds import Field


class DatabaseSource(Source):
    """The rows of a table in parts, which tasks read at the same time. A part that is repeated sees the table of that moment.

    ranges: the values of `column` of each part, (first, last); None is the whole table.
    """

    bounded = True

    def __init__(
        self,
        database: Database,
        table: str,
        columns: Sequence[str],
        fetch_size: int,
        column: str | None = None,
        ranges: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self._database = database
        self._table = table
        self._columns = list(columns)
        self._fetch_size = fetch_size
        self._column = column
        self._ranges = None if ranges is None else list(ranges)

    def _parts(self) -> int:
        return 1 if self._ranges is None else len(self._ranges)

    def initial(self) -> Offset:
        return {"parts": 0}

    def latest(self, start: Offset) -> Offset:
        return {"parts": self._parts()}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return list(range(start["parts"], end["parts"]))

    def ended(self, offset: Offset) -> list[str]:
        return ["0"] if offset["parts"] >= self._parts() else []

    def read(self, task: Any) -> Iterator[Chunk]:
        statement = f"SELECT {column_list(self._columns)} FROM {quoted(self._table)}"
        values: tuple[int, ...] = ()
        if self._ranges is not None:
            assert self._column is not None
            statement += f" WHERE {column_list([self._column])} BETWEEN %s AND %s"
            values = self._ranges[task]

        at = task << 40  # positions of parts do not overlap
        for rows in self._database.stream(statement, values, self._fetch_size):
            yield Chunk("0", at, rows)
            at += len(rows)


class RowDecoder:
    """Turns the rows of a cursor into columns."""

    def __init__(self, fields: Sequence[Field], table: str) -> None:
        self._fields = list(fields)
        self._table = table

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes rows."""
        columns = to_columns(elements, self._fields, f"Table {self._table}")
        return Decoded(Changes(columns, len(elements)))


def part_ranges(lower: int, upper: int, parts: int) -> list[tuple[int, int]]:
    """Divides the numbers from `lower` to `upper` (inclusive) into parts.

    >>> part_ranges(0, 9, 3)
    [(0, 3), (4, 6), (7, 9)]
    """
    count = upper - lower + 1
    parts = max(1, min(parts, count))
    size, rest = divmod(count, parts)
    ranges, at = [], lower
    for part in range(parts):
        width = size + (part < rest)
        ranges.append((at, at + width - 1))
        at += width
    return ranges
