"""The names of a savepoint's entries, taken apart: key, window, and what stands behind them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.runtime.keys import encoded_length, key_group, key_hash
from penstock.runtime.state.cell import SlotCell

Scope = Literal["key", "namespace", "slot"]
GROUP = 2  # bytes of a key group, before the key
TIME = 8  # bytes of a time, and of a hash
KEY_TABLE = "__keys__"
TIMER_TABLES = {"__event_timers__": "event", "__processing_timers__": "processing"}
BY_TIME = ("timers", "times")  # kinds of tables whose entries begin with a time
SIGN = 1 << 63


class Place(NamedTuple):
    """Where an entry stands: whose it is, and what names it there."""

    key: bytes  # as keys are encoded; empty for broadcast state
    namespace: bytes = b""  # of a window, encoded
    rest: bytes = b""  # a map's key, a place in a list, a time


def scope_of(state: str) -> tuple[Scope, str]:
    """Whether a state is kept per key, per window or per slot, and its name as the program gave it.

    >>> scope_of("namespace:contents"), scope_of("total")
    (('namespace', 'contents'), ('key', 'total'))
    """
    for scope in ("namespace", "slot"):
        if state.startswith(f"{scope}:"):
            return scope, state[len(scope) + 1 :]
    return "key", state


def place_of(kind: str, scope: Scope, stored: bytes) -> Place:
    """Takes the name of an entry apart; it is without the number of its table."""
    if kind == "keys":
        return Place(stored)
    if kind in BY_TIME:
        end = 2 * TIME + encoded_length(stored, 2 * TIME)
        return Place(stored[2 * TIME : end], stored[end:], stored[:TIME])
    if scope == "slot":
        return Place(b"", b"", stored[GROUP:])
    end = GROUP + encoded_length(stored, GROUP)
    if scope == "key":
        return Place(stored[GROUP:end], b"", stored[end:])
    after = end + encoded_length(stored, end)
    return Place(stored[GROUP:end], stored[end:after], stored[after:])


def group_of(kind: str, stored: bytes, max_parallelism: int) -> int | None:
    """The key group of an entry; None of broadcast state, of which every slot has a copy."""
    if kind in BY_TIME:
        return key_group(int.from_bytes(stored[TIME : 2 * TIME], "big"), max_parallelism)
    if kind == "keys":
        return key_group(key_hash(stored), max_parallelism)
    return None if stored[:GROUP] == SlotCell.GROUP else int.from_bytes(stored[:GROUP], "big")


def regrouped(kind: str, stored: bytes, max_parallelism: int) -> bytes:
    """The name of an entry where there are other key groups."""
    if kind in BY_TIME or kind == "keys" or stored[:GROUP] == SlotCell.GROUP:
        return stored
    key = stored[GROUP : GROUP + encoded_length(stored, GROUP)]
    return key_group(key_hash(key), max_parallelism).to_bytes(GROUP, "big") + stored[GROUP:]


def time_of(data: bytes) -> int:
    """A time that stands in the order of its bytes."""
    return int.from_bytes(data, "big") - SIGN
