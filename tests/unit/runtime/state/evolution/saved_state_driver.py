"""State as a savepoint keeps it, and as a program with other types reads it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock import (
    ValueStateDescriptor,
)
from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.savepoints import SavedState
from penstock.savepoints.evolution import (
    INCOMPATIBLE,
    Resolution,
    StateDescription,
    resolution,
    saved_state,
)
from penstock.state import StateDescriptor

NOW = 1_000_000


class Kept:
    """A state with values in it, as a savepoint has it; and the same after it was given to another program."""

    def __init__(self, descriptor: StateDescriptor, fill: Any) -> None:
        self.base = MemoryBase()
        self.tables = Tables()
        backend = self._backend()
        backend.now = NOW
        handle = backend.handle(descriptor)
        backend.set_key("k")
        fill(handle)
        backend.flush()
        self.store = backend.store
        (table,) = self.tables.all()
        self.saved: SavedState = saved_state(table)

    def _backend(self) -> StateBackend:
        return StateBackend(Store(self.base), self.tables, "op", KeyTable(128))

    def given_to(self, wanted: StateDescriptor) -> tuple[Resolution, Any]:
        """The handle in a program that wants it otherwise."""
        description = StateDescription(wanted.name, wanted)
        found = resolution(self.saved, description, now=NOW)
        assert found.verdict != INCOMPATIBLE, found.differences
        store = Store(MemoryBase())
        for key, value in self.store.changes().items():
            if value is not None:
                store.put(key, found.migrate(value) if found.migrate else value)
        backend = StateBackend(store, Tables([description.table(1, "op")]), "op", KeyTable(128))
        backend.now = NOW + 10
        backend.set_key("k")
        return found, backend.handle(wanted)


def value_of(saved_type: Any, value: Any, wanted_type: Any) -> tuple[Resolution, Any]:
    kept = Kept(ValueStateDescriptor("s", saved_type), lambda handle: handle.update(value))
    found, handle = kept.given_to(ValueStateDescriptor("s", wanted_type))
    return found, handle.value()


def refused(saved: StateDescriptor, wanted: StateDescriptor) -> str:
    tables = Tables()
    StateBackend(Store(MemoryBase()), tables, "op", KeyTable(128)).handle(saved)
    found = resolution(saved_state(tables.all()[0]), StateDescription(wanted.name, wanted))
    assert found.verdict == INCOMPATIBLE
    assert found.migrate is None
    return "; ".join(found.differences)


def refused_value(saved_type: Any, wanted_type: Any) -> str:
    return refused(ValueStateDescriptor("s", saved_type), ValueStateDescriptor("s", wanted_type))


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
