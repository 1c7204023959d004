"""Whether a saved state can become what a program asks for now, what differs, and how its values are rewritten."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.engine.program import Program
from penstock.engine.wanted import key_types
from penstock.runtime.codec import StampedCodec, codec_of
from penstock.runtime.evolution.describe import describe_key, describe_state
from penstock.runtime.evolution.keys import compare_keys
from penstock.runtime.evolution.resolve import Comparison
from penstock.runtime.evolution.shape import Shape, StateShape, state_shape_of
from penstock.runtime.evolution.stored import in_entry
from penstock.runtime.evolution.values import compare_values
from penstock.runtime.state.backend import MEASURES, Table
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
        if self.kind == "times":
            return MEASURES
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


Changes = dict[tuple[str, str], tuple[SavedState, StateDescription]]  # by the operator's uid and the state's name


def migrations(changes: Changes) -> dict[tuple[str, str], Callable[[bytes], bytes]]:
    """What rewrites the values of states that changed."""
    found = {at: resolution(*change).migrate for at, change in changes.items()}
    return {at: migrate for at, migrate in found.items() if migrate is not None}


@dataclass(frozen=True, slots=True)
class Resolution:
    """What becomes of a saved state."""

    verdict: str
    differences: list[str] = field(default_factory=list)
    migrate: Callable[[bytes], bytes] | None = None  # rewrites one entry's value; None: nothing is to do
    checked: bool = False  # whether every value fits is known only when it is read


def saved_state(table: Table, entries: int = 0, size: int = 0) -> SavedState:
    """What a savepoint remembers of a table.

    >>> saved_state(Table(1, "op", "count", "value", "msgspec:int", type='{"value":{"kind":"int"}}')).type
    {'value': {'kind': 'int'}}
    """
    described = msgspec.json.decode(table.type) if table.type else None
    return SavedState(table.name, table.kind, table.schema, described, table.ttl or None, entries, size)


def saved_key_types(program: Program) -> dict[str, Any]:
    """The types of operators' keys, by uid, as a savepoint remembers them."""
    return {uid: describe_key(type_info).plain() for uid, type_info in key_types(program).items()}


def resolution(saved: SavedState, wanted: StateDescription, now: int | None = None) -> Resolution:
    """Compares a saved state with what a program asks for.

    `now` is the time that values get which did not expire before and do now; the present time, unless it is given.

    >>> from penstock.state import ValueStateDescriptor
    >>> saved = SavedState("n", "value", "msgspec:INT", {"value": {"kind": "int", "bits": 32}})
    >>> found = resolution(saved, StateDescription("n", ValueStateDescriptor("n", float)))
    >>> found.verdict, found.differences
    ('after migration', ['INT became float'])
    """
    if saved.kind != wanted.kind:
        return Resolution(INCOMPATIBLE, [f"{saved.kind} state became {wanted.kind} state"])
    described = _saved_shape(saved)
    if described is None:
        return _by_schema(saved, wanted)
    shape = describe_state(wanted.descriptor)
    values, rewrite = compare_values(described.value, shape.value, wanted.descriptor.value_type)
    keys = compare_keys(described.key, shape.key) if described.key and shape.key else Comparison()
    stamped, stamps = saved.schema.startswith("ttl:"), wanted.ttl > 0
    differences = [*keys.differences, *values.differences, *_lifetimes(saved.ttl or 0, wanted.ttl)]
    if obstacles := [*keys.obstacles, *values.obstacles]:
        return Resolution(INCOMPATIBLE, [*(d for d in differences if d not in obstacles), *obstacles])
    if rewrite is None and stamped == stamps:
        return Resolution(AS_IS, differences)
    stamp = None if stamped else int(time.time() * 1000) if now is None else now
    entry = in_entry(rewrite, saved.kind, stamped, stamp, stamps)
    return Resolution(AFTER_MIGRATION, differences, entry, values.checked)


def _saved_shape(saved: SavedState) -> StateShape | None:
    if saved.type is not None:
        return state_shape_of(saved.type)
    return StateShape(Shape("pickle")) if saved.schema.removeprefix("ttl:") == "pickle" else None


def _by_schema(saved: SavedState, wanted: StateDescription) -> Resolution:
    """Of a state that was written before types were kept: only their names are known."""
    if saved.schema == wanted.schema:
        return Resolution(AS_IS)
    return Resolution(INCOMPATIBLE, [f"{saved.schema} became {wanted.schema}, and its fields were not saved"])


def _lifetimes(before: int, now: int) -> list[str]:
    if before == now:
        return []
    if not before:
        return [f"entries expire now, after {now} ms; those that are saved count from the restore on"]
    return [f"entries expired after {before} ms and {f'do after {now} ms' if now else 'do not expire'} now"]
