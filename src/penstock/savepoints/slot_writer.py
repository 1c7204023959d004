"""Writes the state of one slot as a file of a savepoint, and describes the job around it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.connectors.file.system import FileSystem
from penstock.engine.rescale import Placement
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.state.backend import Table
from penstock.runtime.state.cell import SlotCell
from penstock.savepoints.evolution import saved_state
from penstock.savepoints.manifest import SavedOperator, SavedState, StateFile
from penstock.savepoints.state_file import StateFileWriter

BLOCK = 1 << 20  # bytes of keys and values in a block
_TABLE = 2
_GROUP = 2
_EVERYWHERE = int.from_bytes(SlotCell.GROUP, "big")
_BY_HASH = ("timers", "times", "keys")


class SlotPart(msgspec.Struct):
    """The file of a slot, and what is in it by operator and state: (entries, bytes)."""

    file: StateFile
    counts: dict[str, dict[str, tuple[int, int]]]
    tables: list[Table]


class SlotWriter:
    """Writes a slot's entries, which come in the order of their keys, in blocks of one table each."""

    def __init__(
        self, system: FileSystem, folder: str, name: str, tables: Iterable[Table], max_parallelism: int
    ) -> None:
        self._writer = StateFileWriter(system, folder, name)
        self._tables = {t.number.to_bytes(_TABLE, "big"): t for t in tables}
        self._placement = Placement(max_parallelism, regroup=False)
        self._counts: dict[str, dict[str, tuple[int, int]]] = {}

    def write(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        prefix, flat, size = b"", list[bytes](), 0
        for key, value in entries:
            if size >= BLOCK or key[:_TABLE] != prefix:
                self._close_block(prefix, flat, size)
                prefix, flat, size = key[:_TABLE], [], 0
            flat += (key[_TABLE:], value)
            size += len(key) - _TABLE + len(value)
        self._close_block(prefix, flat, size)

    def _close_block(self, prefix: bytes, flat: list[bytes], size: int) -> None:
        if not flat:
            return
        table = self._tables[prefix]
        first, last = self._groups(table, prefix, flat)
        self._writer.add(table.operator, table.name, first, last, flat)
        states = self._counts.setdefault(table.operator, {})
        entries, before = states.get(table.name, (0, 0))
        states[table.name] = (entries + len(flat) // 2, before + size)

    def _groups(self, table: Table, prefix: bytes, flat: list[bytes]) -> tuple[int, int]:
        if table.kind not in _BY_HASH:
            return int.from_bytes(flat[0][:_GROUP], "big"), int.from_bytes(flat[-2][:_GROUP], "big")
        found = [group for key in flat[::2] if (group := self._placement.place(table, prefix + key)[0]) is not None]
        return min(found, default=_EVERYWHERE), max(found, default=_EVERYWHERE)

    def close(self) -> SlotPart:
        """The file is durable after this."""
        return SlotPart(self._writer.close(), self._counts, list(self._tables.values()))

    def abort(self) -> None:
        self._writer.abort()


def with_states(operators: Iterable[SavedOperator], parts: Iterable[SlotPart]) -> list[SavedOperator]:
    """Operators with what the parts of slots hold of each. Broadcast state has a copy in every slot: it is counted once."""
    found: dict[str, dict[str, SavedState]] = {}
    for part in parts:
        for table in part.tables:
            states = found.setdefault(table.operator, {})
            state = states.setdefault(table.name, saved_state(table))
            entries, size = part.counts.get(table.operator, {}).get(table.name, (0, 0))
            if table.name.startswith("slot:"):
                state.entries, state.size = max(state.entries, entries), max(state.size, size)
            else:
                state.entries, state.size = state.entries + entries, state.size + size
    return [
        msgspec.structs.replace(o, states=[found[o.uid][name] for name in sorted(found.get(o.uid, {}))])
        for o in operators
    ]


def write_slot(
    system: FileSystem,
    folder: str,
    name: str,
    meta: SlotMeta,
    entries: Iterable[tuple[bytes, bytes]],
    max_parallelism: int,
) -> SlotPart:
    """Writes all of a slot; removes what was written if that fails."""
    writer = SlotWriter(system, folder, name, meta.tables, max_parallelism)
    try:
        writer.write(entries)
        return writer.close()
    except BaseException:
        writer.abort()
        raise
