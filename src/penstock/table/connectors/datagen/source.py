"""The source of generated rows: row numbers, from which the decoder computes the columns."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from penstock.connectors.datagen import DataGenSource
from penstock.connectors.source import Chunk, Offset

_CHUNK = 20_000  # rows


class RowNumberSource(DataGenSource):
    """Emits (number, (seed, clock)) for each row.

    The seed is stored with the checkpoint, and the clock of a batch with its offset, so a batch that runs again is the same.
    """

    def __init__(self, rows_per_second: int, number_of_rows: int | None, seed: int | None = None) -> None:
        super().__init__({}, rows_per_second, number_of_rows, seed)

    def initial(self) -> Offset:
        return {"n": 0, "clock": 0}

    def latest(self, start: Offset) -> Offset:
        end = super().latest(start)
        if end["n"] == start["n"]:
            return start
        return {**end, "clock": time.time_ns() // 1_000_000}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return [(*task, end.get("clock", 0)) for task in super().plan(start, end, parallelism)]

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high, seed, clock = task
        origin = (seed, clock)
        for start in range(low, high, _CHUNK):
            yield Chunk("0", start, [(number, origin) for number in range(start, min(high, start + _CHUNK))])
