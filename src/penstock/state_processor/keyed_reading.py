"""Calls a reader function for each key of an operator, with the state handles of a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from penstock.errors import StateError
from penstock.functions.function import Function
from penstock.runtime.loop.call_results import check_results
from penstock.runtime.loop.operator import FunctionRuntimeContext
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable, encode_key
from penstock.runtime.state.store import Store
from penstock.runtime.state.tables import KEY_TABLE, StateTable, StateTables
from penstock.savepoints import SavedOperator, Savepoint, StateFile, StateFileReader
from penstock.state_processor.entries import TIMER_TABLES, decode_time, parse_entry_key, split_scope
from penstock.state_processor.requests import read_key_decoder

K = TypeVar("K")
OUT = TypeVar("OUT")
_CLEAR_INTERVAL = 10_000  # keys whose decoded values are cached


class KeyedReaderContext(ABC):
    """The context of a reader function."""

    @abstractmethod
    def registered_event_time_timers(self) -> set[int]:
        """Returns the times of the event-time timers of the current key."""

    @abstractmethod
    def registered_processing_time_timers(self) -> set[int]:
        """Returns the times of the processing-time timers of the current key."""


class KeyedStateReaderFunction(Function, ABC, Generic[K, OUT]):
    """Reads the states of each key. It requests them in `open`, like a function of a job."""

    @abstractmethod
    def read_key(self, key: K, ctx: KeyedReaderContext) -> Iterable[OUT] | None:
        """Called for each key. Its results are those of `SavepointReader.read_keyed_state`."""


class _SortedEntries:
    """Entries in memory, in the order of their keys."""

    def __init__(self, entries: dict[bytes, bytes]) -> None:
        self._entries = entries
        self._keys = sorted(entries)

    def get(self, key: bytes) -> bytes | None:
        return self._entries.get(key)

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        for at in range(bisect_left(self._keys, start), bisect_left(self._keys, stop)):
            yield self._keys[at], self._entries[self._keys[at]]


class _Context(KeyedReaderContext):
    def __init__(self) -> None:
        self.timers: dict[tuple[bytes, str], set[int]] = {}
        self.key = b""

    def registered_event_time_timers(self) -> set[int]:
        return set(self.timers.get((self.key, "event"), ()))

    def registered_processing_time_timers(self) -> set[int]:
        return set(self.timers.get((self.key, "processing"), ()))


def read_keys(
    savepoint: Savepoint, operator: SavedOperator, function: KeyedStateReaderFunction[Any, OUT]
) -> Iterator[OUT]:
    """The results of a function for all keys. The entries of one file are in memory at a time."""
    for file in savepoint.manifest.files:
        yield from _read_file(savepoint, file, operator, function)


def _read_file(
    savepoint: Savepoint, file: StateFile, operator: SavedOperator, function: KeyedStateReaderFunction[Any, OUT]
) -> Iterator[OUT]:
    tables = {
        s.name: StateTable(number, operator.uid, s.name, s.kind, s.schema)
        for number, s in enumerate(operator.states, 1)
    }
    entries: dict[bytes, bytes] = {}
    encoded_keys: dict[bytes, None] = {}
    context = _Context()
    with StateFileReader(savepoint.system, savepoint.path, file) as reader:
        for block in reader.blocks:
            if block.operator != operator.uid:
                continue
            table, flat = tables[block.state], reader.read(block)
            prefix = table.number.to_bytes(2, "big")
            entries.update((prefix + k, v) for k, v in zip(flat[::2], flat[1::2], strict=True))
            _collect_keys(table, flat[::2], encoded_keys, context)
        keys = read_key_decoder(reader, operator.uid)
    if not encoded_keys:
        return
    backend = KeyedStateStore(
        Store(_SortedEntries(entries)),
        StateTables(list(tables.values())),
        operator.uid,
        KeyTable(savepoint.manifest.max_parallelism),
    )
    function.open(_runtime(operator, backend))
    try:
        for number, encoded in enumerate(encoded_keys, 1):
            key, context.key = keys.decode(encoded), encoded
            _check(key, encoded)
            backend.set_key(key)
            yield from check_results(function.read_key(key, context)) or ()
            if number % _CLEAR_INTERVAL == 0:
                backend.undo()
    finally:
        function.close()


def _collect_keys(table: StateTable, names: list[bytes], encoded_keys: dict[bytes, None], context: _Context) -> None:
    """Collects the keys of a table and the times of timers."""
    scope, _ = split_scope(table.name)
    if scope == "slot" or table.name == KEY_TABLE:
        return
    kind = TIMER_TABLES.get(table.name)
    for name in names:
        entry_key = parse_entry_key(table.kind, scope, name)
        encoded_keys[entry_key.key] = None
        if kind is not None:
            context.timers.setdefault((entry_key.key, kind), set()).add(decode_time(entry_key.suffix))


def _check(key: Any, encoded: bytes) -> None:
    if encode_key(key)[0] != encoded:
        raise StateError(
            "STATE_KEY_UNREADABLE",
            f"The class of key {key!r} cannot be imported, so its state cannot be looked up. Run this where the classes of the "
            "job can be imported, or read tables.",
        )


def _runtime(operator: SavedOperator, backend: KeyedStateStore) -> FunctionRuntimeContext:
    return FunctionRuntimeContext(
        uid=operator.uid, name=operator.name, index=0, parallelism=1, max_parallelism=1, parameters={}, backend=backend
    )
