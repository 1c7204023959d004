"""A source and a sink over SQLite, as a user would write them; docs/how-to/write-a-connector.md shows the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from penstock.connectors import SimpleSink, SimpleSource


class TableSource(SimpleSource):
    """Reads the rows of a table. The id of a row is its position."""

    def __init__(self, path: str, table: str, bounded: bool = True, records_per_batch: int = 100_000) -> None:
        self.path = path
        self.table = table
        self.bounded = bounded
        self.records_per_batch = records_per_batch

    def end(self, split: str) -> int:
        with closing(sqlite3.connect(self.path)) as db:
            return int(db.execute(f"select coalesce(max(rowid), -1) + 1 from {self.table}").fetchone()[0])

    def read_range(self, split: str, start: int, end: int) -> Iterable[tuple[int, Any]]:
        with closing(sqlite3.connect(self.path)) as db:
            query = f"select rowid, * from {self.table} where rowid >= ? and rowid < ? order by rowid"
            for rowid, *row in db.execute(query, (start, end)):
                yield rowid, tuple(row)


class TableSink(SimpleSink):
    """Adds rows to a table, exactly once. The name of the batch is written in the same transaction."""

    def __init__(self, path: str, table: str) -> None:
        self.path = path
        self.table = table

    def publish(self, batch: str, written: list[Any]) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("create table if not exists batches (name text primary key)")
            if db.execute("insert or ignore into batches values (?)", (batch,)).rowcount:
                rows = [row for part in written for row in part]
                db.executemany(f"insert into {self.table} values ({', '.join('?' * len(rows[0]))})", rows)
