"""Details of operators for `explain`: windows, bounds or patterns, and state names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.plan.aggregation import aggregation_of
from penstock.plan.explain.state_names import state_names
from penstock.plan.nodes import (
    BroadcastSpec,
    CachedLookupSpec,
    CoGroupSpec,
    IntervalJoinSpec,
    PatternSpec,
    WindowSpec,
)

_OBJECT = re.compile(r"<(?:[\w.<>]+\.)?(\w+) object at 0x[0-9a-f]+>")  # the default repr, replaced by the class name


def describe_operator(spec: Any) -> str:
    """The windows, bounds or pattern of an operator; empty for other operators.

    >>> describe_operator(IntervalJoinSpec(function=None, lower=-10, upper=5, upper_inclusive=False))
    'right from -10 ms to 5 ms (exclusive) around left'
    """
    describe = _DESCRIPTIONS.get(type(spec))
    return "" if describe is None else _OBJECT.sub(r"\1", describe(spec))


def operator_state_names(spec: Any) -> list[str]:
    """The names of the states of an operator, as far as they are known before it runs.

    >>> operator_state_names(IntervalJoinSpec(function=None, lower=0, upper=1))
    ['left elements', 'right elements']
    """
    names = list(_STATES.get(type(spec), ()))
    if isinstance(spec, BroadcastSpec):
        names += [descriptor.name for descriptor in spec.states]
    holder = spec.window if isinstance(spec, WindowSpec) else spec
    for attribute in ("function", "reduce", "aggregate", "trigger", "comparator"):
        names += state_names(getattr(holder, attribute, None))
    return list(dict.fromkeys(names))


def _windows(spec: WindowSpec) -> str:
    window = spec.window
    parts = _settings(window)
    if window.late_tag is not None:
        parts.append(f"late elements to '{window.late_tag.tag_id}'")
    if (aggregation := aggregation_of(window)) is not None:
        parts.append(aggregation.text)
    return ", ".join(parts)


def _settings(of: Any) -> list[str]:
    trigger = of.assigner.get_default_trigger(None) if of.trigger is None else of.trigger
    parts = [repr(of.assigner), type(trigger).__name__]
    if of.evictor is not None:
        parts.append(type(of.evictor).__name__)
    if of.allowed_lateness:
        parts.append(f"allowed lateness {of.allowed_lateness} ms")
    return parts


def _bounds(spec: IntervalJoinSpec) -> str:
    low = "" if spec.lower_inclusive else " (exclusive)"
    high = "" if spec.upper_inclusive else " (exclusive)"
    parts = [f"right from {spec.lower} ms{low} to {spec.upper} ms{high} around left"]
    for side, tag in (("left", spec.left_late_tag), ("right", spec.right_late_tag)):
        if tag is not None:
            parts.append(f"late {side} elements to '{tag.tag_id}'")
    return ", ".join(parts)


def _pattern(spec: PatternSpec) -> str:
    within = spec.pattern.get_window_size()
    return f"pattern {spec.pattern!r}" + (f", within {within} ms" if within else "")


_DESCRIPTIONS: dict[type, Callable[[Any], str]] = {
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
