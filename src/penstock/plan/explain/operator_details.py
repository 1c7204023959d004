"""What there is to say of an operator before it runs: its windows, bounds or pattern, and the names of its state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.plan.aggregation import aggregation_of
from penstock.plan.nodes import (
    BroadcastSpec,
    CachedLookupSpec,
    CoGroupSpec,
    IntervalJoinSpec,
    PatternSpec,
    WindowSpec,
)
from penstock.plan.state_names import state_names

_OBJECT = re.compile(
    r"<(?:[\w.<>]+\.)?(\w+) object at 0x[0-9a-f]+>"
)  # Python's own words for an object: its class is enough


def words(spec: Any) -> str:
    """Windows and what else an operator was told; empty for others.

    >>> words(IntervalJoinSpec(function=None, lower=-10, upper=5, upper_inclusive=False))
    'right from -10 ms to 5 ms (exclusive) around left'
    """
    tell = _WORDS.get(type(spec))
    return "" if tell is None else _OBJECT.sub(r"\1", tell(spec))


def states(spec: Any) -> list[str]:
    """The names of an operator's state, as far as they can be known.

    >>> states(IntervalJoinSpec(function=None, lower=0, upper=1))
    ['left elements', 'right elements']
    """
    found = list(_STATES.get(type(spec), ()))
    if isinstance(spec, BroadcastSpec):
        found += [descriptor.name for descriptor in spec.states]
    holder = spec.window if isinstance(spec, WindowSpec) else spec
    for part in ("function", "reduce", "aggregate", "trigger", "comparator"):
        found += state_names(getattr(holder, part, None))
    return list(dict.fromkeys(found))


def _windows(spec: WindowSpec) -> str:
    window = spec.window
    said = _settings(window)
    if window.late_tag is not None:
        said.append(f"late elements to '{window.late_tag.tag_id}'")
    if (aggregation := aggregation_of(window)) is not None:
        said.append(aggregation.text)
    return ", ".join(said)


def _settings(of: Any) -> list[str]:
    trigger = of.assigner.get_default_trigger(None) if of.trigger is None else of.trigger
    said = [repr(of.assigner), type(trigger).__name__]
    if of.evictor is not None:
        said.append(type(of.evictor).__name__)
    if of.allowed_lateness:
        said.append(f"allowed lateness {of.allowed_lateness} ms")
    return said


def _bounds(spec: IntervalJoinSpec) -> str:
    low = "" if spec.lower_inclusive else " (exclusive)"
    high = "" if spec.upper_inclusive else " (exclusive)"
    said = [f"right from {spec.lower} ms{low} to {spec.upper} ms{high} around left"]
    for side, tag in (("left", spec.left_late_tag), ("right", spec.right_late_tag)):
        if tag is not None:
            said.append(f"late {side} elements to '{tag.tag_id}'")
    return ", ".join(said)


def _pattern(spec: PatternSpec) -> str:
    within = spec.pattern.get_window_size()
    return f"pattern {spec.pattern!r}" + (f", within {within} ms" if within else "")


_WORDS: dict[type, Callable[[Any], str]] = {
    WindowSpec: _windows,
    CoGroupSpec: lambda spec: ", ".join(_settings(spec)),
    IntervalJoinSpec: _bounds,
    PatternSpec: _pattern,
}
_STATES: dict[type, tuple[str, ...]] = {
    WindowSpec: ("window contents",),
    CoGroupSpec: ("window contents",),
    IntervalJoinSpec: ("left elements", "right elements"),
    PatternSpec: ("partial matches",),
    CachedLookupSpec: ("answer",),
}
