"""The open sessions of keys: one entry per key, and an index that finds the keys whose sessions end.

A session grows with almost every element; so its key stands in the index at a time no later than the end of its earliest
session, and is moved only when that time has come, or when an earlier session has begun.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from penstock.runtime.codec import CHECKED, PICKLED
from penstock.runtime.records import Column, column
from penstock.runtime.state.backend import StateBackend
from penstock.runtime.vector.fold import Values, as_list, narrow
from penstock.runtime.vector.key_codes import KeyCodes
from penstock.runtime.vector.measures import Measures
from penstock.runtime.vector.time_table import time_bytes

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, list[list[Any]]]).decode
_NO_TIME = time_bytes(0)  # entries of keys have no time of their own


@dataclass(slots=True)
class Sessions:
    """Sessions of some keys: `ends` are exclusive."""

    codes: Column
    starts: Column
    ends: Column
    counts: Column
    columns: list[Values]

    def rows(self) -> list[tuple[Any, ...]]:
        """Each session as it is stored."""
        columns = [as_list(c) for c in self.columns]
        return list(zip(self.starts.tolist(), self.ends.tolist(), self.counts.tolist(), *columns, strict=True))


class SessionTable:
    """Entries of the keys that a batch has to do with; read once, written once."""

    def __init__(self, backend: StateBackend, keys: KeyCodes, measures: Measures) -> None:
        self._store = backend.store
        self._table = backend.time_table("__sessions__", measures.shape("sessions")) + _NO_TIME
        self._index = backend.time_table("__session_ends__")
        self._keys = keys
        self._measures = len(measures.wanted)
        self._indexed: dict[int, int] = {}  # by code: where the key stands in the index

    def due(self, until: int) -> Column:
        """The keys that stand in the index up to a time: taken out of it."""
        index, writes = self._index, self._store.changes()
        found = [key for key, _ in self._store.scan(index, index + time_bytes(until) + b"\xff" * 9)]
        writes.update(dict.fromkeys(found))
        return self._keys.named([key[10:] for key in found])

    def read(self, codes: Column, due: Column) -> Sessions:
        """The open sessions of some keys. Those of `due` stand in the index no more."""
        table, suffixes, get = self._table, self._keys.suffixes, self._store.get
        self._indexed = {}
        rows: list[list[Any]] = []
        of: list[int] = []
        gone = set(due.tolist())
        for code in codes.tolist():
            data = get(table + suffixes[code])
            if data is None:
                continue
            indexed, sessions = _decode(data[1:]) if data[0] else pickle.loads(memoryview(data)[1:])
            if code not in gone:
                self._indexed[code] = indexed
            rows += sessions
            of += [code] * len(sessions)
        if not rows:
            none = column([])
            return Sessions(none, none, none, none, [none for _ in range(self._measures)])
        starts, ends, counts, *columns = zip(*rows, strict=True)
        return Sessions(column(of), column(starts), column(ends), column(counts), [narrow(list(c)) for c in columns])

    def write(self, codes: Column, sessions: Sessions) -> None:
        """What is open now of these keys: those without a session are dropped."""
        table, index, suffixes, writes = self._table, self._index, self._keys.suffixes, self._store.changes()
        numbers = all(isinstance(c, np.ndarray) for c in sessions.columns)
        open_now: dict[int, list[tuple[Any, ...]]] = {}
        for code, row in zip(sessions.codes.tolist(), sessions.rows(), strict=True):
            open_now.setdefault(code, []).append(row)
        for code in codes.tolist():
            suffix, rows, before = suffixes[code], open_now.get(code), self._indexed.get(code)
            if rows is None:
                writes[table + suffix] = None
                if before is not None:
                    writes[index + time_bytes(before) + suffix] = None
                continue
            first = min(row[1] for row in rows) - 1
            if before is None or first < before:
                if before is not None:
                    writes[index + time_bytes(before) + suffix] = None
                writes[index + time_bytes(first) + suffix] = b""
            else:
                first = before
            entry = (first, rows)
            writes[table + suffix] = CHECKED + _encode(entry) if numbers else PICKLED + pickle.dumps(entry, 5)
