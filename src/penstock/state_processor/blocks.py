"""Entries as blocks of about a megabyte, and how many there are of each state."""

from __future__ import annotations

from collections import Counter

from penstock.engine.entry_groups import BROADCAST, group_of
from penstock.savepoints import SavedState, StateFileWriter

_BLOCK = 1 << 20


class StateBlocks:
    """Writes blocks of states and counts what is in them."""

    def __init__(self, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self.entries: Counter[tuple[str, str]] = Counter()
        self.sizes: Counter[tuple[str, str]] = Counter()

    def write(self, writer: StateFileWriter, operator: str, state: SavedState, flat: list[bytes]) -> None:
        """Writes entries that are in order, names and values by turns."""
        start = size = 0
        for at in range(0, len(flat), 2):
            size += len(flat[at]) + len(flat[at + 1])
            if size >= _BLOCK:
                self._add(writer, operator, state, flat[start : at + 2])
                start, size = at + 2, 0
        if start < len(flat):
            self._add(writer, operator, state, flat[start:])

    def _add(self, writer: StateFileWriter, operator: str, state: SavedState, flat: list[bytes]) -> None:
        groups = {group_of(state.kind, stored, self._max_parallelism) for stored in flat[::2]}
        known = [BROADCAST if group is None else group for group in groups]
        first, last = min(known), max(known)
        writer.add(operator, state.name, first, last, flat)
        self.count(operator, state.name, len(flat) // 2, sum(map(len, flat)))

    def count(self, operator: str, state: str, entries: int, size: int) -> None:
        """Counts entries that somebody else wrote."""
        self.entries[operator, state] += entries
        self.sizes[operator, state] += size
