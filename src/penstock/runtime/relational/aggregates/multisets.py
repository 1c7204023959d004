"""Values with their counts, per group: what DISTINCT, and MIN and MAX over changelogs, need to remember.

Small ones lie inside accumulators; operators with large ones keep them in a table of state, one entry per value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack

_SMALL = [pack([count, None]) for count in range(128)]  # what DISTINCT stores for most values
_COUNTS = {data: count for count, data in enumerate(_SMALL)}


class Multisets(Protocol):
    """The multisets of one argument, for many groups. Values are known by their bytes; counts may be negative."""

    def counts(self, groups: Sequence[int], keys: Sequence[bytes]) -> list[int]:
        """Returns the counts of values, 0 for those that are not there. DISTINCT also keeps masks as counts."""
        ...

    def update(
        self, groups: Sequence[int], keys: Sequence[bytes], counts: Sequence[int], values: Sequence[Any]
    ) -> None:
        """Writes counts. A value with the count 0 is removed."""
        ...

    def lowest(self, group: int) -> tuple[bytes, Any] | None:
        """Returns the bytes and the value of the lowest value by bytes that has a positive count."""
        ...


class MemoryMultisets:
    """Multisets in memory: one dictionary per group, from bytes to [count, value].

    >>> sets = MemoryMultisets.create(2)
    >>> sets.update([0, 0], [b"b", b"a"], [1, 2], ["b", "a"])
    >>> sets.counts([0, 1], [b"a", b"a"]), sets.lowest(0), sets.lowest(1)
    ([2, 0], (b'a', 'a'), None)
    """

    def __init__(self, groups: list[dict[bytes, list[Any]]]) -> None:
        self.groups = groups

    @classmethod
    def create(cls, length: int) -> MemoryMultisets:
        """Returns empty multisets."""
        return cls([{} for _ in range(length)])

    @classmethod
    def load(cls, stored: Sequence[list[Any] | None]) -> MemoryMultisets:
        """Returns multisets from their plain form."""
        return cls([{} if s is None else {key: [count, value] for key, count, value in s} for s in stored])

    def dump(self) -> list[list[Any] | None]:
        """Returns the plain form of each multiset."""
        return [[[key, *entry] for key, entry in found.items()] if found else None for found in self.groups]

    def take(self, positions: Sequence[int]) -> MemoryMultisets:
        """Returns copies of some multisets."""
        return MemoryMultisets([{k: list(v) for k, v in self.groups[i].items()} for i in positions])

    def counts(self, groups: Sequence[int], keys: Sequence[bytes]) -> list[int]:
        found = (self.groups[group].get(key) for group, key in zip(groups, keys, strict=True))
        return [0 if entry is None else entry[0] for entry in found]

    def update(
        self, groups: Sequence[int], keys: Sequence[bytes], counts: Sequence[int], values: Sequence[Any]
    ) -> None:
        for group, key, count, value in zip(groups, keys, counts, values, strict=True):
            if count:
                self.groups[group][key] = [count, value]
            else:
                self.groups[group].pop(key, None)

    def lowest(self, group: int) -> tuple[bytes, Any] | None:
        found = self.groups[group]
        key = min((key for key, entry in found.items() if entry[0] > 0), default=None)
        return None if key is None else (key, found[key][1])


class TableMultisets:
    """Multisets in a table of state. prefixes: the first bytes of the entries of each group."""

    def __init__(self, table: KeyedTable, prefixes: Sequence[bytes], slot: int) -> None:
        self._table = table
        self._prefixes = prefixes
        self._slot = bytes([slot])

    def counts(self, groups: Sequence[int], keys: Sequence[bytes]) -> list[int]:
        prefixes, slot = self._prefixes, self._slot
        stored = self._table.get_many([prefixes[g] + slot + key for g, key in zip(groups, keys, strict=True)])
        small = _COUNTS
        return [0 if data is None else small[data] if data in small else unpack(data)[0] for data in stored]

    def update(
        self, groups: Sequence[int], keys: Sequence[bytes], counts: Sequence[int], values: Sequence[Any]
    ) -> None:
        prefixes, slot, put = self._prefixes, self._slot, self._table.put
        for group, key, count, value in zip(groups, keys, counts, values, strict=True):
            if not count:
                data = None
            else:
                data = _SMALL[count] if value is None and 0 < count < len(_SMALL) else pack([count, value])
            put(prefixes[group] + slot + key, data)

    def lowest(self, group: int) -> tuple[bytes, Any] | None:
        for key, data in self._scan(group):
            count, value = unpack(data)
            if count > 0:
                return key, value
        return None

    def place(self, group: int) -> tuple[KeyedTable, bytes]:
        """Returns the table, and the first bytes of the entries of a group."""
        return self._table, self._prefixes[group] + self._slot

    def _scan(self, group: int) -> Iterator[tuple[bytes, bytes]]:
        return self._table.scan(self._prefixes[group] + self._slot)
