"""The current key of an operator, which all its state handles share, and its encoding."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from penstock.errors import StateError
from penstock.runtime.state.keys import KeyTable

_encode = msgspec.msgpack.encode


class NoKey:
    """The value of a cell while no key is current. Hashing it raises an error, so it never becomes a key of an entry."""

    def __hash__(self) -> int:
        raise StateError(
            "STATE_OUTSIDE_KEY",
            "Keyed state was used while no key is current (in open(), in close(), or for a broadcast element). "
            "Use it only while an element or a timer of a key is processed.",
        )


NO_KEY = NoKey()


class Cell(Protocol):
    """The address of the current entry: `at` is its key in memory, `prefix(at)` the start of its key in the store."""

    at: Any

    def prefix(self, at: Any) -> bytes: ...


class KeyCell:
    """Holds the current key."""

    __slots__ = ("_keys", "at")

    def __init__(self, keys: KeyTable) -> None:
        self.at: Any = NO_KEY
        self._keys = keys

    def prefix(self, at: Any) -> bytes:
        return self._keys[at].prefix


class NamespaceCell:
    """Holds the current (key, namespace). A namespace is a tuple of plain values, such as the bounds of a window."""

    __slots__ = ("_keys", "at")

    def __init__(self, keys: KeyTable) -> None:
        self.at: Any = NO_KEY
        self._keys = keys

    def prefix(self, at: Any) -> bytes:
        key, namespace = at
        return self._keys[key].prefix + _encode(namespace)


class SlotCell:
    """The address of state without a key, such as broadcast state; every slot has one copy."""

    __slots__ = ("at",)
    GROUP = b"\xff\xff"

    def __init__(self) -> None:
        self.at: Any = None

    def prefix(self, at: Any) -> bytes:
        return self.GROUP
