"""Writes entries in blocks of about a megabyte, and counts them by state."""

from __future__ import annotations

from collections import Counter

from penstock.engine.slots.entry_groups import BROADCAST, entry_key_group
from penstock.savepoints import SavedState, StateFileWriter

_BLOCK_SIZE = 1 << 20  # bytes


class BlockWriter:
    """Writes blocks and counts their entries and bytes, by operator and state."""

    def __init__(self, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self.entries: Counter[tuple[str, str]] = Counter()
        self.sizes: Counter[tuple[str, str]] = Counter()

    def write(self, writer: StateFileWriter, operator: str, state: SavedState, flat: list[bytes]) -> None:
        """Writes entries in order, as name, value, name, value, ..."""
        start = size = 0
        for at in range(0, len(flat), 2):
            size += len(flat[at]) + len(flat[at + 1])
            if size >= _BLOCK_SIZE:
                self._add(writer, operator, state, flat[start : at + 2])
                start, size = at + 2, 0
        if start < len(flat):
            self._add(writer, operator, state, flat[start:])

    def _add(self, writer: StateFileWriter, operator: str, state: SavedState, flat: list[bytes]) -> None:
        groups = {entry_key_group(state.kind, stored, self._max_parallelism) for stored in flat[::2]}
        numbers = [BROADCAST if group is None else group for group in groups]
        first, last = min(numbers), max(numbers)
        writer.add(operator, state.name, first, last, flat)
        self.count(operator, state.name, len(flat) // 2, sum(map(len, flat)))

    def count(self, operator: str, state: str, entries: int, size: int) -> None:
        """Counts entries that were written elsewhere."""
        self.entries[operator, state] += entries
        self.sizes[operator, state] += size
