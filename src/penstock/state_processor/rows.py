"""Converts blocks of a savepoint to Arrow record batches, one row per entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from penstock.runtime.state.codec import TtlCodec
from penstock.runtime.state.kinds import value_offset_of
from penstock.savepoints import SavedState
from penstock.state_processor.arrow_values import arrow_column
from penstock.state_processor.entries import TIMER_TABLES, EntryKey, decode_time, parse_entry_key, split_scope
from penstock.state_processor.keys import KeyDecoder
from penstock.state_processor.values import ValueColumns, has_ttl

_TIMESTAMP = pa.timestamp("ms", "UTC")
Arrays = dict[str, Any]  # Arrow arrays, or lists of Python values


class StateRows:
    """Converts the entries of one state to rows."""

    def __init__(self, saved: SavedState, values: ValueColumns) -> None:
        self._scope, self.name = split_scope(saved.name)
        self._saved = saved
        self._values = values
        self._has_ttl = has_ttl(saved.schema)
        self._add_columns: Callable[[list[EntryKey], list[bytes], Arrays], list[bytes] | None] = {
            "list": self._add_positions,
            "map": self._add_map_keys,
            "timeline": self._add_times,
            "times": self._add_times,
            "timers": self._add_timers,
        }.get(saved.kind, _unchanged)
        self._keys = KeyDecoder({})
        self._to_column: Callable[[list[Any]], Any] = arrow_column

    def batch(self, flat: list[bytes], keys: KeyDecoder) -> pa.RecordBatch:
        """The rows of a block with entries as name, value, name, value, ..."""
        self._to_column = arrow_column
        arrays, stored = self._columns(flat, keys)
        if stored is not None:
            self._add_values(stored, arrays, self._values.column)
        return pa.RecordBatch.from_pydict(arrays)

    def python_rows(self, flat: list[bytes], keys: KeyDecoder) -> list[dict[str, Any]]:
        """The same rows with Python objects as keys and values, also those that Arrow has no type for."""
        self._to_column = list
        columns, stored = self._columns(flat, keys)
        if stored is not None:
            self._add_values(stored, columns, lambda values: [self._values.read(data) for data in values])
        lists = [column.to_pylist() if isinstance(column, pa.Array) else column for column in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]

    def _columns(self, flat: list[bytes], keys: KeyDecoder) -> tuple[Arrays, list[bytes] | None]:
        """All columns but those of the values, and the stored values, if any."""
        self._keys = keys
        kind, scope = self._saved.kind, self._scope
        entry_keys = [parse_entry_key(kind, scope, stored) for stored in flat[::2]]
        stored = flat[1::2]
        value_offset = value_offset_of(kind)
        with_value = [i for i, data in enumerate(stored) if value_offset(data) is not None]
        if len(with_value) < len(stored):  # such as the bounds of a list
            entry_keys, stored = [entry_keys[i] for i in with_value], [stored[i] for i in with_value]
        arrays: Arrays = {}
        if scope != "slot":
            arrays["key"] = self._to_column([keys.decode(entry_key.key) for entry_key in entry_keys])
        if scope == "namespace" or kind == "timers":
            arrays |= _windows([entry_key.namespace for entry_key in entry_keys])
        return arrays, self._add_columns(entry_keys, stored, arrays)

    def _add_values(self, stored: list[bytes], arrays: Arrays, to_column: Callable[[list[bytes]], Any]) -> None:
        if not self._has_ttl:
            arrays["value"] = to_column(stored)
            return
        arrays["value"] = to_column([data[8:] for data in stored])
        written = [TtlCodec.timestamp_of(data) for data in stored]
        arrays["written"] = pa.array(written, pa.int64()).cast(_TIMESTAMP)
        if self._saved.ttl is not None:
            arrays["expires"] = pa.array([time + self._saved.ttl for time in written], pa.int64()).cast(_TIMESTAMP)

    def _add_positions(self, entry_keys: list[EntryKey], stored: list[bytes], arrays: Arrays) -> list[bytes]:
        arrays["position"] = pa.array([int.from_bytes(p.suffix, "big") for p in entry_keys], pa.int64())
        return stored

    def _add_map_keys(self, entry_keys: list[EntryKey], stored: list[bytes], arrays: Arrays) -> list[bytes]:
        ends = [4 + int.from_bytes(data[:4], "big") for data in stored]
        pickles = (data[4:end] for data, end in zip(stored, ends, strict=True))
        arrays["map_key"] = self._to_column(
            [self._keys.decode(p.suffix, f) for p, f in zip(entry_keys, pickles, strict=True)]
        )
        return [data[end:] for data, end in zip(stored, ends, strict=True)]

    def _add_times(self, entry_keys: list[EntryKey], stored: list[bytes], arrays: Arrays) -> list[bytes] | None:
        arrays["time"] = pa.array([decode_time(p.suffix[:8]) for p in entry_keys], pa.int64())
        return stored if any(stored) else None  # an index without values

    def _add_timers(self, entry_keys: list[EntryKey], stored: list[bytes], arrays: Arrays) -> None:
        arrays["time"] = pa.array([decode_time(p.suffix) for p in entry_keys], pa.int64())
        arrays["kind"] = pa.array([TIMER_TABLES[self._saved.name]] * len(entry_keys), pa.string())


def _unchanged(entry_keys: list[EntryKey], stored: list[bytes], arrays: Arrays) -> list[bytes]:
    return stored


def _windows(encoded: list[bytes]) -> Arrays:
    """The bounds of time windows; other windows as text. Timers of process functions have no window."""
    if not any(encoded):
        return {}
    windows: list[Any] = [msgspec.msgpack.decode(n) if n else None for n in encoded]
    if all(n is None or (len(n) == 2 and type(n[0]) is type(n[1]) is int) for n in windows):
        return {
            "window_start": pa.array([n and n[0] for n in windows], pa.int64()),
            "window_end": pa.array([n and n[1] for n in windows], pa.int64()),
        }
    return {"window": pa.array([None if n is None else repr(tuple(n)) for n in windows], pa.string())}
