"""Map state: each map entry is stored separately, so changing one writes only that one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from penstock.runtime.state.cell import Cell
from penstock.runtime.state.codec import Codec, is_immutable
from penstock.runtime.state.handle import StateHandle
from penstock.runtime.state.keys import encode_key, pickle_undecodable, restore_key
from penstock.runtime.state.store import Store, after_prefix

_ABSENT = object()
_MAX_CACHED = 200_000
_NOT_LOADED = object()
_NO_PICKLED_KEY = bytes(4)  # the length of the pickled map key, which is stored before the value


_PUT = """
    at = cell.at
    entries = find(at)
    if entries is None:
        entries = begin(at)
    if key not in entries and type(key) is not int and type(key) is not str:
        encode_key(key)  # raises an error now if it cannot be a key, not at the end of the batch
    entries[key] = value
    changed[at].add(key)
"""


class MapHandle(StateHandle):
    """A map per key. Iteration follows the encoded map keys, so it does not depend on the boundaries of batches.

    Only the entries that the batch has read or written are in memory, as one dict per key.
    """

    __slots__ = ("_changed", "_cleared", "_complete", "_maps", "_stored", "get", "put")

    def __init__(self, store: Store, table: bytes, cell: Cell, codec: Codec, cached: bool = False) -> None:
        super().__init__(store, table, cell, codec, cached)
        self._maps: dict[Any, dict[Any, Any]] = {}  # values; _ABSENT for map keys that do not exist
        self._changed: dict[Any, set[Any]] = defaultdict(set)
        self._stored: dict[Any, dict[Any, bytes]] = {}  # bytes as read, of values that may be changed in place
        self._complete: set[Any] = set()  # keys of which all stored map entries are in memory
        self._cleared: set[Any] = set()

        # `get` and `put` are called for most elements, and these functions are faster than methods.
        self.get: Callable[[Any], Any] = self._converting_getter() if self._changeable else self._getter()
        names = {"cell": cell, "find": self._maps.get, "begin": self._begin, "changed": self._changed}
        self.put: Callable[[Any, Any], None] = codec.writer("key, value", _PUT, {**names, "encode_key": encode_key})

    def _getter(self) -> Callable[[Any], Any]:
        find, cell, begin, load = self._maps.get, self._cell, self._begin, self._load

        def get(key: Any) -> Any:
            entries = find(cell.at)
            if entries is None:
                entries = begin(cell.at)
            value = entries.get(key, _NOT_LOADED)
            if value is _NOT_LOADED:
                value = load(entries, key)
            return None if value is _ABSENT else value

        return get

    def _converting_getter(self) -> Callable[[Any], Any]:
        """Returns the same function for values that may have been changed in place and must then be converted."""
        get, normalise = self._getter(), self._normal

        def get_normal(key: Any) -> Any:
            value = get(key)
            if value is not None and (normal := normalise(value)) is not value:
                value = self._maps[self._cell.at][key] = normal
            return value

        return get_normal

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        entries = self._current()
        if key not in entries:
            encode_key(key)
        entries[key] = _ABSENT
        self._changed[self._cell.at].add(key)

    def contains(self, key: Any) -> bool:
        entries = self._current()
        value = entries[key] if key in entries else self._load(entries, key)
        return value is not _ABSENT

    def items(self) -> Iterator[tuple[Any, Any]]:
        entries = self._load_all()
        present = [(encode_key(k)[0], k) for k, v in entries.items() if v is not _ABSENT]
        present.sort(key=itemgetter(0))
        for _, key in present:
            value = entries.get(key, _ABSENT)
            if value is _ABSENT:  # removed during the iteration
                continue
            if self._changeable and (normal := self._normal(value)) is not value:
                value = entries[key] = normal
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
        self._stored.pop(at, None)
        self._complete.add(at)
        self._cleared.add(at)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    __delitem__, __contains__, __iter__ = remove, contains, keys

    def _current(self) -> dict[Any, Any]:
        at = self._cell.at
        entries = self._maps.get(at)
        return self._begin(at) if entries is None else entries

    def _begin(self, at: Any) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        if self._cache is not None and (cached := self._cache.pop(at, None)) is not None:
            entries, stored, complete = cached
            if stored:
                self._stored[at] = stored
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

    def _load_all(self) -> dict[Any, Any]:
        """Returns the map of the current key with all its stored entries."""
        at, entries = self._cell.at, self._current()
        if at not in self._complete:
            prefix = self._table + self._cell.prefix(at)
            for stored, data in self._store.scan(prefix, after_prefix(prefix)):
                key = restore_key(stored[len(prefix) :], data[4 : map_value_offset(data)])
                if key not in entries:
                    entries[key] = self._decode(at, key, data)
            self._complete.add(at)
        return entries

    def _decode(self, at: Any, key: Any, data: bytes) -> Any:
        value = self._codec.decode(data[map_value_offset(data) :])
        if not self._codec.immutable and not is_immutable(value):
            self._stored.setdefault(at, {})[key] = data
        return value

    def _encode(self, key: Any, decodable: bool, value: Any) -> bytes:
        pickled = pickle_undecodable(key, decodable)
        return len(pickled).to_bytes(4, "big") + pickled + self._codec.encode(value)

    def flush(self) -> None:
        prefix_of, table, writes = self._cell.prefix, self._table, self._store.pending_changes()
        for at in self._cleared:
            prefix = table + prefix_of(at)
            for stored, _ in list(self._store.scan(prefix, after_prefix(prefix))):
                writes[stored] = None
        encode, maps = self._codec.encode_normal, self._maps
        for at, changed in self._changed.items():
            prefix, entries = table + prefix_of(at), maps[at]
            for key in changed:
                encoded, decodable = encode_key(key)
                value = entries[key]
                if value is _ABSENT:
                    writes[prefix + encoded] = None
                elif decodable:
                    writes[prefix + encoded] = _NO_PICKLED_KEY + encode(value)
                else:
                    writes[prefix + encoded] = self._encode(key, decodable, value)
        self._write_changed_in_place()
        if self._cache is not None:
            self._fill_cache(self._cache)
        self._end_batch()

    def _write_changed_in_place(self) -> None:
        writes = self._store.pending_changes()
        for at, stored in self._stored.items():
            prefix, entries, changed = self._table + self._cell.prefix(at), self._maps[at], self._changed.get(at, ())
            for key, before in stored.items():
                value = entries.get(key, _ABSENT)
                if key in changed or value is _ABSENT:
                    continue
                encoded, decodable = encode_key(key)
                data = self._encode(key, decodable, value)
                if data != before and data != self._encode_again(before):
                    writes[prefix + encoded] = stored[key] = data

    def _encode_again(self, data: bytes) -> bytes:
        """Encodes a stored value again. A pickle may change although its value does not, for example the order of a set.

        Broadcast state must not change in the subtasks that read it and remain the same in others.
        """
        at = map_value_offset(data)
        return data[:at] + self._codec.encode(self._codec.decode(data[at:]))

    def _fill_cache(self, cache: dict[Any, Any]) -> None:
        """Caches the maps of the batch; values that may be changed in place together with their stored bytes."""
        if len(cache) > _MAX_CACHED:
            cache.clear()
        writes, immutable = self._store.pending_changes(), self._codec.immutable
        for at, entries in self._maps.items():
            stored = self._stored.get(at, {})
            prefix = self._table + self._cell.prefix(at)
            for key in self._changed.get(at, ()):
                data = writes[prefix + encode_key(key)[0]]
                if data is None or immutable or is_immutable(entries[key]):
                    stored.pop(key, None)
                else:
                    stored[key] = data
            cache[at] = (entries, stored or None, at in self._complete)

    def _end_batch(self) -> None:
        for part in (self._maps, self._changed, self._stored, self._complete, self._cleared):
            part.clear()


def map_value_offset(data: bytes) -> int:
    """Start of the value in a stored entry, after the pickled map key (length and bytes)."""
    return 4 + int.from_bytes(data[:4], "big")
