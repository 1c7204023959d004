"""All keyed state of one operator in one slot: creates handles from descriptors and writes them at the end of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import StateError
from penstock.runtime.pickling import dumps
from penstock.runtime.state.cell import NO_KEY, Cell, KeyCell, NamespaceCell, SlotCell
from penstock.runtime.state.codec import Codec, TtlCodec, codec_of
from penstock.runtime.state.evolution.shape import OperatorStateDescriptor, Shape
from penstock.runtime.state.handle import StateHandle
from penstock.runtime.state.keys import KeyTable, encoded_length, restore_key
from penstock.runtime.state.kinds import STATE_KINDS, value_offset_of
from penstock.runtime.state.live_entries import LiveEntries
from penstock.runtime.state.store import Store, after_prefix
from penstock.runtime.state.tables import KEY_TABLE, MEASURES, StateTable, StateTables, table_name
from penstock.state import StateDescriptor
from penstock.ttl import StateTtlConfig, StateVisibility


class KeyedStateStore:
    """Handles, current key and clock of one operator in one slot.

    >>> from penstock.runtime.state.store import MemoryView
    >>> from penstock.state import ValueStateDescriptor
    >>> backend = KeyedStateStore(Store(MemoryView()), StateTables(), "op", KeyTable(128))
    >>> count = backend.handle(ValueStateDescriptor("count", int))
    >>> backend.set_key("a"); count.update(3); backend.flush(); count.value()
    3
    """

    def __init__(self, store: Store, tables: StateTables, operator: str, keys: KeyTable, cached: bool = False) -> None:
        self._store = store
        self._tables = tables
        self._operator = operator
        self._cached = cached
        self.mutable = False  # whether some state has values that can be changed in place
        self.keys = keys
        self.key_cell = KeyCell(keys)
        self.namespace_cell = NamespaceCell(keys)
        self._slot_cell = SlotCell()
        self.now = 0
        self._handles: dict[tuple[str, str], tuple[Any, StateDescriptor]] = {}  # by name and scope
        self._written: list[StateHandle] = []  # written at the end of a batch
        self._keyed: list[StateHandle] = []  # those of them that have keys
        self._expiring: list[tuple[StateTable, StateTtlConfig]] = []

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
        """Returns the handle of a state. The scope is "key", "namespace" (per window) or "slot" (broadcast)."""
        known = self._handles.get((descriptor.name, scope))
        if known is None:
            known = self._handles[(descriptor.name, scope)] = (self._create(descriptor, scope), descriptor)
        elif known[1] is not descriptor:
            self._check_same_state(known[1], descriptor)
        return known[0]

    def descriptors(self) -> list[tuple[str, StateDescriptor]]:
        """All states that have a handle, with the names of their tables."""
        return [(table_name(name, scope), known[1]) for (name, scope), known in self._handles.items()]

    def _check_same_state(self, first: StateDescriptor, second: StateDescriptor) -> None:
        if (first.kind, self._schema(first)) != (second.kind, self._schema(second)):
            raise StateError(
                "STATE_NAME_TWICE",
                f"Operator '{self._operator}' has two states with the name '{first.name}': {first.kind} state of "
                f"{first.value_type} and {second.kind} state of {second.value_type}. They would share their "
                "values. Give one of them another name.",
            )

    def _create(self, descriptor: StateDescriptor, scope: str) -> Any:
        cells: dict[str, Cell] = {"key": self.key_cell, "namespace": self.namespace_cell, "slot": self._slot_cell}
        name = table_name(descriptor.name, scope)
        codec: Codec = codec_of(descriptor.value_type, name)
        if descriptor.ttl is not None:
            codec = TtlCodec(codec)
        table = self._tables.of(self._operator, name, descriptor.kind, codec.schema, descriptor)
        self.mutable = self.mutable or not codec.immutable
        kind = STATE_KINDS[descriptor.kind]
        cached = self._cached and descriptor.ttl is None  # a cache would not notice that expired entries are removed
        handle: Any = kind.handle(self._store, table.prefix, cells[scope], codec, cached)
        self._written.append(handle)
        if scope != "slot":
            self._keyed.append(handle)
        if descriptor.ttl is not None:
            self._expiring.append((table, descriptor.ttl))
            if kind.ttl_handle is not None:
                handle = kind.ttl_handle(handle, descriptor.ttl, self.clock)
        return handle if kind.adapter is None else kind.adapter(handle, descriptor)

    def keys_with(self, descriptor: StateDescriptor) -> list[Any]:
        """Returns all keys that have this state, ordered by key group and encoded key (for apply_to_keyed_state).

        State that has expired is hidden, whether it has been removed from the store or not.
        """
        self.flush()  # includes keys whose state was created in this batch
        table = self._tables.of(self._operator, descriptor.name, descriptor.kind, self._schema(descriptor))
        entries: Iterable[tuple[bytes, bytes]] = self._store.scan(table.prefix, after_prefix(table.prefix))
        if descriptor.ttl is not None and descriptor.ttl.visibility is StateVisibility.NeverReturnExpired:
            entries = LiveEntries(table, self.now).select(entries)
        keys: dict[bytes, Any] = {}
        for stored, _ in entries:
            encoded = stored[4 : 4 + encoded_length(stored, 4)]
            if encoded not in keys:
                keys[encoded] = self.decode_key(encoded)
        return list(keys.values())

    @property
    def store(self) -> Store:
        """The store, for operators that write their own tables."""
        return self._store

    def time_table(self, name: str, shape: Shape | None = None) -> bytes:
        """Returns the prefix of a table whose entries start with a time, a key hash and an encoded key."""
        descriptor = None
        if shape is not None:
            descriptor = OperatorStateDescriptor(name, "times", shape)
            self._handles[(name, "key")] = (None, descriptor)
        return self._tables.of(self._operator, name, "times", MEASURES, descriptor).prefix

    def rows_table(self, name: str, kind: str, schema: str) -> bytes:
        """Returns the prefix of a table whose entries a relational operator encodes.

        Kind "rows": entries start with a key group and a key. Kind "times": with a time, the hash of a key, and the key.
        """
        return self._tables.of(self._operator, name, kind, schema).prefix

    def decode_key(self, encoded: bytes) -> Any:
        return restore_key(encoded, self._store.get(self._key_table() + encoded) or b"")

    def _key_table(self) -> bytes:
        """The table of keys that cannot be decoded from their encoding."""
        return self._tables.of(self._operator, KEY_TABLE, "keys", "pickle").prefix

    @staticmethod
    def _schema(descriptor: StateDescriptor) -> str:
        codec: Codec = codec_of(descriptor.value_type)
        return codec.schema if descriptor.ttl is None else TtlCodec(codec).schema

    def flush(self) -> None:
        """Encodes and writes every entry that changed in this batch."""
        for handle in self._written:
            handle.flush()
        if self.keys.pickled_keys:
            table = self._key_table()
            for encoded, key in self.keys.pickled_keys.items():
                self._store.put(table + encoded, dumps(key))
            self.keys.pickled_keys.clear()

    def discard_batch(self) -> None:
        """Discards the changes of a batch that failed."""
        self.undo()
        self.keys.forget_pickled_keys()
        self.unset_key()

    def undo(self) -> None:
        """Discards the changes since the last flush."""
        for handle in self._written:
            handle.discard_batch()

    def discard_keyed(self) -> None:
        """Discards the state of all keys and keeps broadcast state. In batch mode, a finished key never returns."""
        for handle in self._keyed:
            handle.discard_batch()
        self.keys.pickled_keys.clear()
        # Broadcast state was written before the state of any key.
        self._store.pop_latest_changes(lambda key: key[2:4] != SlotCell.GROUP)

    def clear_cache(self) -> None:
        """Drops cached values, because another worker has processed this slot in the meantime."""
        for handle in self._written:
            handle.clear_cache()
        self.keys.forget_pickled_keys()

    def remove_expired(self) -> None:
        """Deletes some expired entries: each call checks a bounded number of entries per state with a time to live."""
        for table, config in self._expiring:
            if config.cleanup.entries_per_batch:
                self._remove_expired(table, config)

    def _remove_expired(self, table: StateTable, config: StateTtlConfig) -> None:
        prefix, value_offset = table.prefix, value_offset_of(table.kind)
        left = config.cleanup.entries_per_batch
        reached = b""
        header: bytes | None = (
            None  # an entry without a value, such as the bounds of a list, with no live element so far
        )
        for key, data in self._store.scan(max(prefix, table.cursor), after_prefix(prefix)):
            if header is not None and not key.startswith(header):
                self._store.delete(header)
                header = None
            if left == 0:
                reached = key
                break
            left -= 1
            offset = value_offset(data)
            if offset is None:
                header = key
            elif TtlCodec.timestamp_of(data[offset : offset + 8]) + config.ttl <= self.now:
                self._store.delete(key)
            else:
                header = None
        if header is not None and not reached:
            self._store.delete(header)
        table.cursor = reached
