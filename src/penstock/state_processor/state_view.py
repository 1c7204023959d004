"""State wherever it is kept, to be looked at key by key or as a whole: of a savepoint, or of a running job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from penstock.engine.entry_groups import BY_TIME
from penstock.runtime.keys import key_group, key_hash
from penstock.runtime.state.backend import KEY_TABLE, Table
from penstock.runtime.store import Base, after_prefix
from penstock.savepoints import SavedOperator, SavedState, Savepoint, StateFileReader
from penstock.savepoints.evolution import saved_state
from penstock.state_processor.entries import GROUP, place_of, scope_of
from penstock.state_processor.keys import Keys
from penstock.state_processor.requests import Request, keys_of
from penstock.state_processor.statistics import Entries, entries_of

_AT_ONCE = 2000


class Kept(Protocol):
    """All state of a job at one batch."""

    batch: int
    max_parallelism: int
    operators: list[SavedOperator]

    def entries(self) -> Iterator[Entries]:
        """Every entry, some at a time, keys together."""
        ...

    def of_key(self, operator: SavedOperator, encoded: bytes) -> Iterator[tuple[SavedState, list[bytes], Keys]]:
        """What a key has in an operator, state by state."""
        ...


def rows_of_key(kept: Kept, operator: SavedOperator, encoded: bytes) -> dict[str, list[dict[str, Any]]]:
    """What a key has in an operator: rows by the names of its states."""
    found: dict[str, list[dict[str, Any]]] = {}
    for state, flat, keys in kept.of_key(operator, encoded):
        rows = Request(operator.uid, state, None).rows().batch(flat, keys).to_pylist()
        if rows:
            found.setdefault(state.name, []).extend(rows)
    return found


class SavepointKept:
    """The state of a savepoint."""

    def __init__(self, savepoint: Savepoint) -> None:
        self._savepoint = savepoint
        self.batch = savepoint.manifest.batch
        self.max_parallelism = savepoint.manifest.max_parallelism
        self.operators = savepoint.manifest.operators

    def entries(self) -> Iterator[Entries]:
        return entries_of(self._savepoint)

    def of_key(self, operator: SavedOperator, encoded: bytes) -> Iterator[tuple[SavedState, list[bytes], Keys]]:
        group = key_group(key_hash(encoded), self.max_parallelism)
        states = {s.name: s for s in operator.states if s.name != KEY_TABLE and scope_of(s.name)[0] != "slot"}
        for file in self._savepoint.manifest.files:
            with StateFileReader(self._savepoint.system, self._savepoint.path, file) as reader:
                for block in reader.blocks:
                    if block.operator != operator.uid or block.state not in states:
                        continue
                    if block.first <= group <= block.last:
                        state = states[block.state]
                        flat = _of_key(state, reader.read(block), encoded)
                        if flat:
                            yield state, flat, keys_of(reader, operator.uid)


class Slot(Protocol):
    """One slot's committed entries."""

    view: Base
    tables: list[Table]


class SlotsKept:
    """The state of a job's slots, read from their working copies."""

    def __init__(
        self, slots: dict[tuple[int, int], Any], operators: list[SavedOperator], max_parallelism: int, batch: int
    ) -> None:
        self._slots: dict[tuple[int, int], Slot] = slots
        self.max_parallelism = max_parallelism
        self.batch = batch
        self.operators = operators
        for operator in operators:
            operator.states = self._states(operator.uid)

    def _states(self, uid: str) -> list[SavedState]:
        found: dict[str, SavedState] = {}
        for slot in self._slots.values():
            for table in slot.tables:
                if table.operator == uid:
                    found.setdefault(table.name, saved_state(table))
        return list(found.values())

    def entries(self) -> Iterator[Entries]:
        seen: set[tuple[str, str]] = set()
        for slot in self._slots.values():
            for table in slot.tables:
                name = (table.operator, table.name)
                if scope_of(table.name)[0] == "slot" and name in seen:
                    continue
                seen.add(name)
                keys = _LazyKeys(slot, table.operator)
                entries = slot.view.scan(_prefix(table), after_prefix(_prefix(table)))
                while chunk := list(islice(entries, _AT_ONCE)):
                    yield table.operator, saved_state(table), [p for k, v in chunk for p in (k[2:], v)], keys

    def of_key(self, operator: SavedOperator, encoded: bytes) -> Iterator[tuple[SavedState, list[bytes], Keys]]:
        group = key_group(key_hash(encoded), self.max_parallelism).to_bytes(GROUP, "big")
        for slot in self._slots.values():
            for table in slot.tables:
                if table.operator != operator.uid or table.name == KEY_TABLE or scope_of(table.name)[0] == "slot":
                    continue
                state = saved_state(table)
                start = _prefix(table) + (b"" if table.kind in BY_TIME else group + encoded)
                found = ((k[2:], v) for k, v in slot.view.scan(start, after_prefix(start)))
                flat = _of_key(state, [p for pair in found for p in pair], encoded)
                if flat:
                    yield state, flat, _LazyKeys(slot, operator.uid)


class _LazyKeys(Keys):
    """Looks pickled keys up in the slot."""

    def __init__(self, slot: Slot, operator: str) -> None:
        super().__init__({})
        self._slot = slot
        tables = [t for t in slot.tables if (t.operator, t.name) == (operator, KEY_TABLE)]
        self._table = _prefix(tables[0]) if tables else None

    def pickled(self, encoded: bytes) -> bytes:
        return b"" if self._table is None else self._slot.view.get(self._table + encoded) or b""


def _prefix(table: Table) -> bytes:
    return table.number.to_bytes(2, "big")


def _of_key(state: SavedState, flat: list[bytes], encoded: bytes) -> list[bytes]:
    scope, _ = scope_of(state.name)
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [p for s, v in pairs if place_of(state.kind, scope, s).key == encoded for p in (s, v)]
