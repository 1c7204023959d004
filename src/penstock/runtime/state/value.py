"""Value, reducing and aggregating state: one value per key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.state.cell import Cell
from penstock.runtime.state.codec import Codec, is_immutable
from penstock.runtime.state.handle import StateHandle
from penstock.runtime.state.store import Store

_MAX_CACHED = 1_000_000
_NOT_LOADED = object()


class ValueHandle(StateHandle):
    """One value per key, decoded when first read in a batch and encoded once at the end of the batch.

    Values are converted to their declared type when they are updated. A value that was changed in place counts as updated, so
    that results do not depend on the boundaries of batches.
    """

    __slots__ = ("_loaded", "_stored", "_values", "read", "update", "value")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        super().__init__(store, table, cell, codec, cached)
        self._values: dict[Any, Any] = {}
        self.update: Callable[[Any], None] = codec.writer(
            "value", "values[cell.at] = value", {"values": self._values, "cell": cell}
        )
        # Returns the value without a check whether it was changed in place, for operators that change it themselves.
        self.read: Callable[[], Any] = self._reader()
        self.value: Callable[[], Any] = self._converting_reader() if self._changeable else self.read
        self._loaded: dict[Any, Any] = {}  # as read; a different object at the end of the batch was updated
        self._stored: dict[Any, bytes] = {}  # bytes as read, of values that may be changed in place

    def _reader(self) -> Callable[[], Any]:
        """Returns the function that reads the current value. A closure is faster than a method."""
        find, cell, load = self._values.get, self._cell, self._load

        def read() -> Any:
            value = find(cell.at, _NOT_LOADED)
            return load(cell.at) if value is _NOT_LOADED else value

        return read

    def _converting_reader(self) -> Callable[[], Any]:
        """Returns the same function for values that may have been changed in place and must then be converted."""
        values, cell, load, normal = self._values, self._cell, self._load, self._normal

        def read() -> Any:
            at = cell.at
            try:
                found = values[at]
            except KeyError:
                return load(at)
            value = normal(found)
            if value is not found:
                values[at] = value
            return value

        return read

    def write(self, value: Any) -> None:
        """Sets a value that has the declared type already."""
        self._values[self._cell.at] = value

    def clear(self) -> None:
        self._values[self._cell.at] = None

    def _load(self, at: Any) -> Any:
        if self._cache is not None and (cached := self._cache.pop(at, None)) is not None:
            value, data = cached
            if data is not None:
                self._stored[at] = data
            self._values[at] = self._loaded[at] = value
            return value
        data = self._store.get(self._table + self._cell.prefix(at))
        if data is None:
            value = None
        else:
            value = self._codec.decode(data)
            if not self._codec.immutable and not is_immutable(value):
                self._stored[at] = data
        self._values[at] = self._loaded[at] = value
        return value

    def flush(self) -> None:
        prefix, encode, table = self._cell.prefix, self._codec.encode_normal, self._table
        writes = self._store.pending_changes()
        values, stored, loaded = self._values, self._stored, self._loaded
        caches_bytes = self._cache is not None and not self._codec.immutable
        for at, value in values.items():
            if value is loaded.get(at, _NOT_LOADED):
                if at in stored and (data := encode(value)) != stored[at]:
                    writes[table + prefix(at)] = stored[at] = data
            elif value is None:
                writes[table + prefix(at)] = None
                stored.pop(at, None)
                if self._cache is not None:
                    self._cache.pop(at, None)  # still there if the value was not read in this batch
            else:
                data = writes[table + prefix(at)] = encode(value)
                if caches_bytes:
                    stored[at] = data
                else:
                    stored.pop(at, None)
        if self._cache is not None:
            if len(self._cache) > _MAX_CACHED:
                self._cache.clear()
            self._cache.update((at, (value, stored.get(at))) for at, value in values.items() if value is not None)
        self._end_batch()

    def _end_batch(self) -> None:
        self._values.clear()
        self._loaded.clear()
        self._stored.clear()


class ReducingHandle:
    """The values added for a key, reduced to one value."""

    __slots__ = ("_reduce", "inner")

    def __init__(self, inner: Any, descriptor: Any) -> None:
        self.inner = inner
        function = descriptor.reduce_function
        self._reduce: Callable[[Any, Any], Any] = getattr(function, "reduce", function)

    def get(self) -> Any:
        return self.inner.value()

    def add(self, value: Any) -> None:
        before = self.inner.value()
        self.inner.update(value if before is None else self._reduce(before, value))

    def clear(self) -> None:
        self.inner.clear()


class AggregatingHandle:
    """The values added for a key, in one accumulator."""

    __slots__ = ("_function", "inner")

    def __init__(self, inner: Any, descriptor: Any) -> None:
        self.inner = inner
        self._function = descriptor.agg_function

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
