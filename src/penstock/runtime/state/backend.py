"""All keyed state of one operator: makes handles from descriptors and writes them back at a batch's end."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec

from penstock.errors import StateError
from penstock.runtime.codec import Codec, StampedCodec, codec_of
from penstock.runtime.evolution.describe import describe_state
from penstock.runtime.evolution.shape import Shape, StateShape, state_shape_of
from penstock.runtime.evolution.values import differences_in_place
from penstock.runtime.keys import KeyTable, encoded_length, thaw_key
from penstock.runtime.state.cell import NO_KEY, Cell, KeyCell, NamespaceCell, SlotCell
from penstock.runtime.state.list import BOUNDS, ListHandle
from penstock.runtime.state.map import MapHandle
from penstock.runtime.state.own_form import OwnFormDescriptor
from penstock.runtime.state.timeline import TimelineHandle
from penstock.runtime.state.ttl import TtlListHandle, TtlMapHandle, TtlValueHandle
from penstock.runtime.state.value import AggregatingHandle, ReducingHandle, ValueHandle
from penstock.runtime.store import Store, after_prefix
from penstock.state import StateDescriptor
from penstock.ttl import StateTtlConfig

MEASURES = "measures"  # the schema of tables by time
KEY_TABLE = "__keys__"  # of keys that cannot be decoded from their bytes alone


class Table(msgspec.Struct, array_like=True):
    """One state of one operator in a slot's store."""

    number: int
    operator: str
    name: str
    kind: str
    schema: str
    cursor: bytes = b""  # where the next look for expired entries starts
    type: str = ""  # the types in full (`runtime/evolution/shape.py`), as JSON; "": written before they were kept
    ttl: int = 0  # milliseconds; 0: entries do not expire


class Tables:
    """The tables of a slot; kept with its state, so that numbers mean the same in every run."""

    def __init__(self, known: list[Table] | None = None) -> None:
        self._by_name = {(t.operator, t.name): t for t in known or ()}

    def of(self, operator: str, name: str, kind: str, schema: str, descriptor: StateDescriptor | None = None) -> Table:
        """The table of a state; a descriptor tells its types, which are then compared with the saved ones."""
        table = self._by_name.get((operator, name))
        if table is None:
            table = self._by_name[(operator, name)] = Table(len(self._by_name) + 1, operator, name, kind, schema)
        elif table.kind != kind:
            raise _changed(table, f"is {kind} state", f"{table.kind} state")
        elif not (descriptor is not None and table.type):
            if table.schema != schema and not _readable(table.schema, schema):
                raise _changed(table, f"has type {schema}", table.schema)
            table.schema = schema
        if descriptor is not None:
            shape = describe_state(descriptor)
            told = shape.json()
            if table.type and (table.type != told or table.schema != schema):
                _compare_types(table, schema, shape, descriptor)
            table.schema, table.type = schema, told
            table.ttl = 0 if descriptor.ttl is None else descriptor.ttl.ttl
        return table

    def refresh(self, known: list[Table]) -> None:
        """Takes over where cleaning goes on; the tables themselves are the same."""
        for table in known:
            self._by_name[(table.operator, table.name)].cursor = table.cursor

    def all(self) -> list[Table]:
        return list(self._by_name.values())


def _readable(written: str, read: str) -> bool:
    """Pickled values can be read by a typed state: each value says how it was written.

    Earlier versions called a type such as list[int] by its first word only.
    """
    return read.startswith("msgspec:") and (written == "pickle" or read.startswith(f"{written}["))


def _compare_types(table: Table, schema: str, shape: StateShape, descriptor: StateDescriptor) -> None:
    """Lets pass what the new type's decoder reads as it is stored; all else has to be rewritten first."""
    differences = differences_in_place(state_shape_of(table.type), shape, descriptor.value_type)
    if table.schema.startswith("ttl:") != schema.startswith("ttl:"):
        differences = ["entries expire" if schema.startswith("ttl:") else "entries do not expire any more"]
    if differences:
        raise _changed(table, f"has type {schema}", table.schema, f" ({'; '.join(differences)})")


def _changed(table: Table, now: str, before: str, differences: str = "") -> StateError:
    return StateError(
        "STATE_CHANGED",
        f"State '{table.name}' of operator '{table.operator}' {now} in this program, and the checkpoint holds {before}"
        f"{differences}. Change the program back, or give the state a new name; or start with --from-savepoint and the "
        "checkpoint's path, which rewrites values where it can ('penstock savepoints check' says whether).",
    )


