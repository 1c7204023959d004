"""Value, reducing and aggregating state: one value per key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.codec import Codec, is_immutable
from penstock.runtime.state.cell import Cell
from penstock.runtime.store import Store

_MOST_CACHED = 1_000_000
_NEVER = object()


class ValueHandle:
    """One value per key, decoded when first read in a batch and encoded once at its end.

    A value that was changed in place counts as updated: what a function sees never depends on how batches are cut.
    With a cache, decoded values outlive the batch (the hashmap backend); `forget_cache` when somebody else went on.
    """

    __slots__ = ("_cache", "_cell", "_codec", "_loaded", "_raw", "_store", "_table", "_values")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        self._store = store
        self._table = table
        self._cell = cell
        self._codec = codec
        self._values: dict[Any, Any] = {}
        self._loaded: dict[Any, Any] = {}  # as read: what is another object at the end was updated
        self._raw: dict[Any, bytes] = {}  # as read, of values that may be changed in place
        self._cache: dict[Any, tuple[Any, bytes | None]] | None = {} if cached else None

    def value(self) -> Any:
        at = self._cell.at
        try:
            return self._values[at]
        except KeyError:
            return self._load(at)

    def update(self, value: Any) -> None:
        self._values[self._cell.at] = value

    def clear(self) -> None:
        self.update(None)

    def _load(self, at: Any) -> Any:
        if self._cache is not None and (kept := self._cache.pop(at, None)) is not None:
            value, data = kept
            if data is not None:
                self._raw[at] = data
            self._values[at] = self._loaded[at] = value
            return value
        data = self._store.get(self._table + self._cell.prefix(at))
        if data is None:
            value = None
        else:
            value = self._codec.decode(data)
            if not self._codec.immutable and not is_immutable(value):
                self._raw[at] = data
        self._values[at] = self._loaded[at] = value
        return value

    def flush(self) -> None:
        """Writes what changed and forgets the batch."""
        prefix, encode, table, writes = self._cell.prefix, self._codec.encode, self._table, self._store.changes()
        values, raw, loaded = self._values, self._raw, self._loaded
        remember = self._cache is not None and not self._codec.immutable
        for at, value in values.items():
            if value is loaded.get(at, _NEVER):
                if at in raw and (data := encode(value)) != raw[at]:
                    writes[table + prefix(at)] = raw[at] = data
            elif value is None:
                writes[table + prefix(at)] = None
                raw.pop(at, None)
                if self._cache is not None:
                    self._cache.pop(at, None)  # it may never have been read in this batch
            else:
                data = writes[table + prefix(at)] = encode(value)
                if remember:
                    raw[at] = data
                else:
                    raw.pop(at, None)
        if self._cache is not None:
            if len(self._cache) > _MOST_CACHED:
                self._cache.clear()
            self._cache.update((at, (value, raw.get(at))) for at, value in values.items() if value is not None)
        self._end_batch()

    def _end_batch(self) -> None:
        self._values.clear()
        self._loaded.clear()
        self._raw.clear()

    def forget(self) -> None:
        """Drops a batch that failed, and with it all that it may have changed in place."""
        self._end_batch()
        self.forget_cache()

    def forget_cache(self) -> None:
        if self._cache is not None:
            self._cache.clear()


class ReducingHandle:
    """All values added for a key, reduced to one."""

    __slots__ = ("_reduce", "inner")

    def __init__(self, inner: Any, reduce: Callable[[Any, Any], Any]) -> None:
        self.inner = inner
        self._reduce = reduce

    def get(self) -> Any:
        return self.inner.value()

    def add(self, value: Any) -> None:
        before = self.inner.value()
        self.inner.update(value if before is None else self._reduce(before, value))

    def clear(self) -> None:
        self.inner.clear()


class AggregatingHandle:
    """All values added for a key, in one accumulator."""

    __slots__ = ("_function", "inner")

    def __init__(self, inner: Any, function: Any) -> None:
        self.inner = inner
        self._function = function

    def get(self) -> Any:
        accumulator = self.inner.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        accumulator = self.inner.value()
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        self.inner.update(self._function.add(value, accumulator))

    def clear(self) -> None:
        self.inner.clear()
