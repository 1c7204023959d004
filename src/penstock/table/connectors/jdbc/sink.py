"""Writes rows to a table of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.loop.records import Tags
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.runtime.relational.steps.rows import python_values
from penstock.table.connectors.jdbc.database import Database, column_list, quoted
from penstock.types.logical.kinds import Field

Element = tuple[bool, tuple[Any, ...]]  # whether the row is deleted, and its values


class DatabaseEncoder:
    """Encodes rows for `DatabaseSink`. Rows that are replaced (-U) are not written."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = list(fields)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one element per row that is written."""
        rows: NDArray[np.int64] | None = None
        if changes.kinds is not None and (changes.kinds == UPDATE_BEFORE).any():
            rows = np.flatnonzero(changes.kinds != UPDATE_BEFORE)
            changes = changes.take(rows)
        columns = [python_values(c, f.type) for c, f in zip(changes.columns, self._fields, strict=True)]
        gone = (changes.all_kinds() == DELETE).tolist()
        return list(zip(gone, zip(*columns, strict=True), strict=True)), rows


class DatabaseSink(Sink):
    """Inserts rows; with a key, rows that exist are updated or deleted. A task writes its rows in one transaction.

    Rows are visible before the batch is committed. A repeated batch writes the same rows: with a key the table is the same, without
    a key rows may be there twice.
    """

    def __init__(self, database: Database, table: str, columns: Sequence[str], key: Sequence[int], rows: int) -> None:
        self._database = database
        self._table = table
        self._columns = list(columns)
        self._key = list(key)
        self._rows = rows
        self.upserts = bool(key)

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer(self._database, self.insert_statement(), self.delete_statement(), self._key, self._rows)

    def insert_statement(self) -> str:
        """Returns INSERT, with ON CONFLICT if there is a key."""
        places = ", ".join(["%s"] * len(self._columns))
        text = f"INSERT INTO {quoted(self._table)} ({column_list(self._columns)}) VALUES ({places})"
        if not self._key:
            return text
        key = column_list([self._columns[k] for k in self._key])
        others = [name for i, name in enumerate(self._columns) if i not in self._key]
        if not others:
            return f"{text} ON CONFLICT ({key}) DO NOTHING"
        changes = ", ".join(f"{column_list([n])} = EXCLUDED.{column_list([n])}" for n in others)
        return f"{text} ON CONFLICT ({key}) DO UPDATE SET {changes}"

    def delete_statement(self) -> str:
        """Returns DELETE by key."""
        condition = " AND ".join(f"{column_list([self._columns[k]])} = %s" for k in self._key)
        return f"DELETE FROM {quoted(self._table)} WHERE {condition}"


class _Writer(SinkWriter):
    """Keeps the last row of each key. Writes when there are many rows, and at the end of the task."""

    def __init__(self, database: Database, insert: str, delete: str, key: list[int], most: int) -> None:
        self._database = database
        self._insert = insert
        self._delete = delete
        self._key = key
        self._most = most
        self._pending: dict[Any, Element] = {}
        self._number = 0

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        for element in values:
            if self._key:
                self._pending[tuple(element[1][k] for k in self._key)] = element
            else:
                self._number += 1
                self._pending[self._number] = element
        if self._most and len(self._pending) >= self._most:
            self._flush()

    def prepare(self) -> Any:
        self._flush()

    def abort(self) -> None:
        self._pending.clear()

    def _flush(self) -> None:
        added = [row for gone, row in self._pending.values() if not gone]
        gone = [tuple(row[k] for k in self._key) for is_gone, row in self._pending.values() if is_gone]

        def write(connection: Any) -> None:
            with connection.cursor() as cursor:
                if gone:
                    cursor.executemany(self._delete, gone)
                if added:
                    cursor.executemany(self._insert, added)

        if added or gone:
            self._database.run(write)
        self._pending.clear()
