"""State as a savepoint contains it, and as a program with other types reads it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock import (
    ValueStateDescriptor,
)
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import StateTables
from penstock.savepoints import SavedState
from penstock.savepoints.evolution import (
    INCOMPATIBLE,
    DeclaredState,
    StateResolution,
    resolve_state,
    saved_state,
)
from penstock.state import StateDescriptor

NOW = 1_000_000


class SavedStateDriver:
    """A saved state with values, and the same state restored by another program."""

    def __init__(self, descriptor: StateDescriptor, fill: Any) -> None:
        self.base = MemoryView()
        self.tables = StateTables()
        backend = self._backend()
        backend.now = NOW
        handle = backend.handle(descriptor)
        backend.set_key("k")
        fill(handle)
        backend.flush()
        self.store = backend.store
        (table,) = self.tables.all()
        self.saved: SavedState = saved_state(table)

    def _backend(self) -> KeyedStateStore:
        return KeyedStateStore(Store(self.base), self.tables, "op", KeyTable(128))

    def restore_as(self, current: StateDescriptor) -> tuple[StateResolution, Any]:
        """Returns the resolution and the handle in a program with another descriptor."""
        description = DeclaredState(current.name, current)
        resolution = resolve_state(self.saved, description, now=NOW)
        assert resolution.verdict != INCOMPATIBLE, resolution.differences
        store = Store(MemoryView())
        for key, value in self.store.pending_changes().items():
            if value is not None:
                store.put(key, resolution.migrate(key[2:], value) if resolution.migrate else value)
        backend = KeyedStateStore(store, StateTables([description.table(1, "op")]), "op", KeyTable(128))
        backend.now = NOW + 10
        backend.set_key("k")
        return resolution, backend.handle(current)


def restore_value(saved_type: Any, value: Any, current_type: Any) -> tuple[StateResolution, Any]:
    driver = SavedStateDriver(ValueStateDescriptor("s", saved_type), lambda handle: handle.update(value))
    resolution, handle = driver.restore_as(ValueStateDescriptor("s", current_type))
    return resolution, handle.value()


def rejection(saved: StateDescriptor, current: StateDescriptor) -> str:
    tables = StateTables()
    KeyedStateStore(Store(MemoryView()), tables, "op", KeyTable(128)).handle(saved)
    resolution = resolve_state(saved_state(tables.all()[0]), DeclaredState(current.name, current))
    assert resolution.verdict == INCOMPATIBLE
    assert resolution.migrate is None
    return "; ".join(resolution.differences)


def value_rejection(saved_type: Any, current_type: Any) -> str:
    return rejection(ValueStateDescriptor("s", saved_type), ValueStateDescriptor("s", current_type))


# -- classes before and after


@dataclass
class Spent:
    name: str
    total: int
    tags: list[str]


@dataclass
class WithDefaults:
    name: str
    total: int
    tags: list[str]
    currency: str = "EUR"
    since: datetime.date = datetime.date(2026, 1, 1)
    seen: dict[str, int] = field(default_factory=dict)


class TupleBefore(NamedTuple):
    x: int
    y: int
