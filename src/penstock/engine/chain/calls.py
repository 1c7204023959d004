"""Calls of the functions in a chain, and the separation of their side outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

from penstock.engine.chain.flow import Flow
from penstock.engine.program.steps import TransformStep
from penstock.functions import Function, OutputTag
from penstock.runtime.loop.call_results import collect_results
from penstock.runtime.loop.element_copy import copy_element
from penstock.runtime.loop.emission_check import check_emissions
from penstock.runtime.loop.records import column
from penstock.types.check import convert_elements

_METHODS = {
    "map": ("map", "map1", "map2"),
    "flat_map": ("flat_map", "flat_map1", "flat_map2"),
    "filter": ("filter",),
    "process": ("process_element", "process_element1", "process_element2"),
}


def element_callable(step: TransformStep) -> Callable[..., Any]:
    """The callable of a step: the user's function, or the method of a function class."""
    function = step.function
    if not isinstance(function, Function):
        return function  # type: ignore[no-any-return]
    alone, *both = _METHODS[step.kind]
    return getattr(function, alone) if hasattr(function, alone) else getattr(function, both[step.input])  # type: ignore[no-any-return]


def result_list_callable(
    step: TransformStep, call: Callable[..., Any], copies: bool
) -> Callable[[Any, Any], list[Any]]:
    """A callable that takes an element and a ctx and returns all results as a list, checked against the declared type.

    With `copies`, results that can be changed in place are copied.
    """
    results, declared = _result_list(step.kind, call, copies), step.declared
    if declared is None:
        return results
    if step.kind == "map":
        return lambda value, ctx: convert_elements(
            declared.name, declared.line, declared.type_info, results(value, ctx)
        )
    fit = partial(check_emissions, declared.name, declared.line, declared.type_info)
    return lambda value, ctx: fit(results(value, ctx))


def _result_list(kind: str, call: Callable[..., Any], copies: bool) -> Callable[[Any, Any], list[Any]]:
    if kind == "map":
        return lambda value, _: [copy_element(call(value)) if copies else call(value)]
    if kind == "filter":
        return lambda value, _: [value] if call(value) else []
    if kind == "process":
        return lambda value, context: collect_results(call(value, context), copies)
    return lambda value, _: collect_results(call(value), copies)


def separate_side_outputs(flow: Flow, values: list[Any], picked: list[int]) -> tuple[Flow, dict[str, Flow]]:
    """The results of a step: the main output, and side outputs by tag."""
    main, sides = split_side_outputs(values)
    if not sides:
        return flow.derive(values, picked), {}
    origins = column(picked)
    return (
        flow.derive([values[i] for i in main], origins[main]),
        {tag: flow.derive([values[i][1] for i in at], origins[at]) for tag, at in sides.items()},
    )


def split_side_outputs(values: list[Any]) -> tuple[list[int], dict[str, list[int]]]:
    """Indices of the main output, and of each side output; both empty when there is no side output."""
    if not _may_contain_tags(values):
        return [], {}
    tagged = [i for i, v in enumerate(values) if v.__class__ is tuple and v and v[0].__class__ is OutputTag]
    if not tagged:
        return [], {}
    sides: dict[str, list[int]] = {}
    for i in tagged:
        sides.setdefault(values[i][0].tag_id, []).append(i)
    side_indices = set(tagged)
    return [i for i in range(len(values)) if i not in side_indices], sides


def _may_contain_tags(values: list[Any]) -> bool:
    """Whether there may be elements of side outputs. It calls no Python code for each element."""
    classes = set(map(type, values))
    if classes != {tuple}:
        return tuple in classes
    try:
        return OutputTag in set(map(type, map(itemgetter(0), values)))
    except IndexError:  # an empty tuple
        return True
