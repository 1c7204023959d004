"""Compares saved states and keys with those that a program declares, and rewrites them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.engine.program.declared_state import key_types
from penstock.engine.program.program import Program
from penstock.runtime.state.codec import TtlCodec, codec_of
from penstock.runtime.state.evolution.compatibility import Comparison
from penstock.runtime.state.evolution.describe import describe_key, describe_state
from penstock.runtime.state.evolution.key_change import UNDECLARED, KeyComparison, KeyConverter, compare_key_types
from penstock.runtime.state.evolution.keys import compare_keys
from penstock.runtime.state.evolution.shape import Shape, StateShape, read_shape, read_state_shape
from penstock.runtime.state.evolution.stored_entries import entry_rewriter
from penstock.runtime.state.evolution.values import compare_values
from penstock.runtime.state.tables import MEASURES, StateTable
from penstock.savepoints.manifest import SavedState
from penstock.savepoints.map_keys import map_key_check
from penstock.state import StateDescriptor
from penstock.types import TypeInformation

AS_IS, AFTER_MIGRATION, INCOMPATIBLE = "as is", "after migration", "incompatible"


@dataclass(frozen=True, slots=True)
class DeclaredState:
    """A state as a program declares it."""

    name: str  # of its table: with the prefix "slot:" or "namespace:" if the state is not per key
    descriptor: StateDescriptor

    @property
    def kind(self) -> str:
        return self.descriptor.kind

    @property
    def schema(self) -> str:
        if self.kind == "times":
            return MEASURES
        codec = codec_of(self.descriptor.value_type)
        return codec.schema if self.descriptor.ttl is None else TtlCodec(codec).schema

    @property
    def type(self) -> str:
        return describe_state(self.descriptor).to_json()

    @property
    def ttl(self) -> int:
        return 0 if self.descriptor.ttl is None else self.descriptor.ttl.ttl

    def table(self, number: int, operator: str) -> StateTable:
        """The table of the state in a slot that restores its values."""
        ttl = self.descriptor.ttl
        drops_expired = ttl is not None and ttl.cleanup.in_full_snapshot()
        return StateTable(
            number, operator, self.name, self.kind, self.schema, b"", self.type, self.ttl, drops_expired=drops_expired
        )


StateChanges = dict[tuple[str, str], tuple[SavedState, DeclaredState]]  # by operator uid and state name


Migrate = Callable[[bytes, bytes], bytes]  # from the name and the value of an entry to its new value


def value_migrations(changes: StateChanges, now: int | None = None) -> dict[tuple[str, str], Migrate]:
    """The functions that rewrite the values of changed states. `now` is the clock of the job, in milliseconds."""
    resolved = {at: resolve_state(*change, now).migrate for at, change in changes.items()}
    return {at: migrate for at, migrate in resolved.items() if migrate is not None}


@dataclass(frozen=True, slots=True)
class StateResolution:
    """How a saved state is restored."""

    verdict: str
    differences: list[str] = field(default_factory=list)
    migrate: Migrate | None = None  # rewrites the value of an entry; None: entries stay unchanged
    checked: bool = False  # single values may still be incompatible, which is found when they are read


def saved_state(table: StateTable, entries: int = 0, size: int = 0) -> SavedState:
    """The description of a table in a savepoint.

    >>> saved_state(StateTable(1, "op", "count", "value", "msgspec:int", type='{"value":{"kind":"int"}}')).type
    {'value': {'kind': 'int'}}
    """
    type_ = msgspec.json.decode(table.type) if table.type else None
    return SavedState(table.name, table.kind, table.schema, type_, table.ttl or None, entries, size)


def saved_key_types(program: Program) -> dict[str, Any]:
    """The key types of operators as a savepoint stores them, by uid."""
    return {uid: describe_key(type_info).to_builtins() for uid, type_info in key_types(program).items()}


def resolve_state(saved: SavedState, declared: DeclaredState, now: int | None = None) -> StateResolution:
    """Compares a saved state with its declaration in a program.

    `now` (milliseconds) is the start of the time to live for values that did not expire before; the default is the current time.

    >>> from penstock.state import ValueStateDescriptor
    >>> saved = SavedState("n", "value", "msgspec:INT", {"value": {"kind": "int", "bits": 32}})
    >>> resolved = resolve_state(saved, DeclaredState("n", ValueStateDescriptor("n", float)))
    >>> resolved.verdict, resolved.differences
    ('after migration', ['INT became float'])
    """
    if saved.kind != declared.kind:
        return StateResolution(INCOMPATIBLE, [f"{saved.kind} state became {declared.kind} state"])
    saved_shape = _saved_shape(saved)
    if saved_shape is None:
        return _by_schema(saved, declared)
    shape = describe_state(declared.descriptor)
    values, rewrite = compare_values(saved_shape.value, shape.value, declared.descriptor.value_type)
    keys = compare_keys(saved_shape.key, shape.key) if saved_shape.key and shape.key else Comparison()
    had_ttl, has_ttl = saved.schema.startswith("ttl:"), declared.ttl > 0
    differences = [*keys.differences, *values.differences, *_compare_ttl(saved.ttl or 0, declared.ttl)]
    if obstacles := [*keys.obstacles, *values.obstacles]:
        return StateResolution(INCOMPATIBLE, [*(d for d in differences if d not in obstacles), *obstacles])
    check = map_key_check(saved.name, saved_shape.key, shape.key) if keys.checked else None  # type: ignore[arg-type]
    if rewrite is None and had_ttl == has_ttl and check is None:
        return StateResolution(AS_IS, differences)
    start = None if had_ttl else int(time.time() * 1000) if now is None else now
    entry = entry_rewriter(rewrite, saved.kind, had_ttl, start, has_ttl)
    return StateResolution(AFTER_MIGRATION, differences, _migration(entry, check), values.checked or keys.checked)


def _migration(rewrite: Callable[[bytes], bytes], check: Callable[[bytes], None] | None) -> Migrate:
    def migrate(name: bytes, value: bytes) -> bytes:
        if check is not None:
            check(name)
        return rewrite(value)

    return migrate


def _saved_shape(saved: SavedState) -> StateShape | None:
    if saved.type is not None:
        return read_state_shape(saved.type)
    return StateShape(Shape("pickle")) if saved.schema.removeprefix("ttl:") == "pickle" else None


def _by_schema(saved: SavedState, declared: DeclaredState) -> StateResolution:
    """Compares by the names of types, for a state that was written before types were stored."""
    if saved.schema == declared.schema:
        return StateResolution(AS_IS)
    return StateResolution(INCOMPATIBLE, [f"{saved.schema} became {declared.schema}, and its fields were not stored"])


def _compare_ttl(before: int, now: int) -> list[str]:
    if before == now:
        return []
    if not before:
        return [f"entries now expire after {now} ms; for saved entries the time starts at the restore"]
    return [f"entries expired after {before} ms and now {f'expire after {now} ms' if now else 'do not expire'}"]


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The saved and the declared key type of an operator."""

    saved: Any  # a shape as JSON; None: no type was declared
    declared: TypeInformation

    @property
    def shape(self) -> Shape:
        """The shape of the saved keys."""
        return UNDECLARED if self.saved is None else read_shape(self.saved)

    def compare(self) -> KeyComparison:
        return compare_key_types(self.shape, self.declared)

    def key_function(self) -> KeyConverter:
        """The function that converts the bytes of a saved key to a new key."""
        make = self.compare().convert
        assert make is not None  # keys that stay unchanged are not recorded as changes
        return make


KeyChanges = dict[str, KeyChange]  # by operator uid: keys that are rewritten when slots load them
