"""Views of the state of a savepoint or a running job, by key or as a stream of all entries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from penstock.engine.slots.entry_groups import BY_TIME
from penstock.runtime.state.keys import key_group, key_hash
from penstock.runtime.state.store import ReadView, after_prefix
from penstock.runtime.state.tables import KEY_TABLE, StateTable
from penstock.savepoints import SavedOperator, SavedState, Savepoint, StateFileReader
from penstock.savepoints.evolution import saved_state
from penstock.state_processor.entries import GROUP, parse_entry_key, split_scope
from penstock.state_processor.keys import KeyDecoder
from penstock.state_processor.requests import StateRequest, read_key_decoder
from penstock.state_processor.statistics import Entries, savepoint_entries

_CHUNK_ENTRIES = 2000


class StateView(Protocol):
    """The state of a job after one batch."""

    batch: int
    max_parallelism: int
    operators: list[SavedOperator]

    def entries(self) -> Iterator[Entries]:
        """All entries in chunks, grouped by key."""
        ...

    def entries_of_key(
        self, operator: SavedOperator, encoded: bytes
    ) -> Iterator[tuple[SavedState, list[bytes], KeyDecoder]]:
        """The entries of a key in an operator, by state."""
        ...


def read_key_rows(view: StateView, operator: SavedOperator, encoded: bytes) -> dict[str, list[dict[str, Any]]]:
    """The entries of a key in an operator as rows, by state name."""
    by_state: dict[str, list[dict[str, Any]]] = {}
    for state, flat, keys in view.entries_of_key(operator, encoded):
        rows = StateRequest(operator.uid, state, None).rows().batch(flat, keys).to_pylist()
        if rows:
            by_state.setdefault(state.name, []).extend(rows)
    return by_state


class SavepointView:
    """The state of a savepoint."""

    def __init__(self, savepoint: Savepoint) -> None:
        self._savepoint = savepoint
        self.batch = savepoint.manifest.batch
        self.max_parallelism = savepoint.manifest.max_parallelism
        self.operators = savepoint.manifest.operators

    def entries(self) -> Iterator[Entries]:
        return savepoint_entries(self._savepoint)

    def entries_of_key(
        self, operator: SavedOperator, encoded: bytes
    ) -> Iterator[tuple[SavedState, list[bytes], KeyDecoder]]:
        group = key_group(key_hash(encoded), self.max_parallelism)
        states = {s.name: s for s in operator.states if s.name != KEY_TABLE and split_scope(s.name)[0] != "slot"}
        for file in self._savepoint.manifest.files:
            with StateFileReader(self._savepoint.system, self._savepoint.path, file) as reader:
                for block in reader.blocks:
                    if block.operator != operator.uid or block.state not in states:
                        continue
                    if block.first <= group <= block.last:
                        state = states[block.state]
                        flat = _filter_key(state, reader.read(block), encoded)
                        if flat:
                            yield state, flat, read_key_decoder(reader, operator.uid)


class SlotEntries(Protocol):
    """The committed entries of one slot."""

    view: ReadView
    tables: list[StateTable]


class SlotsView:
    """The state of the slots of a job, read from their working copies."""

    def __init__(
        self, slots: dict[tuple[int, int], Any], operators: list[SavedOperator], max_parallelism: int, batch: int
    ) -> None:
        self._slots: dict[tuple[int, int], SlotEntries] = slots
        self.max_parallelism = max_parallelism
        self.batch = batch
        self.operators = operators
        for operator in operators:
            operator.states = self._states(operator.uid)

    def _states(self, uid: str) -> list[SavedState]:
        states: dict[str, SavedState] = {}
        for slot in self._slots.values():
            for table in slot.tables:
                if table.operator == uid:
                    states.setdefault(table.name, saved_state(table))
        return list(states.values())

    def entries(self) -> Iterator[Entries]:
        seen: set[tuple[str, str]] = set()
        for slot in self._slots.values():
            for table in slot.tables:
                name = (table.operator, table.name)
                if split_scope(table.name)[0] == "slot" and name in seen:
                    continue
                seen.add(name)
                keys = _SlotKeyDecoder(slot, table.operator)
                entries = slot.view.scan(_prefix(table), after_prefix(_prefix(table)))
                while chunk := list(islice(entries, _CHUNK_ENTRIES)):
                    yield table.operator, saved_state(table), [p for k, v in chunk for p in (k[2:], v)], keys

    def entries_of_key(
        self, operator: SavedOperator, encoded: bytes
    ) -> Iterator[tuple[SavedState, list[bytes], KeyDecoder]]:
        group = key_group(key_hash(encoded), self.max_parallelism).to_bytes(GROUP, "big")
        for slot in self._slots.values():
            for table in slot.tables:
                if table.operator != operator.uid or table.name == KEY_TABLE or split_scope(table.name)[0] == "slot":
                    continue
                state = saved_state(table)
                start = _prefix(table) + (b"" if table.kind in BY_TIME else group + encoded)
                entries = ((k[2:], v) for k, v in slot.view.scan(start, after_prefix(start)))
                flat = _filter_key(state, [p for pair in entries for p in pair], encoded)
                if flat:
                    yield state, flat, _SlotKeyDecoder(slot, operator.uid)


class _SlotKeyDecoder(KeyDecoder):
    """Looks up pickled keys in the slot."""

    def __init__(self, slot: SlotEntries, operator: str) -> None:
        super().__init__({})
        self._slot = slot
        tables = [t for t in slot.tables if (t.operator, t.name) == (operator, KEY_TABLE)]
        self._table = _prefix(tables[0]) if tables else None

    def find_pickle(self, encoded: bytes) -> bytes:
        return b"" if self._table is None else self._slot.view.get(self._table + encoded) or b""


def _prefix(table: StateTable) -> bytes:
    return table.number.to_bytes(2, "big")


def _filter_key(state: SavedState, flat: list[bytes], encoded: bytes) -> list[bytes]:
    scope, _ = split_scope(state.name)
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [p for s, v in pairs if parse_entry_key(state.kind, scope, s).key == encoded for p in (s, v)]
