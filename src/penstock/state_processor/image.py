"""State of an operator in the making: the same handles and timers as in a running job, over a store in memory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.errors import StateError
from penstock.runtime.keys import KeyTable
from penstock.runtime.state.backend import KEY_TABLE, StateBackend, Tables
from penstock.runtime.store import MemoryBase, Store
from penstock.runtime.timers import TimerQueue
from penstock.savepoints import SavedState
from penstock.savepoints.evolution import saved_state
from penstock.state import StateDescriptor
from penstock.state_processor.entries import place_of, scope_of

_FLUSHED_AFTER = 20_000  # rows whose values are held decoded
_TIMERS = {"event": "__event_timers__", "processing": "__processing_timers__"}


class OperatorImage:
    """What an operator is to start with.

    >>> from penstock.state import ValueStateDescriptor
    >>> image = OperatorImage("totals", max_parallelism=8)
    >>> image.put(ValueStateDescriptor("total", int), [{"key": "a", "value": 3}])
    >>> [(state.name, len(flat) // 2) for state, flat in image.states()]
    [('total', 1)]
    """

    def __init__(self, uid: str, max_parallelism: int, now: int | None = None) -> None:
        self.uid = uid
        self._store = Store(MemoryBase())
        self._tables = Tables()
        keys = KeyTable(max_parallelism)
        self.backend = StateBackend(self._store, self._tables, uid, keys)
        self.now = int(time.time() * 1000) if now is None else now
        self.backend.now = self.now
        self.timers = {kind: TimerQueue(self._store, self._timer_table(kind), keys) for kind in _TIMERS}

    def _timer_table(self, kind: str) -> bytes:
        return self._tables.of(self.uid, _TIMERS[kind], "timers", "timers").number.to_bytes(2, "big")

    def handle(self, descriptor: StateDescriptor, scope: str = "key") -> Any:
        """The handle of a state, as a running function gets it."""
        return self.backend.handle(descriptor, scope)

    def put(self, descriptor: StateDescriptor, rows: Iterable[dict[str, Any]], *, broadcast: bool = False) -> None:
        """Rows of a state: `key`, `value`, and `map_key` of a map; `written` (milliseconds) where it has a time to live."""
        handle = self.handle(descriptor, "slot" if broadcast else "key")
        put = _PUT[descriptor.kind]
        for number, row in enumerate(rows, 1):
            if not broadcast:
                self.backend.set_key(row["key"])
            written = row.get("written")
            self.backend.now = self.now if written is None else written
            put(handle, row)
            if number % _FLUSHED_AFTER == 0:
                self.flush()
        self.flush()

    def put_timers(self, rows: Iterable[dict[str, Any]]) -> None:
        """Rows of timers: `key`, `time`, `kind`, and `window_start` and `window_end` of an operator with windows."""
        for number, row in enumerate(rows, 1):
            start = row.get("window_start")
            queue = self.timers.get(row.get("kind", "event"))
            if queue is None:
                raise StateError(
                    "TIMER_KIND",
                    f"A timer of kind {row['kind']!r} was given for operator '{self.uid}'; kinds are 'event' and 'processing'.",
                )
            queue.register(row["time"], row["key"], None if start is None else (start, row["window_end"]))
            if number % _FLUSHED_AFTER == 0:
                self.flush()
        self.flush()

    def flush(self) -> None:
        """Encodes what was put."""
        self.backend.flush()
        for queue in self.timers.values():
            queue.flush()
        self.backend.unset_key()

    def states(self) -> Iterator[tuple[SavedState, list[bytes]]]:
        """The states that have entries, with names and values of these by turns, in order."""
        tables = {t.number.to_bytes(2, "big"): t for t in self._tables.all()}
        found: dict[bytes, list[bytes]] = {number: [] for number in tables}
        changes = self._store.changes()
        for stored in sorted(changes):
            if (value := changes[stored]) is not None:
                found[stored[:2]] += (stored[2:], value)
        asked = {name for name, _ in self.backend.descriptors()}
        for number, flat in found.items():
            table = tables[number]
            if flat or table.name in asked:
                yield saved_state(table), flat

    def keys_of(self, state: SavedState, flat: list[bytes]) -> set[bytes]:
        """The keys that have entries, as bytes."""
        scope, _ = scope_of(state.name)
        return set() if state.name == KEY_TABLE else {place_of(state.kind, scope, s).key for s in flat[::2]}


def _put_value(handle: Any, row: dict[str, Any]) -> None:
    handle.update(row["value"])


def _put_inner(handle: Any, row: dict[str, Any]) -> None:
    handle.inner.update(row["value"])  # what was reduced so far, not one more element


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
