"""Time to live: handles that store (timestamp, value) pairs in an inner handle, and hide or drop expired entries.

The clock is the batch clock, so no entry expires within a batch, and a replayed batch sees the same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.runtime.state.list import ListHandle
from penstock.runtime.state.map import MapHandle
from penstock.runtime.state.value import ValueHandle
from penstock.ttl import StateTtlConfig, StateVisibility, UpdateType

Clock = Callable[[], int]


class _Expiration:
    """Decides when an entry has expired and what reading it does."""

    __slots__ = ("clock", "hide", "renew_on_read", "ttl")

    def __init__(self, config: StateTtlConfig, clock: Clock) -> None:
        self.clock = clock
        self.ttl = config.ttl
        self.hide = config.visibility is StateVisibility.NeverReturnExpired
        self.renew_on_read = config.update_type is UpdateType.OnReadAndWrite

    def expired(self, timestamp: int) -> bool:
        return timestamp + self.ttl <= self.clock()


class TtlValueHandle:
    """A value that expires."""

    __slots__ = ("_expiration", "_inner")

    def __init__(self, inner: ValueHandle, config: StateTtlConfig, clock: Clock) -> None:
        self._inner = inner
        self._expiration = _Expiration(config, clock)

    def value(self) -> Any:
        pair = self._inner.value()
        if pair is None:
            return None
        if self._expiration.expired(pair[0]):
            self._inner.clear()  # an expired value is returned at most once, as in Flink
            return None if self._expiration.hide else pair[1]
        if self._expiration.renew_on_read:
            self._inner.update((self._expiration.clock(), pair[1]))
        return pair[1]

    def update(self, value: Any) -> None:
        self._inner.update(None if value is None else (self._expiration.clock(), value))

    def clear(self) -> None:
        self._inner.clear()


class TtlListHandle:
    """A list whose elements expire one by one."""

    __slots__ = ("_expiration", "_inner")

    def __init__(self, inner: ListHandle, config: StateTtlConfig, clock: Clock) -> None:
        self._inner = inner
        self._expiration = _Expiration(config, clock)

    def add(self, value: Any) -> None:
        self._inner.add((self._expiration.clock(), value))

    def add_all(self, values: list[Any]) -> None:
        now = self._expiration.clock()
        self._inner.add_all([(now, v) for v in values])

    def update(self, values: list[Any]) -> None:
        now = self._expiration.clock()
        self._inner.update([(now, v) for v in values or ()])

    def get(self) -> Iterator[Any]:
        pairs = list(self._inner.get())
        expiration = self._expiration
        alive = [p for p in pairs if not expiration.expired(p[0])]
        if expiration.renew_on_read and alive:
            now = expiration.clock()
            self._inner.update([(now, v) for _, v in alive])
        elif len(alive) < len(pairs):
            self._inner.update(alive)
        return iter([v for _, v in (alive if expiration.hide else pairs)])

    def __iter__(self) -> Iterator[Any]:
        return self.get()

    def clear(self) -> None:
        self._inner.clear()


class TtlMapHandle:
    """A map whose entries expire one by one."""

    __slots__ = ("_expiration", "_inner")

    def __init__(self, inner: MapHandle, config: StateTtlConfig, clock: Clock) -> None:
        self._inner = inner
        self._expiration = _Expiration(config, clock)

    def _is_visible(self, key: Any, pair: tuple[int, Any]) -> bool:
        """Returns whether an entry is visible. Renews the entry, or drops it if it has expired."""
        if self._expiration.expired(pair[0]):
            self._inner.remove(key)
            return not self._expiration.hide
        if self._expiration.renew_on_read:
            self._inner.put(key, (self._expiration.clock(), pair[1]))
        return True

    def get(self, key: Any) -> Any:
        pair = self._inner.get(key)
        return pair[1] if pair is not None and self._is_visible(key, pair) else None

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def contains(self, key: Any) -> bool:
        pair = self._inner.get(key)
        return pair is not None and self._is_visible(key, pair)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def put(self, key: Any, value: Any) -> None:
        self._inner.put(key, (self._expiration.clock(), value))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        now = self._expiration.clock()
        self._inner.put_all({k: (now, v) for k, v in dict_value.items()})

    def remove(self, key: Any) -> None:
        self._inner.remove(key)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def items(self) -> Iterator[tuple[Any, Any]]:
        for key, pair in list(self._inner.items()):
            if self._is_visible(key, pair):
                yield key, pair[1]

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        return (value for _, value in self.items())

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def is_empty(self) -> bool:
        return next(self.items(), None) is None

    def clear(self) -> None:
        self._inner.clear()
