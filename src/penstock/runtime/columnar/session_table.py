"""Stored sessions: one entry per key with its open sessions, and an index of keys by the time at which a session ends.

A session grows with almost every element. So a key is indexed at a time that is at most the end of its earliest session, and
is moved in the index only when that time has passed or when an earlier session has started.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from penstock.runtime.columnar.accumulators import Accumulators
from penstock.runtime.columnar.fold import Values, as_list, concatenate, pack_values, take
from penstock.runtime.columnar.key_codes import KeyCodes
from penstock.runtime.columnar.time_table import decode_time, encode_time
from penstock.runtime.loop.records import Column, column
from penstock.runtime.pickling import dumps
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.codec import CHECKED, PICKLED
from penstock.runtime.state.store import after_prefix

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, list[list[Any]]]).decode
_NO_TIME = encode_time(0)  # entries of keys have no time of their own


@dataclass(slots=True)
class Sessions:
    """Sessions of some keys. `ends` are exclusive."""

    codes: Column
    starts: Column
    ends: Column
    counts: Column
    columns: list[Values]

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns each session as it is stored."""
        columns = [as_list(c) for c in self.columns]
        return list(zip(self.starts.tolist(), self.ends.tolist(), self.counts.tolist(), *columns, strict=True))

    def take(self, indices: Any) -> Sessions:
        """Returns the sessions at some indices."""
        columns = [take(c, indices) for c in self.columns]
        return Sessions(self.codes[indices], self.starts[indices], self.ends[indices], self.counts[indices], columns)

    @staticmethod
    def join(parts: list[Sessions]) -> Sessions:
        """Returns the sessions of all parts."""
        return Sessions(
            np.concatenate([p.codes for p in parts]),
            np.concatenate([p.starts for p in parts]),
            np.concatenate([p.ends for p in parts]),
            np.concatenate([p.counts for p in parts]),
            [concatenate(list(c)) for c in zip(*(p.columns for p in parts), strict=True)],
        )


class SessionTable:
    """The entries of the keys that a batch affects. Each is read once and written once."""

    def __init__(self, backend: KeyedStateStore, keys: KeyCodes, accumulators: Accumulators) -> None:
        self._store = backend.store
        self._table = backend.time_table("__sessions__", accumulators.shape("sessions")) + _NO_TIME
        self._index = backend.time_table("__session_ends__")
        self._keys = keys
        self._column_count = len(accumulators.definitions)
        self._indexed: dict[int, int] = {}  # by key code: the time at which the key is indexed

    def pop_due(self, until: int) -> Column:
        """Removes the keys indexed up to a time from the index and returns them."""
        index, writes = self._index, self._store.pending_changes()
        entries = [key for key, _ in self._store.scan(index, index + encode_time(until) + b"\xff" * 9)]
        writes.update(dict.fromkeys(entries))
        return self._keys.encode_suffixes([key[10:] for key in entries])

    def next_end(self) -> int | None:
        """Returns a time that is at most the end of the session that ends first, or None if there is no session."""
        entry = next(self._store.scan(self._index, after_prefix(self._index)), None)
        return None if entry is None else decode_time(entry[0])

    def read(self, codes: Column, due: Column) -> Sessions:
        """Returns the open sessions of some keys. `due` are the keys that `pop_due` has removed from the index."""
        table, suffixes, get = self._table, self._keys.suffixes, self._store.get
        self._indexed = {}
        rows: list[list[Any]] = []
        row_codes: list[int] = []
        due_codes = set(due.tolist())
        for code in codes.tolist():
            data = get(table + suffixes[code])
            if data is None:
                continue
            indexed, sessions = _decode(data[1:]) if data[0] else pickle.loads(memoryview(data)[1:])
            if code not in due_codes:
                self._indexed[code] = indexed
            rows += sessions
            row_codes += [code] * len(sessions)
        if not rows:
            none = column([])
            return Sessions(none, none, none, none, [none for _ in range(self._column_count)])
        starts, ends, counts, *columns = zip(*rows, strict=True)
        return Sessions(
            column(row_codes), column(starts), column(ends), column(counts), [pack_values(list(c)) for c in columns]
        )

    def write(self, codes: Column, sessions: Sessions) -> None:
        """Writes the open sessions of some keys. Entries of keys without a session are deleted."""
        table, index, suffixes, writes = self._table, self._index, self._keys.suffixes, self._store.pending_changes()
        all_numeric = all(isinstance(c, np.ndarray) for c in sessions.columns)
        open_sessions: dict[int, list[tuple[Any, ...]]] = {}
        for code, row in zip(sessions.codes.tolist(), sessions.rows(), strict=True):
            open_sessions.setdefault(code, []).append(row)
        for code in codes.tolist():
            suffix, rows, before = suffixes[code], open_sessions.get(code), self._indexed.get(code)
            if rows is None:
                writes[table + suffix] = None
                if before is not None:
                    writes[index + encode_time(before) + suffix] = None
                continue
            first = min(row[1] for row in rows) - 1
            if before is None or first < before:
                if before is not None:
                    writes[index + encode_time(before) + suffix] = None
                writes[index + encode_time(first) + suffix] = b""
            else:
                first = before
            entry = (first, rows)
            writes[table + suffix] = CHECKED + _encode(entry) if all_numeric else PICKLED + dumps(entry)
