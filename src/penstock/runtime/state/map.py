"""Map state: each entry is stored by itself, so changing one writes that one only."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from penstock.runtime.codec import Codec, is_immutable
from penstock.runtime.keys import encode_key, freeze_key, thaw_key
from penstock.runtime.state.cell import Cell
from penstock.runtime.store import Store, after_prefix

_ABSENT = object()
_MOST_CACHED = 200_000
_NOT_FROZEN = bytes(4)  # the length of a key kept beside its value


class MapHandle:
    """A map per key. Iteration goes by the bytes of the user keys, so it never depends on how batches are cut.

    Of each key's map only the entries that a batch read or wrote are in memory, as one plain dict.
    """

    __slots__ = ("_cache", "_cell", "_changed", "_cleared", "_codec", "_complete", "_maps", "_raw", "_store", "_table")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        self._store = store
        self._table = table
        self._cell = cell
        self._codec = codec
        self._maps: dict[Any, dict[Any, Any]] = {}  # values; _ABSENT: known not to be there
        self._changed: dict[Any, set[Any]] = {}
        self._raw: dict[Any, dict[Any, bytes]] = {}  # as stored, of values that may be changed in place
        self._complete: set[Any] = set()  # all stored entries are in memory
        self._cleared: set[Any] = set()
        self._cache: dict[Any, tuple[dict[Any, Any], dict[Any, bytes] | None, bool]] | None = {} if cached else None

    def get(self, key: Any) -> Any:
        entries = self._maps.get(self._cell.at)
        if entries is None:
            entries = self._begin(self._cell.at)
        try:
            value = entries[key]
        except KeyError:
            value = self._load(entries, key)
        return None if value is _ABSENT else value

    def put(self, key: Any, value: Any) -> None:
        at = self._cell.at
        entries = self._maps.get(at)
        if entries is None:
            entries = self._begin(at)
        entries[key] = value
        changed = self._changed.get(at)
        if changed is None:
            self._changed[at] = {key}
        else:
            changed.add(key)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self.put(key, _ABSENT)

    def contains(self, key: Any) -> bool:
        entries = self._current()
        value = entries[key] if key in entries else self._load(entries, key)
        return value is not _ABSENT

    def items(self) -> Iterator[tuple[Any, Any]]:
        entries = self._whole()
        present = [(encode_key(k)[0], k) for k, v in entries.items() if v is not _ABSENT]
        present.sort(key=itemgetter(0))
        for _, key in present:
            value = entries.get(key, _ABSENT)
            if value is not _ABSENT:  # removed while iterating
                yield key, value

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        return next(self.items(), None) is None

    def clear(self) -> None:
        at = self._cell.at
        self._current().clear()
        self._changed.pop(at, None)
        self._raw.pop(at, None)
        self._complete.add(at)
        self._cleared.add(at)

    __getitem__, __setitem__, __delitem__, __contains__, __iter__ = get, put, remove, contains, keys

    def _current(self) -> dict[Any, Any]:
        at = self._cell.at
        entries = self._maps.get(at)
        return self._begin(at) if entries is None else entries

    def _begin(self, at: Any) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        if self._cache is not None and (kept := self._cache.pop(at, None)) is not None:
            entries, raw, complete = kept
            if raw:
                self._raw[at] = raw
            if complete:
                self._complete.add(at)
        self._maps[at] = entries
        return entries

    def _load(self, entries: dict[Any, Any], key: Any) -> Any:
        at = self._cell.at
        value: Any = _ABSENT
        if at not in self._complete:
            data = self._store.get(self._table + self._cell.prefix(at) + encode_key(key)[0])
            if data is not None:
                value = self._decode(at, key, data)
        entries[key] = value
        return value

    def _decode(self, at: Any, key: Any, data: bytes) -> Any:
        value = self._codec.decode(data[_frozen_end(data) :])
        if not self._codec.immutable and not is_immutable(value):
            self._raw.setdefault(at, {})[key] = data
        return value

    def _whole(self) -> dict[Any, Any]:
        """The current key's map with all its stored entries."""
        at, entries = self._cell.at, self._current()
        if at not in self._complete:
            prefix = self._table + self._cell.prefix(at)
            for stored, data in self._store.scan(prefix, after_prefix(prefix)):
                key = thaw_key(stored[len(prefix) :], data[4 : _frozen_end(data)])
                if key not in entries:
                    entries[key] = self._decode(at, key, data)
            self._complete.add(at)
        return entries

    def flush(self) -> None:
        """Writes what changed and forgets the batch."""
        prefix_of, table, writes = self._cell.prefix, self._table, self._store.changes()
        for at in self._cleared:
            prefix = table + prefix_of(at)
            for stored, _ in list(self._store.scan(prefix, after_prefix(prefix))):
                writes[stored] = None
        encode, maps = self._codec.encode, self._maps
        for at, changed in self._changed.items():
            prefix, entries = table + prefix_of(at), maps[at]
            for key in changed:
                encoded, plain = encode_key(key)
                value = entries[key]
                if value is _ABSENT:
                    writes[prefix + encoded] = None
                elif plain:
                    writes[prefix + encoded] = _NOT_FROZEN + encode(value)
                else:
                    writes[prefix + encoded] = self._encode(key, plain, value)
        self._flush_changed_in_place()
        if self._cache is not None:
            self._keep_cache()
        self._end_batch()

    def _flush_changed_in_place(self) -> None:
        writes = self._store.changes()
        for at, raw in self._raw.items():
            prefix, entries, changed = self._table + self._cell.prefix(at), self._maps[at], self._changed.get(at, ())
            for key, before in raw.items():
                value = entries.get(key, _ABSENT)
                if key in changed or value is _ABSENT:
                    continue
                encoded, plain = encode_key(key)
                if (now := self._encode(key, plain, value)) != before:
                    writes[prefix + encoded] = raw[key] = now

    def _keep_cache(self) -> None:
        """Values that may be changed in place are kept with what is stored of them now."""
        assert self._cache is not None
        if len(self._cache) > _MOST_CACHED:
            self._cache.clear()
        writes = self._store.changes()
        for at, entries in self._maps.items():
            raw = self._raw.get(at, {})
            prefix = self._table + self._cell.prefix(at)
            for key in self._changed.get(at, ()):
                _note(
                    raw, key, writes[prefix + encode_key(key)[0]], self._codec.immutable or is_immutable(entries[key])
                )
            self._cache[at] = (entries, raw or None, at in self._complete)

    def _end_batch(self) -> None:
        for part in (self._maps, self._changed, self._raw, self._complete, self._cleared):
            part.clear()

    def forget(self) -> None:
        """Drops a batch that failed, and with it all that it may have changed in place."""
        self._end_batch()
        self.forget_cache()

    def forget_cache(self) -> None:
        if self._cache is not None:
            self._cache.clear()

    def _encode(self, key: Any, plain: bool, value: Any) -> bytes:
        frozen = freeze_key(key, plain)
        return len(frozen).to_bytes(4, "big") + frozen + self._codec.encode(value)


def _note(raw: dict[Any, bytes], key: Any, data: bytes | None, immutable: bool) -> None:
    """Remembers what was written of a value that may be changed in place."""
    if data is None or immutable:
        raw.pop(key, None)
    else:
        raw[key] = data


def _frozen_end(data: bytes) -> int:
    return 4 + int.from_bytes(data[:4], "big")
