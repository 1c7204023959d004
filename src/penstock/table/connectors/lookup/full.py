"""A table that each worker reads as a whole, and finds rows in memory."""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import JobError
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.joins.lookup.table import Found, match_rows
from penstock.runtime.relational.keys import encode_keys, group_rows
from penstock.table.connectors.interface import TableSource
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field

_MANY = 4  # with so many rows of the table per key, an index is faster than grouping the rows with the keys


class FullTable:
    """The rows of a bounded source, read when they are first needed, and again after an interval (milliseconds; None: never)."""

    def __init__(
        self,
        source: TableSource,
        fields: Sequence[Field],
        keys: Sequence[int],
        name: str,
        reload_every: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._fields = list(fields)
        self._keys = list(keys)
        self._name = name
        self._reload_every = reload_every
        self._clock = clock
        self._forget()

    def __repr__(self) -> str:
        return f"FullTable({self._name}, {self._fields}, {self._keys}, {self._reload_every})"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("_columns", "_index", "_order"):
            state[name] = None
        return state

    def _forget(self) -> None:
        self._columns: list[pa.Array] | None = None
        self._index: dict[bytes, tuple[int, int]] | None = None
        self._order: np.ndarray | None = None
        self._due = 0.0

    def find(self, keys: Sequence[pa.Array]) -> Found:
        """Returns the rows with some keys."""
        if self._columns is not None and self._reload_every is not None and self._clock() >= self._due:
            self._forget()
        if self._columns is None:
            self._columns = self._read()
            self._due = self._clock() + (self._reload_every or 0) / 1000
        rows = len(self._columns[0])
        if rows <= _MANY * len(keys[0]):
            return match_rows(keys, self._columns, self._keys)
        return self._indexed(keys)

    def close(self) -> None:
        """Forgets the rows."""
        self._forget()

    def _indexed(self, keys: Sequence[pa.Array]) -> Found:
        assert self._columns is not None
        types = [self._fields[k].type for k in self._keys]
        if self._index is None:
            own = [self._columns[k] for k in self._keys]
            groups = group_rows(own, len(own[0]))
            self._order, starts = groups.order()
            firsts = encode_keys([c.take(pa.array(groups.first)) for c in own], types, len(groups))
            ends = np.append(starts[1:], len(self._order))
            self._index = dict(zip(firsts, zip(starts.tolist(), ends.tolist(), strict=True), strict=True))
        assert self._order is not None
        none = (0, 0)
        ranges = [self._index.get(key, none) for key in encode_keys(keys, types, len(keys[0]))]
        owners = np.repeat(np.arange(len(ranges)), [end - start for start, end in ranges])
        parts = [self._order[start:end] for start, end in ranges if end > start]
        at = pa.array(np.concatenate(parts) if parts else np.zeros(0, np.int64))
        return Found([column.take(at) for column in self._columns], owners)

    def _read(self) -> list[pa.Array]:
        """Reads all rows in this process."""
        source = copy.deepcopy(self._source.source)
        parts: list[Changes] = []
        with tempfile.TemporaryDirectory() as folder:
            source.attach(folder)
            at = source.initial()
            while (end := source.latest(at)) != at:
                for task in source.plan(at, end, 1):
                    for chunk in source.read(task):
                        if chunk.bad:
                            bad = chunk.bad[0]
                            raise JobError("LOOKUP_ROW", f"{self._name}: the record of {bad.describe()}") from bad.error
                        parts.append(self._decoded(chunk.values))
                at = end
        parts = [part for part in parts if part.length]
        if not parts:
            return [pa.array([], arrow_type(field.type)) for field in self._fields]
        return Changes.concatenate(parts).columns

    def _decoded(self, elements: list[Any]) -> Changes:
        decoded = self._source.decoder.decode(elements)
        if decoded.bad:
            _, reason = decoded.bad[0]
            raise JobError("LOOKUP_ROW", f"{self._name}: a row cannot be read: {reason}") from reason
        return decoded.changes
