"""Blocks of a savepoint as Arrow's record batches: one row per entry of a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from penstock.runtime.codec import StampedCodec
from penstock.savepoints import SavedState
from penstock.state_processor.entries import TIMER_TABLES, Place, place_of, scope_of, time_of
from penstock.state_processor.keys import Keys
from penstock.state_processor.natural import column
from penstock.state_processor.values import Values, is_stamped

_MOMENT = pa.timestamp("ms", "UTC")
Arrays = dict[str, pa.Array]


class StateRows:
    """Turns the entries of one state into rows."""

    def __init__(self, saved: SavedState, values: Values) -> None:
        self._scope, self.name = scope_of(saved.name)
        self._saved = saved
        self._values = values
        self._stamped = is_stamped(saved.schema)
        self._of_kind: Callable[[list[Place], list[bytes], Arrays], list[bytes] | None] = {
            "list": self._positions,
            "map": self._map_keys,
            "timeline": self._times,
            "times": self._times,
            "timers": self._timers,
        }.get(saved.kind, _as_they_are)
        self._keys = Keys({})

    def batch(self, flat: list[bytes], keys: Keys) -> pa.RecordBatch:
        """The rows of a block: names and values of its entries, by turns."""
        self._keys = keys
        kind, scope = self._saved.kind, self._scope
        places = [place_of(kind, scope, stored) for stored in flat[::2]]
        stored = flat[1::2]
        if kind in ("list", "timeline"):  # each begins with an entry that numbers the others
            here = [i for i, place in enumerate(places) if place.rest]
            places, stored = [places[i] for i in here], [stored[i] for i in here]
        arrays: Arrays = {}
        if scope != "slot":
            arrays["key"] = column([keys.of(place.key) for place in places])
        if scope == "namespace" or kind == "timers":
            arrays |= _windows([place.namespace for place in places])
        values = self._of_kind(places, stored, arrays)
        if values is not None:
            self._add_values(values, arrays)
        return pa.RecordBatch.from_pydict(arrays)

    def _add_values(self, stored: list[bytes], arrays: Arrays) -> None:
        if not self._stamped:
            arrays["value"] = self._values.column(stored)
            return
        arrays["value"] = self._values.column([data[8:] for data in stored])
        stamps = [StampedCodec.stamp_of(data) for data in stored]
        arrays["written"] = pa.array(stamps, pa.int64()).cast(_MOMENT)
        if self._saved.ttl is not None:
            arrays["expires"] = pa.array([s + self._saved.ttl for s in stamps], pa.int64()).cast(_MOMENT)

    def _positions(self, places: list[Place], stored: list[bytes], arrays: Arrays) -> list[bytes]:
        arrays["position"] = pa.array([int.from_bytes(p.rest, "big") for p in places], pa.int64())
        return stored

    def _map_keys(self, places: list[Place], stored: list[bytes], arrays: Arrays) -> list[bytes]:
        ends = [4 + int.from_bytes(data[:4], "big") for data in stored]
        frozen = (data[4:end] for data, end in zip(stored, ends, strict=True))
        arrays["map_key"] = column([self._keys.of(p.rest, f) for p, f in zip(places, frozen, strict=True)])
        return [data[end:] for data, end in zip(stored, ends, strict=True)]

    def _times(self, places: list[Place], stored: list[bytes], arrays: Arrays) -> list[bytes] | None:
        arrays["time"] = pa.array([time_of(p.rest[:8]) for p in places], pa.int64())
        return stored if any(stored) else None  # an index has no values

    def _timers(self, places: list[Place], stored: list[bytes], arrays: Arrays) -> None:
        arrays["time"] = pa.array([time_of(p.rest) for p in places], pa.int64())
        arrays["kind"] = pa.array([TIMER_TABLES[self._saved.name]] * len(places), pa.string())


def _as_they_are(places: list[Place], stored: list[bytes], arrays: Arrays) -> list[bytes]:
    return stored


def _windows(encoded: list[bytes]) -> Arrays:
    """Bounds of time windows; other windows as text. Timers of process functions have none."""
    if not any(encoded):
        return {}
    found: list[Any] = [msgspec.msgpack.decode(n) if n else None for n in encoded]
    if all(n is None or (len(n) == 2 and type(n[0]) is type(n[1]) is int) for n in found):
        return {
            "window_start": pa.array([n and n[0] for n in found], pa.int64()),
            "window_end": pa.array([n and n[1] for n in found], pa.int64()),
        }
    return {"window": pa.array([None if n is None else repr(tuple(n)) for n in found], pa.string())}
