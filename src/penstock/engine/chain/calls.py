"""How the functions of a chain are called, and what they emit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.engine.flow import Flow
from penstock.engine.steps import TransformStep
from penstock.functions import Function, OutputTag
from penstock.runtime.fitting import fitting
from penstock.runtime.records import column
from penstock.types.check import checked

_METHODS = {
    "map": ("map", "map1", "map2"),
    "flat_map": ("flat_map", "flat_map1", "flat_map2"),
    "filter": ("filter",),
    "process": ("process_element", "process_element1", "process_element2"),
}


def callable_of(step: TransformStep) -> Callable[..., Any]:
    """What is called with each element of a step."""
    function = step.function
    if not isinstance(function, Function):
        return function  # type: ignore[no-any-return]
    alone, *both = _METHODS[step.kind]
    return getattr(function, alone) if hasattr(function, alone) else getattr(function, both[step.input])  # type: ignore[no-any-return]


def results_of(step: TransformStep, call: Callable[..., Any]) -> Callable[[Any, Any], list[Any]]:
    """A call that gives all that it emits at once, as what was declared: from an element and a ctx."""
    results, says = _results_of(step.kind, call), step.declared
    if says is None:
        return results
    if step.kind == "map":
        return lambda value, ctx: checked(says.name, says.line, says.type_info, results(value, ctx))
    fit = partial(fitting, says.name, says.line, says.type_info)
    return lambda value, ctx: fit(results(value, ctx))


def _results_of(kind: str, call: Callable[..., Any]) -> Callable[[Any, Any], list[Any]]:
    if kind == "map":
        return lambda value, _: [call(value)]
    if kind == "filter":
        return lambda value, _: [value] if call(value) else []
    if kind == "process":
        return lambda value, context: list(call(value, context) or ())
    return lambda value, _: list(call(value) or ())


def without_sides(flow: Flow, values: list[Any], picked: list[int]) -> tuple[Flow, dict[str, Flow]]:
    """What elements were turned into: the main output, and side outputs by their tags."""
    main, sides = split_side_outputs(values)
    if not sides:
        return flow.derive(values, picked), {}
    here = column(picked)
    return (
        flow.derive([values[i] for i in main], here[main]),
        {tag: flow.derive([values[i][1] for i in at], here[at]) for tag, at in sides.items()},
    )


def split_side_outputs(values: list[Any]) -> tuple[list[int], dict[str, list[int]]]:
    """Indices of the main output, and of each side output; both empty when there is no side output."""
    if not OutputTag.any_made:
        return [], {}
    tagged = [i for i, v in enumerate(values) if v.__class__ is tuple and v and v[0].__class__ is OutputTag]
    if not tagged:
        return [], {}
    sides: dict[str, list[int]] = {}
    for i in tagged:
        sides.setdefault(values[i][0].tag_id, []).append(i)
    out = set(tagged)
    return [i for i in range(len(values)) if i not in out], sides
