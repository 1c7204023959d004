"""The rows of one side of an interval join, by key and time."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack

_SIGN = 1 << 63


@dataclass(slots=True, eq=False)
class CachedRow:
    """A row, and whether it was joined. `number` identifies it within a batch."""

    row: bytes
    joined: bool
    number: int = -1


@dataclass(slots=True)
class _Key:
    prefix: bytes
    times: dict[int, list[CachedRow]]
    changed: set[int] = field(default_factory=set)


class IntervalCache:
    """Rows by (key, time). The rows of a key are read once per batch and written once."""

    def __init__(self, context: OperatorContext, name: str, schema: str) -> None:
        self._table = KeyedTable(context, name, schema)
        self._keys: dict[bytes, _Key] = {}

    def begin_batch(self) -> None:
        """Forgets the rows of the last batch."""
        self._keys.clear()

    def times(self, key: bytes) -> dict[int, list[CachedRow]]:
        """Returns the rows of a key by time."""
        return self._of(key).times

    def _of(self, key: bytes) -> _Key:
        found = self._keys.get(key)
        if found is None:
            [prefix] = self._table.prefixes([key])
            times = {
                int.from_bytes(sub_key, "big") - _SIGN: [CachedRow(row, joined) for row, joined in unpack(value)]
                for sub_key, value in self._table.scan(prefix)
            }
            found = self._keys[key] = _Key(prefix, times)
        return found

    def add(self, key: bytes, time: int, row: CachedRow) -> None:
        """Adds a row."""
        found = self._of(key)
        found.times.setdefault(time, []).append(row)
        found.changed.add(time)

    def change(self, key: bytes, time: int) -> None:
        """Notes that a row of a time was changed."""
        self._of(key).changed.add(time)

    def take_until(self, key: bytes, time: int) -> list[CachedRow]:
        """Returns the rows of a key up to a time, inclusive, in order, and removes them."""
        found = self._of(key)
        rows: list[CachedRow] = []
        for old in sorted(t for t in found.times if t <= time):
            rows += found.times.pop(old)
            found.changed.add(old)
        return rows

    def flush(self) -> None:
        """Writes all changes."""
        for found in self._keys.values():
            for time in found.changed:
                rows = found.times.get(time)
                value = None if not rows else pack([[r.row, r.joined] for r in rows])
                self._table.put(found.prefix + (time + _SIGN).to_bytes(8, "big"), value)
            found.changed.clear()
