"""The names of a savepoint's entries, taken apart: key, window, and what stands behind them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.engine.entry_groups import BY_TIME
from penstock.runtime.keys import encoded_length

Scope = Literal["key", "namespace", "slot"]
GROUP = 2  # bytes of a key group, before the key
TIME = 8  # bytes of a time, and of a hash
TIMER_TABLES = {"__event_timers__": "event", "__processing_timers__": "processing"}
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


def time_of(data: bytes) -> int:
    """A time that stands in the order of its bytes."""
    return int.from_bytes(data, "big") - SIGN
