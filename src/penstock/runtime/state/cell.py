"""What the state handles of an operator share: the current key, and how it becomes bytes."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from penstock.errors import StateError
from penstock.runtime.keys import KeyTable

_encode = msgspec.msgpack.encode


class NoKey:
    """Stands where no key is current; using it as a key is an error."""

    def __hash__(self) -> int:
        raise StateError(
            "STATE_OUTSIDE_KEY",
            "Keyed state was used where no key is current (in open(), close(), or a broadcast element). "
            "Use it while an element or a timer of a key is processed.",
        )


NO_KEY = NoKey()


class Cell(Protocol):
    """The address of the current entry: `at` finds it in memory, `prefix(at)` in the store."""

    at: Any

    def prefix(self, at: Any) -> bytes: ...


class KeyCell:
    """The current key."""

    __slots__ = ("_keys", "at")

    def __init__(self, keys: KeyTable) -> None:
        self.at: Any = NO_KEY
        self._keys = keys

    def prefix(self, at: Any) -> bytes:
        return self._keys[at].prefix


class NamespaceCell:
    """The current (key, namespace); a namespace is a tuple of plain values, such as a window's bounds."""

    __slots__ = ("_keys", "at")

    def __init__(self, keys: KeyTable) -> None:
        self.at: Any = NO_KEY
        self._keys = keys

    def prefix(self, at: Any) -> bytes:
        key, namespace = at
        return self._keys[key].prefix + _encode(namespace)


class SlotCell:
    """No key at all: what every slot has one copy of, such as broadcast state."""

    __slots__ = ("at",)
    GROUP = b"\xff\xff"

    def __init__(self) -> None:
        self.at: Any = None

    def prefix(self, at: Any) -> bytes:
        return self.GROUP
