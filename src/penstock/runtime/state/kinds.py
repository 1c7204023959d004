"""The table of state kinds: how each kind is read and written, and where the value is in its stored entries.

A new kind of state is a descriptor (`penstock/state.py`), a module with its handle, and a line in `STATE_KINDS`. Evolution, time
to live, savepoints and state statistics work through this table. ARCHITECTURE.md lists the other files of a new kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.runtime.state.handle import StateHandle
from penstock.runtime.state.list import ListHandle, list_value_offset
from penstock.runtime.state.map import MapHandle, map_value_offset
from penstock.runtime.state.timeline import TimelineHandle, timeline_value_offset
from penstock.runtime.state.ttl import TtlListHandle, TtlMapHandle, TtlValueHandle
from penstock.runtime.state.value import AggregatingHandle, ReducingHandle, ValueHandle

ValueOffset = Callable[[bytes], int | None]


def _at_start(data: bytes) -> int | None:
    return 0


@dataclass(frozen=True, slots=True)
class StateKind:
    """One kind of state."""

    name: str  # `StateDescriptor.kind`; stored in checkpoints
    handle: type[StateHandle]  # reads and writes the entries
    ttl_handle: Callable[..., Any] | None = None  # of (handle, StateTtlConfig, clock): lets entries expire
    adapter: Callable[[Any, Any], Any] | None = None  # of (handle, descriptor): what the user function gets
    value_offset: ValueOffset = _at_start  # start of the value in a stored entry; None for an entry without a value


STATE_KINDS: dict[str, StateKind] = {
    kind.name: kind
    for kind in (
        StateKind("value", ValueHandle, TtlValueHandle),
        StateKind("reducing", ValueHandle, TtlValueHandle, ReducingHandle),
        StateKind("aggregating", ValueHandle, TtlValueHandle, AggregatingHandle),
        StateKind("list", ListHandle, TtlListHandle, value_offset=list_value_offset),
        StateKind("map", MapHandle, TtlMapHandle, value_offset=map_value_offset),
        StateKind("timeline", TimelineHandle, value_offset=timeline_value_offset),
    )
}


def value_offset_of(kind: str) -> ValueOffset:
    """Returns what finds the value in the stored entries of a kind; tables that operators write hold only values.

    >>> value_offset_of("list")(b"\\xfe" + bytes(16)), value_offset_of("times")(b"value")
    (None, 0)
    """
    known = STATE_KINDS.get(kind)
    return _at_start if known is None else known.value_offset
