"""Whether a saved state can become what a program asks for now, what differs, and how its values are rewritten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from penstock.runtime.codec import StampedCodec, codec_of
from penstock.runtime.evolution.describe import describe_state
from penstock.runtime.state.backend import Table
from penstock.savepoints.manifest import SavedState
from penstock.state import StateDescriptor

AS_IS, AFTER_MIGRATION, INCOMPATIBLE = "as is", "after migration", "incompatible"


@dataclass(frozen=True, slots=True)
class StateDescription:
    """A state as a program asks for it. It can be pickled with the program's functions (cloudpickle)."""

    name: str  # of its table: with "slot:" or "namespace:" before the state's own name, where it is not per key
    descriptor: StateDescriptor

    @property
    def kind(self) -> str:
        return self.descriptor.kind

    @property
    def schema(self) -> str:
        codec = codec_of(self.descriptor.value_type)
        return codec.schema if self.descriptor.ttl is None else StampedCodec(codec).schema

    @property
    def type(self) -> str:
        return describe_state(self.descriptor).json()

    @property
    def ttl(self) -> int:
        return 0 if self.descriptor.ttl is None else self.descriptor.ttl.ttl

    def table(self, number: int, operator: str) -> Table:
        """The table of the state in a slot that takes its values over."""
        return Table(number, operator, self.name, self.kind, self.schema, type=self.type, ttl=self.ttl)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What becomes of a saved state."""

    verdict: str
    differences: list[str] = field(default_factory=list)
    migrate: Callable[[bytes], bytes] | None = (
        None  # rewrites one entry's value; None: nothing is to do, or nothing can be
    )


def saved_state(table: Table, entries: int = 0, size: int = 0) -> SavedState:
    """What a savepoint remembers of a table.

    >>> saved_state(Table(1, "op", "count", "value", "msgspec:int", type='{"value":{"kind":"int"}}')).type
    {'value': {'kind': 'int'}}
    """
    described = msgspec.json.decode(table.type) if table.type else None
    return SavedState(table.name, table.kind, table.schema, described, table.ttl or None, entries, size)


def resolution(saved: SavedState, wanted: StateDescription) -> Resolution:
    """Compares a saved state with what a program asks for."""
    if (saved.kind, saved.schema) == (wanted.kind, wanted.schema):
        return Resolution(AS_IS)
    return Resolution(
        INCOMPATIBLE, [f"{saved.kind} state of {saved.schema} became {wanted.kind} state of {wanted.schema}"]
    )
