"""Accumulators by time and key: an ordered table in which all keys of one time are one range."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from penstock.runtime.columnar.accumulators import Accumulators, Groups
from penstock.runtime.columnar.fold import as_list, pack_values
from penstock.runtime.columnar.key_codes import KeyCodes
from penstock.runtime.loop.records import column
from penstock.runtime.pickling import dumps
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.codec import CHECKED, PICKLED
from penstock.runtime.state.store import after_prefix

_SIGN = 1 << 63
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Any, ...]).decode
_PLAIN = {int, float, str, bool, bytes, type(None)}  # types that msgpack restores unchanged


class TimeTable:
    """A table from (time, key) to a count and accumulators."""

    def __init__(
        self, backend: KeyedStateStore, name: str, keys: KeyCodes, accumulators: Accumulators, grid: Sequence[int] = ()
    ) -> None:
        self._store = backend.store
        self._table = backend.time_table(name, accumulators.shape("windows", grid))
        self._keys = keys

    def first_time(self, after: int | None = None) -> int | None:
        """Returns the earliest time in the table, or the earliest one after `after`. Returns None if there is none."""
        table = self._table
        start = table if after is None else after_prefix(table + encode_time(after))
        entry = next(self._store.scan(start, after_prefix(table)), None)
        return None if entry is None else decode_time(entry[0])

    def times_until(self, until: int) -> list[int]:
        """Returns all times up to `until`, ascending."""
        times: list[int] = []
        time = self.first_time()
        while time is not None and time <= until:
            times.append(time)
            time = self.first_time(time)
        return times

    def read_all(self, time: int) -> Groups | None:
        """Returns all entries of a time, or None if there are none."""
        prefix = self._table + encode_time(time)
        entries = list(self._store.scan(prefix, after_prefix(prefix)))
        return self._groups([key[10:] for key, _ in entries], [value for _, value in entries]) if entries else None

    def read_keys(self, time: int, codes: Any) -> Groups | None:
        """Returns the entries of a time that some keys have, or None if there are none."""
        prefix, suffixes, get = self._table + encode_time(time), self._keys.suffixes, self._store.get
        stored_suffixes, values = [], []
        for code in codes.tolist():
            value = get(prefix + suffixes[code])
            if value is not None:
                stored_suffixes.append(suffixes[code])
                values.append(value)
        return self._groups(stored_suffixes, values) if values else None

    def _groups(self, suffixes: list[bytes], values: list[bytes]) -> Groups:
        counts, *columns = zip(*map(decode_row, values), strict=True)
        return Groups(self._keys.encode_suffixes(suffixes), column(counts), [pack_values(list(c)) for c in columns])

    def write(self, time: int, groups: Groups) -> None:
        """Writes the entries of some keys."""
        prefix, suffixes, writes = self._table + encode_time(time), self._keys.suffixes, self._store.pending_changes()
        columns = [as_list(c) for c in groups.columns]
        all_numeric = all(isinstance(c, np.ndarray) for c in groups.columns)
        rows = zip(groups.counts.tolist(), *columns, strict=True)
        for code, row in zip(groups.codes.tolist(), rows, strict=True):
            writes[prefix + suffixes[code]] = CHECKED + _encode(row) if all_numeric else encode_row(row)

    def delete_all(self, time: int) -> None:
        """Deletes all entries of a time."""
        prefix, writes = self._table + encode_time(time), self._store.pending_changes()
        for key, _ in list(self._store.scan(prefix, after_prefix(prefix))):
            writes[key] = None


def encode_row(row: tuple[Any, ...]) -> bytes:
    """Encodes a count and accumulators with msgpack if that restores them unchanged, else as a pickle."""
    if set(map(type, row)) <= _PLAIN:
        try:
            return CHECKED + _encode(row)
        except OverflowError:
            pass
    return PICKLED + dumps(row)


def decode_row(data: bytes) -> tuple[Any, ...]:
    return _decode(data[1:]) if data[0] else pickle.loads(memoryview(data)[1:])


def decode_time(stored: bytes) -> int:
    """Returns the time in the store key of an entry."""
    return int.from_bytes(stored[2:10], "big") - _SIGN


def encode_time(time: int) -> bytes:
    """Encodes a time as bytes that sort in the order of times."""
    return (time + _SIGN).to_bytes(8, "big")
