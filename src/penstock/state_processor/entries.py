"""Parses the names of entries in a savepoint: key, window, and suffix."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.engine.slots.entry_groups import BY_TIME
from penstock.runtime.state.keys import encoded_length

Scope = Literal["key", "namespace", "slot"]
GROUP = 2  # bytes of a key group, before the key
TIME = 8  # bytes of a time, and of a hash
TIMER_TABLES = {"__event_timers__": "event", "__processing_timers__": "processing"}
SIGN = 1 << 63


class EntryKey(NamedTuple):
    """The parsed name of an entry."""

    key: bytes  # encoded; empty for broadcast state
    namespace: bytes = b""  # an encoded window
    suffix: bytes = b""  # a map key, a position in a list, or a time


def split_scope(state: str) -> tuple[Scope, str]:
    """The scope of a state (per key, per window or per slot) and its name in the program.

    >>> split_scope("namespace:contents"), split_scope("total")
    (('namespace', 'contents'), ('key', 'total'))
    """
    for scope in ("namespace", "slot"):
        if state.startswith(f"{scope}:"):
            return scope, state[len(scope) + 1 :]
    return "key", state


def parse_entry_key(kind: str, scope: Scope, stored: bytes) -> EntryKey:
    """Parses the name of an entry, without the number of its table."""
    if kind == "keys":
        return EntryKey(stored)
    if kind in BY_TIME:
        end = 2 * TIME + encoded_length(stored, 2 * TIME)
        return EntryKey(stored[2 * TIME : end], stored[end:], stored[:TIME])
    if scope == "slot":
        return EntryKey(b"", b"", stored[GROUP:])
    end = GROUP + encoded_length(stored, GROUP)
    if scope == "key":
        return EntryKey(stored[GROUP:end], b"", stored[end:])
    after = end + encoded_length(stored, end)
    return EntryKey(stored[GROUP:end], stored[end:after], stored[after:])


def decode_time(data: bytes) -> int:
    """Decodes a time whose byte order is its sort order."""
    return int.from_bytes(data, "big") - SIGN
