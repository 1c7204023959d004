"""Measures of keys by time: an ordered table of the store, in which all keys of one time are one range."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import numpy as np

from penstock.runtime.codec import CHECKED, PICKLED
from penstock.runtime.records import column
from penstock.runtime.state.backend import StateBackend
from penstock.runtime.store import after_prefix
from penstock.runtime.vector.fold import as_list, narrow
from penstock.runtime.vector.key_codes import KeyCodes
from penstock.runtime.vector.measures import Groups, Measures

_SIGN = 1 << 63
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Any, ...]).decode
_PLAIN = {int, float, str, bool, bytes, type(None)}  # come back from msgpack as what they are


class TimeTable:
    """Entries (time, key) to a count and measures."""

    def __init__(self, backend: StateBackend, name: str, keys: KeyCodes, measures: Measures) -> None:
        self._store = backend.store
        self._table = backend.time_table(name, measures.shape("windows"))
        self._keys = keys

    def first(self, after: int | None = None) -> int | None:
        """The earliest time in the table, or the earliest one after another."""
        table = self._table
        start = table if after is None else after_prefix(table + time_bytes(after))
        found = next(self._store.scan(start, after_prefix(table)), None)
        return None if found is None else time_of(found[0])

    def times(self, until: int) -> list[int]:
        """All times up to one."""
        found: list[int] = []
        time = self.first()
        while time is not None and time <= until:
            found.append(time)
            time = self.first(time)
        return found

    def all_of(self, time: int) -> Groups | None:
        """All entries of a time."""
        prefix = self._table + time_bytes(time)
        entries = list(self._store.scan(prefix, after_prefix(prefix)))
        return self._groups([key[10:] for key, _ in entries], [value for _, value in entries]) if entries else None

    def some_of(self, time: int, codes: Any) -> Groups | None:
        """The entries of a time that some keys have."""
        prefix, suffixes, get = self._table + time_bytes(time), self._keys.suffixes, self._store.get
        there, values = [], []
        for code in codes.tolist():
            value = get(prefix + suffixes[code])
            if value is not None:
                there.append(suffixes[code])
                values.append(value)
        return self._groups(there, values) if values else None

    def _groups(self, suffixes: list[bytes], values: list[bytes]) -> Groups:
        counts, *columns = zip(*map(_of_bytes, values), strict=True)
        return Groups(self._keys.named(suffixes), column(counts), [narrow(list(c)) for c in columns])

    def write(self, time: int, groups: Groups) -> None:
        """Puts the entries of some keys."""
        prefix, suffixes, writes = self._table + time_bytes(time), self._keys.suffixes, self._store.changes()
        columns = [as_list(c) for c in groups.columns]
        numbers = all(isinstance(c, np.ndarray) for c in groups.columns)
        rows = zip(groups.counts.tolist(), *columns, strict=True)
        for code, row in zip(groups.codes.tolist(), rows, strict=True):
            writes[prefix + suffixes[code]] = CHECKED + _encode(row) if numbers else to_bytes(row)

    def delete_all(self, time: int) -> None:
        """Drops all entries of a time."""
        prefix, writes = self._table + time_bytes(time), self._store.changes()
        for key, _ in list(self._store.scan(prefix, after_prefix(prefix))):
            writes[key] = None


def to_bytes(row: tuple[Any, ...]) -> bytes:
    """Any measures as bytes: a pickle, unless msgpack gives each back as what it is."""
    if set(map(type, row)) <= _PLAIN:
        try:
            return CHECKED + _encode(row)
        except OverflowError:
            pass
    return PICKLED + pickle.dumps(row, 5)


def _of_bytes(data: bytes) -> tuple[Any, ...]:
    return _decode(data[1:]) if data[0] else pickle.loads(memoryview(data)[1:])


def time_of(stored: bytes) -> int:
    """The time in the name of an entry."""
    return int.from_bytes(stored[2:10], "big") - _SIGN


def time_bytes(time: int) -> bytes:
    """A time as bytes that stand in its order."""
    return (time + _SIGN).to_bytes(8, "big")
