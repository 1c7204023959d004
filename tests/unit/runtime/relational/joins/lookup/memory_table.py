"""A lookup table in memory, which counts requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.runtime.relational.joins.lookup.table import Found, match_rows

Rows = list[tuple[int, str]]


class MemoryTable:
    """Rows (key, value) that a test may change. `asked` are the keys of each request."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.asked: list[list[Any]] = []

    def __repr__(self) -> str:
        return "MemoryTable"

    def find(self, keys: Sequence[pa.Array]) -> Found:
        self.asked.append(keys[0].to_pylist())
        columns = [
            pa.array([row[0] for row in self.rows], pa.int32()),
            pa.array([row[1] for row in self.rows], pa.string()),
        ]
        return match_rows(keys, columns, [0])

    def close(self) -> None:
        pass