def table_name(name: str, scope: str) -> str:
    """What a state's table is called in an operator.

    >>> table_name("rules", "slot"), table_name("count", "key")
    ('slot:rules', 'count')
    """
    return name if scope == "key" else f"{scope}:{name}"


class StateBackend:
    """Handles, current key and clock of one operator in one slot.

    >>> from penstock.runtime.store import MemoryBase
    >>> from penstock.state import ValueStateDescriptor
    >>> backend = StateBackend(Store(MemoryBase()), Tables(), "op", KeyTable(128))
    >>> count = backend.handle(ValueStateDescriptor("count", int))
    >>> backend.set_key("a"); count.update(3); backend.flush(); count.value()
    3
    """

    def __init__(self, store: Store, tables: Tables, operator: str, keys: KeyTable, cached: bool = False) -> None:
        self._store = store
        self._tables = tables
        self._operator = operator
        self._cached = cached
        self.mutable = False  # some state holds values that can be changed in place
        self.keys = keys
        self.key_cell = KeyCell(keys)
        self.namespace_cell = NamespaceCell(keys)
        self._slot_cell = SlotCell()
        self.now = 0
        self._handles: dict[tuple[str, str], tuple[Any, StateDescriptor]] = {}
        self._flushed: list[Any] = []
        self._expiring: list[tuple[Table, StateTtlConfig]] = []

    def clock(self) -> int:
        return self.now

    def set_key(self, key: Any) -> None:
        self.key_cell.at = key

    def set_namespace(self, key: Any, namespace: tuple[Any, ...]) -> None:
        self.key_cell.at = key
        self.namespace_cell.at = (key, namespace)

    def unset_key(self) -> None:
        self.key_cell.at = NO_KEY
        self.namespace_cell.at = NO_KEY

    def handle(self, descriptor: StateDescriptor, scope: str = "key") -> Any:
        """The handle of a state; scope is "key", "namespace" (per window) or "slot" (broadcast)."""
        known = self._handles.get((descriptor.name, scope))
        if known is None:
            known = self._handles[(descriptor.name, scope)] = (self._make(descriptor, scope), descriptor)
        elif known[1] is not descriptor:
            self._compare(known[1], descriptor)
        return known[0]

    def descriptors(self) -> list[tuple[str, StateDescriptor]]:
        """All states that were asked for, with the names of their tables."""
        return [(table_name(name, scope), known[1]) for (name, scope), known in self._handles.items()]

    def _compare(self, first: StateDescriptor, second: StateDescriptor) -> None:
        """Two descriptors of one name must describe one state."""
        if (first.kind, self._schema(first)) != (second.kind, self._schema(second)):
            raise StateError(
                "STATE_NAME_TWICE",
                f"Operator '{self._operator}' has two states of the name '{first.name}': {first.kind} state of "
                f"{first.value_type}, and {second.kind} state of {second.value_type}. They would share their "
                "values. Give one of them another name.",
            )

    def _make(self, descriptor: StateDescriptor, scope: str) -> Any:
        cells: dict[str, Cell] = {"key": self.key_cell, "namespace": self.namespace_cell, "slot": self._slot_cell}
        cell = cells[scope]
        codec: Codec = codec_of(descriptor.value_type)
        if descriptor.ttl is not None:
            codec = StampedCodec(codec)
        name = table_name(descriptor.name, scope)
        table = self._tables.of(self._operator, name, descriptor.kind, codec.schema, descriptor)
        prefix = table.number.to_bytes(2, "big")
        if descriptor.ttl is not None:
            self._expiring.append((table, descriptor.ttl))
        self.mutable = self.mutable or not codec.immutable
        cached = self._cached and descriptor.ttl is None  # cleaning deletes expired entries behind a cache's back
        handle: Any
        if descriptor.kind == "list":
            handle = ListHandle(self._store, prefix, cell, codec)
            self._flushed.append(handle)
            return handle if descriptor.ttl is None else TtlListHandle(handle, descriptor.ttl, self.clock)
        if descriptor.kind == "map":
            handle = MapHandle(self._store, prefix, cell, codec, cached)
            self._flushed.append(handle)
            return handle if descriptor.ttl is None else TtlMapHandle(handle, descriptor.ttl, self.clock)
        if descriptor.kind == "timeline":
            handle = TimelineHandle(self._store, prefix, cell, codec, cached)
            self._flushed.append(handle)
            return handle
        handle = ValueHandle(self._store, prefix, cell, codec, cached)
        self._flushed.append(handle)
        if descriptor.ttl is not None:
            handle = TtlValueHandle(handle, descriptor.ttl, self.clock)
        if descriptor.kind == "reducing":
            function = descriptor.reduce_function  # type: ignore[attr-defined]
            return ReducingHandle(handle, function.reduce if hasattr(function, "reduce") else function)
        if descriptor.kind == "aggregating":
            return AggregatingHandle(handle, descriptor.agg_function)  # type: ignore[attr-defined]
        return handle

    def keys_with(self, descriptor: StateDescriptor) -> list[Any]:
        """All keys that have this state, in order of their group and bytes: for apply_to_keyed_state."""
        self.flush()  # keys that got their state in this batch count too
        table = self._tables.of(self._operator, descriptor.name, descriptor.kind, self._schema(descriptor))
        prefix = table.number.to_bytes(2, "big")
        found: dict[bytes, Any] = {}
        for stored, _ in self._store.scan(prefix, after_prefix(prefix)):
            encoded = stored[4 : 4 + encoded_length(stored, 4)]
            if encoded not in found:
                found[encoded] = self.key_of(encoded)
        return list(found.values())

    @property
    def store(self) -> Store:
        """For operators that keep tables of their own."""
        return self._store

    def time_table(self, name: str, shape: Shape | None = None) -> bytes:
        """The prefix of a table whose entries are named by a time, and by the hash and the bytes of a key."""
        descriptor = None
        if shape is not None:
            descriptor = OwnFormDescriptor(name, "times", shape)
            self._handles[(name, "key")] = (None, descriptor)
        return self._tables.of(self._operator, name, "times", MEASURES, descriptor).number.to_bytes(2, "big")

    def key_of(self, encoded: bytes) -> Any:
        """The key of its bytes."""
        return thaw_key(encoded, self._store.get(self._exotic_table() + encoded) or b"")

    def _exotic_table(self) -> bytes:
        """Keys that cannot be decoded from their bytes alone are kept in a table of their own."""
        return self._tables.of(self._operator, KEY_TABLE, "keys", "pickle").number.to_bytes(2, "big")

    @staticmethod
    def _schema(descriptor: StateDescriptor) -> str:
        codec: Codec = codec_of(descriptor.value_type)
        return codec.schema if descriptor.ttl is None else StampedCodec(codec).schema

    def flush(self) -> None:
        """Encodes and writes every entry that changed in this batch."""
        try:
            for handle in self._flushed:
                handle.flush()
        except StateError as error:
            name = next(t.name for t in self._tables.all() if t.number.to_bytes(2, "big") == handle._table)
            raise StateError(error.code, f"State '{name}': {error.text}") from error
        if self.keys.exotic:
            table = self._exotic_table()
            for encoded, key in self.keys.exotic.items():
                self._store.put(table + encoded, pickle.dumps(key, 5))
            self.keys.exotic.clear()

    def forget(self) -> None:
        """Drops the changes of a batch that failed."""
        for handle in self._flushed:
            handle.forget()
        self.keys.forget_exotic()
        self.unset_key()

    def undo(self) -> None:
        """Drops what changed since the last flush."""
        for handle in self._flushed:
            handle.forget()

    def forget_keyed(self) -> None:
        """Drops all state of keys and leaves broadcast state: for batch mode, where a key that is done never returns."""
        for handle in self._flushed:
            if handle._cell is not self._slot_cell:
                handle.forget()
        self.keys.exotic.clear()
        self._store.drop_last(lambda key: key[2:4] != SlotCell.GROUP)  # broadcast state was written before any key's

    def forget_cache(self) -> None:
        """Another worker went on with this slot: what is cached here is old."""
        for handle in self._flushed:
            handle.forget_cache()
        self.keys.forget_exotic()

    def clean(self) -> None:
        """Deletes some expired entries: each table with a time to live is looked through in bounded steps."""
        for table, config in self._expiring:
            if config.cleanup.looked_at:
                self._clean(table, config)

    def _clean(self, table: Table, config: StateTtlConfig) -> None:
        prefix = table.number.to_bytes(2, "big")
        left = config.cleanup.looked_at
        reached = b""
        empty: bytes | None = None  # the bounds of a list of which no living element was met
        for key, data in self._store.scan(max(prefix, table.cursor), after_prefix(prefix)):
            if empty is not None and not key.startswith(empty):
                self._store.delete(empty)
                empty = None
            if left == 0:
                reached = key
                break
            left -= 1
            if table.kind == "list" and data[:1] == BOUNDS:
                empty = key
                continue
            at = 4 + int.from_bytes(data[:4], "big") if table.kind == "map" else 0
            if StampedCodec.stamp_of(data[at : at + 8]) + config.ttl <= self.now:
                self._store.delete(key)
            else:
                empty = None
        if empty is not None and not reached:
            self._store.delete(empty)
        table.cursor = reached
