"""Map state: each entry is stored by itself, so changing one writes that one only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.codec import Codec, is_immutable
from penstock.runtime.keys import encode_key, freeze_key, thaw_key
from penstock.runtime.state.cell import Cell
from penstock.runtime.store import Store, after_prefix

_ABSENT = object()
_MOST_CACHED = 200_000
_NOT_FROZEN = bytes(4)  # the length of a key kept beside its value


class _Kept:
    """One key's map in a batch: entries read or written so far."""

    __slots__ = ("changed", "cleared", "complete", "entries", "raw")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}  # _ABSENT: known not to be there
        self.changed: set[Any] = set()
        self.raw: dict[Any, bytes] = {}
        self.complete = False  # all stored entries are in `entries`
        self.cleared = False


class MapHandle:
    """A map per key. Iteration goes by the bytes of the user keys, so it never depends on how batches are cut."""

    __slots__ = ("_cache", "_cell", "_codec", "_maps", "_store", "_table")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        self._store = store
        self._table = table
        self._cell = cell
        self._codec = codec
        self._maps: dict[Any, _Kept] = {}
        self._cache: dict[Any, _Kept] | None = {} if cached else None

    def _current(self) -> _Kept:
        at = self._cell.at
        kept = self._maps.get(at)
        if kept is None:
            kept = None if self._cache is None else self._cache.pop(at, None)
            kept = self._maps[at] = _Kept() if kept is None else kept
        return kept

    def get(self, key: Any) -> Any:
        kept = self._current()
        try:
            value = kept.entries[key]
        except KeyError:
            value = self._load(kept, key)
        return None if value is _ABSENT else value

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def put(self, key: Any, value: Any) -> None:
        kept = self._current()
        kept.entries[key] = value
        kept.changed.add(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        kept = self._current()
        kept.entries.update(dict_value)
        kept.changed.update(dict_value)

    def remove(self, key: Any) -> None:
        self.put(key, _ABSENT)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def contains(self, key: Any) -> bool:
        kept = self._current()
        value = kept.entries[key] if key in kept.entries else self._load(kept, key)
        return value is not _ABSENT

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def items(self) -> Iterator[tuple[Any, Any]]:
        kept = self._complete()
        present = [(encode_key(k)[0], k) for k, v in kept.entries.items() if v is not _ABSENT]
        present.sort(key=lambda pair: pair[0])
        for _, key in present:
            value = kept.entries.get(key, _ABSENT)
            if value is not _ABSENT:  # removed while iterating
                yield key, value

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def is_empty(self) -> bool:
        return next(self.items(), None) is None

    def clear(self) -> None:
        kept = self._current()
        kept.entries.clear()
        kept.changed.clear()
        kept.raw.clear()
        kept.cleared = kept.complete = True

    def _load(self, kept: _Kept, key: Any) -> Any:
        value: Any = _ABSENT
        if not kept.complete:
            data = self._store.get(self._table + self._cell.prefix(self._cell.at) + encode_key(key)[0])
            if data is not None:
                value = self._decode(kept, key, data)
        kept.entries[key] = value
        return value

    def _decode(self, kept: _Kept, key: Any, data: bytes) -> Any:
        value = self._codec.decode(data[_frozen_end(data) :])
        if not self._codec.immutable and not is_immutable(value):
            kept.raw[key] = data
        return value

    def _complete(self) -> _Kept:
        kept = self._current()
        if not kept.complete:
            prefix = self._table + self._cell.prefix(self._cell.at)
            for stored, data in self._store.scan(prefix, after_prefix(prefix)):
                end = _frozen_end(data)
                key = thaw_key(stored[len(prefix) :], data[4:end])
                if key not in kept.entries:
                    kept.entries[key] = self._decode(kept, key, data)
            kept.complete = True
        return kept

    def flush(self) -> None:
        """Writes what changed and forgets the batch."""
        store, prefix_of, table, writes = self._store, self._cell.prefix, self._table, self._store.changes()
        encode_value = self._codec.encode
        for at, kept in self._maps.items():
            prefix = table + prefix_of(at)
            if kept.cleared:
                for stored, _ in list(store.scan(prefix, after_prefix(prefix))):
                    store.delete(stored)
            for key in kept.changed:
                encoded, plain = encode_key(key)
                value = kept.entries[key]
                if value is _ABSENT:
                    writes[prefix + encoded] = None
                elif plain:
                    writes[prefix + encoded] = _NOT_FROZEN + encode_value(value)
                else:
                    writes[prefix + encoded] = self._encode(key, plain, value)
                if self._cache is not None or key in kept.raw:
                    _note(kept, key, writes[prefix + encoded], self._codec.immutable or is_immutable(value))
            for key, before in kept.raw.items():
                value = kept.entries.get(key, _ABSENT)
                if key in kept.changed or value is _ABSENT:
                    continue
                encoded, plain = encode_key(key)
                if (now := self._encode(key, plain, value)) != before:
                    store.put(prefix + encoded, now)
                    kept.raw[key] = now
            kept.changed.clear()
            kept.cleared = False
        if self._cache is not None:
            if len(self._cache) > _MOST_CACHED:
                self._cache.clear()
            self._cache.update(self._maps)
        self._maps.clear()

    def forget(self) -> None:
        """Drops a batch that failed, and with it all that it may have changed in place."""
        self._maps.clear()
        self.forget_cache()

    def forget_cache(self) -> None:
        if self._cache is not None:
            self._cache.clear()

    def _encode(self, key: Any, plain: bool, value: Any) -> bytes:
        frozen = freeze_key(key, plain)
        return len(frozen).to_bytes(4, "big") + frozen + self._codec.encode(value)


def _note(kept: _Kept, key: Any, data: bytes | None, immutable: bool) -> None:
    """Remembers what was written of a value that may be changed in place."""
    if data is None or immutable:
        kept.raw.pop(key, None)
    else:
        kept.raw[key] = data


def _frozen_end(data: bytes) -> int:
    return 4 + int.from_bytes(data[:4], "big")
