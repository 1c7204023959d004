"""Checks the keys of map states whose type changed so that only some saved keys are keys of the new type.

The encoded keys stay unchanged. A key such as 2**53 + 1 is no float, so a program with float keys would never find it.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import StateError
from penstock.runtime.state.evolution.compatibility import compare
from penstock.runtime.state.evolution.plain_keys import key_reader
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.keys import encoded_length

_GROUP = 2  # bytes of the key group at the start of the name of an entry


def map_key_check(state: str, saved: Shape, current: Shape) -> Callable[[bytes], None]:
    """Returns a function that raises an error for the name of a map entry whose map key does not fit the current type."""
    convert, read = compare(saved, current).convert, key_reader(saved)
    parts_before = {"slot": 0, "namespace": 2}.get(state.partition(":")[0] if ":" in state else "", 1)

    def check(name: bytes) -> None:
        start = _GROUP
        for _ in range(parts_before):
            start += encoded_length(name, start)
        key = read(name[start:])
        try:
            if convert is not None:
                convert(key)
        except ValueError as error:
            raise StateError(
                "STATE_MIGRATION",
                f"Map key {key!r} does not fit the new type of the map keys: {error}. Change the type of the map keys back, or "
                "use another state name.",
            ) from error

    return check
