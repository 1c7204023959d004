"""The state of one operator in memory, written with the same state handles and timers as in a running job."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.errors import StateError
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import MemoryView, Store
from penstock.runtime.state.tables import KEY_TABLE, StateTables
from penstock.runtime.state.timers import TimerQueue
from penstock.savepoints import SavedState
from penstock.savepoints.evolution import saved_state
from penstock.state import StateDescriptor
from penstock.state_processor.entries import parse_entry_key, split_scope

_FLUSH_INTERVAL = 20_000  # rows
_TIMERS = {"event": "__event_timers__", "processing": "__processing_timers__"}


class OperatorImage:
    """The initial state of an operator.

    >>> from penstock.state import ValueStateDescriptor
    >>> image = OperatorImage("totals", max_parallelism=8)
    >>> image.put(ValueStateDescriptor("total", int), [{"key": "a", "value": 3}])
    >>> [(state.name, len(flat) // 2) for state, flat in image.states()]
    [('total', 1)]
    """

    def __init__(self, uid: str, max_parallelism: int, now: int | None = None) -> None:
        self.uid = uid
        self._store = Store(MemoryView())
        self._tables = StateTables()
        keys = KeyTable(max_parallelism)
        self.backend = KeyedStateStore(self._store, self._tables, uid, keys)
        self.now = int(time.time() * 1000) if now is None else now
        self.backend.now = self.now
        self.timers = {kind: TimerQueue(self._store, self._timer_table(kind), keys) for kind in _TIMERS}

    def _timer_table(self, kind: str) -> bytes:
        return self._tables.of(self.uid, _TIMERS[kind], "timers", "timers").number.to_bytes(2, "big")

    def handle(self, descriptor: StateDescriptor, scope: str = "key") -> Any:
        """The state handle that a function uses."""
        return self.backend.handle(descriptor, scope)

    def put(self, descriptor: StateDescriptor, rows: Iterable[dict[str, Any]], *, broadcast: bool = False) -> None:
        """Writes rows of a state with `key`, `value`, `map_key` (map state), and `written` (milliseconds, state with a TTL)."""
        handle = self.handle(descriptor, "slot" if broadcast else "key")
        put = _PUT[descriptor.kind]
        for number, row in enumerate(rows, 1):
            if not broadcast:
                self.backend.set_key(row["key"])
            written = row.get("written")
            self.backend.now = self.now if written is None else written
            put(handle, row)
            if number % _FLUSH_INTERVAL == 0:
                self.flush()
        self.flush()

    def put_timers(self, rows: Iterable[dict[str, Any]]) -> None:
        """Writes timers from rows with `key`, `time`, `kind`, and `window_start` and `window_end` (window operators)."""
        for number, row in enumerate(rows, 1):
            start = row.get("window_start")
            queue = self.timers.get(row.get("kind", "event"))
            if queue is None:
                raise StateError(
                    "TIMER_KIND",
                    f"A timer of operator '{self.uid}' has kind {row['kind']!r}. Kinds are 'event' and 'processing'.",
                )
            queue.register(row["time"], row["key"], None if start is None else (start, row["window_end"]))
            if number % _FLUSH_INTERVAL == 0:
                self.flush()
        self.flush()

    def flush(self) -> None:
        """Encodes the values that were written since the last call."""
        self.backend.flush()
        for queue in self.timers.values():
            queue.flush()
        self.backend.unset_key()

    def states(self) -> Iterator[tuple[SavedState, list[bytes]]]:
        """The states with their entries in order, as name, value, name, value, ..."""
        tables = {t.number.to_bytes(2, "big"): t for t in self._tables.all()}
        entries: dict[bytes, list[bytes]] = {number: [] for number in tables}
        changes = self._store.pending_changes()
        for stored in sorted(changes):
            if (value := changes[stored]) is not None:
                entries[stored[:2]] += (stored[2:], value)
        declared = {name for name, _ in self.backend.descriptors()}
        for number, flat in entries.items():
            table = tables[number]
            if flat or table.name in declared:
                yield saved_state(table), flat

    def keys_of(self, state: SavedState, flat: list[bytes]) -> set[bytes]:
        """The encoded keys of entries."""
        scope, _ = split_scope(state.name)
        return set() if state.name == KEY_TABLE else {parse_entry_key(state.kind, scope, s).key for s in flat[::2]}


def _put_value(handle: Any, row: dict[str, Any]) -> None:
    handle.update(row["value"])


def _put_inner(handle: Any, row: dict[str, Any]) -> None:
    handle.inner.update(row["value"])  # sets the accumulated value instead of adding an element


def _put_element(handle: Any, row: dict[str, Any]) -> None:
    handle.add(row["value"])


def _put_entry(handle: Any, row: dict[str, Any]) -> None:
    handle.put(row["map_key"], row["value"])


_PUT = {
    "value": _put_value,
    "reducing": _put_inner,
    "aggregating": _put_inner,
    "list": _put_element,
    "map": _put_entry,
}
