"""The sessions of keys in state: which sessions a key has, and the content of each session by its end."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import unpack
from penstock.runtime.relational.state.time_ordered_table import TimedEntry, TimeOrderedTable
from penstock.runtime.relational.windows.due import WindowClock
from penstock.runtime.relational.windows.sessions import Session

_SIGN = 1 << 63
_encode = msgspec.msgpack.Encoder().encode


class KeySessions:
    """The sessions of one key: (start, end) of each, and the next free number of the key."""

    __slots__ = ("bounds", "next_number", "prefix", "suffix")

    def __init__(self, prefix: bytes, suffix: bytes, stored: bytes | None) -> None:
        self.prefix = prefix
        self.suffix = suffix
        number, found = (0, []) if stored is None else unpack(stored)
        self.next_number: int = number
        self.bounds: list[tuple[int, int]] = [(start, end) for start, end in found]


class SessionTable:
    """The sessions of all keys of a slot. `timed` holds the content of sessions, ordered by their ends."""

    def __init__(self, context: OperatorContext, name: str, schema: str) -> None:
        self._index = KeyedTable(context, f"{name} of keys", "sessions")
        self.timed = TimeOrderedTable(context, name, schema)

    def of_keys(self, keys: Sequence[bytes]) -> list[KeySessions]:
        """Returns the sessions of distinct keys."""
        prefixes = self._index.prefixes(keys)
        stored = self._index.get_many(prefixes)
        return [KeySessions(*of_key) for of_key in zip(prefixes, self.timed.suffixes(keys), stored, strict=True)]

    def content(self, of_key: KeySessions, number: int) -> bytes:
        """Returns the content of a stored session of a key."""
        value = self.timed.get(self._entry(of_key, *of_key.bounds[number]))
        assert value is not None
        return value

    def write(self, of_key: KeySessions, found: Sequence[Session], contents: Sequence[bytes]) -> None:
        """Replaces the sessions of a key that `found` contains by `found`, which has rows of this batch, with their contents."""
        replaced = {~part for session in found for part in session.parts if part < 0}
        for number in replaced:
            self.timed.put(self._entry(of_key, *of_key.bounds[number]), None)
        for session, content in zip(found, contents, strict=True):
            self.timed.put(self._entry(of_key, session.start, session.end), content)
        kept = [bounds for i, bounds in enumerate(of_key.bounds) if i not in replaced]
        of_key.bounds = [*kept, *((session.start, session.end) for session in found)]
        self._index.put(of_key.prefix, _encode((of_key.next_number, of_key.bounds)))

    def take(self, clock: WindowClock, now: int) -> list[tuple[TimedEntry, int]]:
        """Returns the entries of sessions that have ended, with their starts, and deletes them."""
        entries = clock.take(self.timed, now)
        ended: dict[bytes, set[tuple[int, int]]] = {}
        result: list[tuple[TimedEntry, int]] = []
        for entry in entries:
            start = int.from_bytes(entry.sub_key, "big") - _SIGN
            ended.setdefault(entry.key, set()).add((start, entry.time))
            result.append((entry, start))
        keys = list(ended)
        for key, of_key in zip(keys, self.of_keys(keys), strict=True):
            kept = [bounds for bounds in of_key.bounds if bounds not in ended[key]]
            self._index.put(of_key.prefix, _encode((of_key.next_number, kept)) if kept else None)
        return result

    def _entry(self, of_key: KeySessions, start: int, end: int) -> bytes:
        return self.timed.entry(end, of_key.suffix, (start + _SIGN).to_bytes(8, "big"))
