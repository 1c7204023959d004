"""Calls a function with every key of an operator, with the key's state in the handles that a job has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from penstock.errors import StateError
from penstock.functions.function import Function
from penstock.runtime.keys import KeyTable, encode_key
from penstock.runtime.operator import SubtaskContext
from penstock.runtime.state.backend import KEY_TABLE, StateBackend, Table, Tables
from penstock.runtime.store import Store
from penstock.savepoints import SavedOperator, Savepoint, StateFile, StateFileReader
from penstock.state_processor.entries import TIMER_TABLES, place_of, scope_of, time_of
from penstock.state_processor.requests import keys_of

K = TypeVar("K")
OUT = TypeVar("OUT")
_FORGOTTEN_AFTER = 10_000  # keys whose values are held decoded


class KeyedReaderContext(ABC):
    """What a reader function may ask for beside state."""

    @abstractmethod
    def registered_event_time_timers(self) -> set[int]:
        """The times of the key's event time timers."""

    @abstractmethod
    def registered_processing_time_timers(self) -> set[int]:
        """The times of the key's processing time timers."""


class KeyedStateReaderFunction(Function, ABC, Generic[K, OUT]):
    """Reads several states of a key together. It asks for them in `open`, as a job's function does."""

    @abstractmethod
    def read_key(self, key: K, ctx: KeyedReaderContext) -> Iterable[OUT] | None:
        """Called with each key; what it yields comes out."""


class _Sorted:
    """Entries in their order, in memory."""

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
    """What a function makes of all keys. One file's entries of the operator are in memory at a time."""
    for file in savepoint.manifest.files:
        yield from _of_file(savepoint, file, operator, function)


def _of_file(
    savepoint: Savepoint, file: StateFile, operator: SavedOperator, function: KeyedStateReaderFunction[Any, OUT]
) -> Iterator[OUT]:
    tables = {
        s.name: Table(number, operator.uid, s.name, s.kind, s.schema) for number, s in enumerate(operator.states, 1)
    }
    entries: dict[bytes, bytes] = {}
    found: dict[bytes, None] = {}
    context = _Context()
    with StateFileReader(savepoint.system, savepoint.path, file) as reader:
        for block in reader.blocks:
            if block.operator != operator.uid:
                continue
            table, flat = tables[block.state], reader.read(block)
            prefix = table.number.to_bytes(2, "big")
            entries.update((prefix + k, v) for k, v in zip(flat[::2], flat[1::2], strict=True))
            _note(table, flat[::2], found, context)
        keys = keys_of(reader, operator.uid)
    if not found:
        return
    backend = StateBackend(
        Store(_Sorted(entries)),
        Tables(list(tables.values())),
        operator.uid,
        KeyTable(savepoint.manifest.max_parallelism),
    )
    function.open(_runtime(operator, backend))
    try:
        for number, encoded in enumerate(found, 1):
            key, context.key = keys.of(encoded), encoded
            _check(key, encoded)
            backend.set_key(key)
            yield from function.read_key(key, context) or ()
            if number % _FORGOTTEN_AFTER == 0:
                backend.undo()
    finally:
        function.close()


def _note(table: Table, names: list[bytes], found: dict[bytes, None], context: _Context) -> None:
    """The keys of a table, and the times of timers."""
    scope, _ = scope_of(table.name)
    if scope == "slot" or table.name == KEY_TABLE:
        return
    kind = TIMER_TABLES.get(table.name)
    for name in names:
        place = place_of(table.kind, scope, name)
        found[place.key] = None
        if kind is not None:
            context.timers.setdefault((place.key, kind), set()).add(time_of(place.rest))


def _check(key: Any, encoded: bytes) -> None:
    if encode_key(key)[0] != encoded:
        raise StateError(
            "STATE_KEY_UNREADABLE",
            f"A key is {key!r}, and its class cannot be imported here: its state cannot be found by it. Run this where the job's "
            "classes are, or read tables.",
        )


def _runtime(operator: SavedOperator, backend: StateBackend) -> SubtaskContext:
    return SubtaskContext(
        uid=operator.uid, name=operator.name, index=0, parallelism=1, max_parallelism=1, parameters={}, backend=backend
    )
