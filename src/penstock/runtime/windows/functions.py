"""Adapts all kinds of window functions to one signature: (key, namespace, window, elements) to a list of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.functions import AllWindowFunction, ProcessAllWindowFunction
from penstock.runtime.loop.call_results import collect_results
from penstock.runtime.loop.element_copy import copy_elements
from penstock.runtime.windows.context import WindowFunctionContext
from penstock.runtime.windows.merging_window_set import Namespace
from penstock.windows import Window

WindowEvaluator = Callable[[Any, Namespace, Window, list[Any]], list[Any]]


def pass_through(key: Any, namespace: Namespace, window: Window, elements: list[Any]) -> list[Any]:
    """Returns the reduced or aggregated value, as a copy if it can be changed in place."""
    return copy_elements(elements)


def make_evaluator(function: Any, context: WindowFunctionContext) -> WindowEvaluator:
    """Returns the evaluator of a function with `process(key, context, elements)` or `apply(key, window, elements)`, or of None.

    Functions of non-keyed windows do not receive the key. Results are collected into a list immediately, because a generator
    that runs later would see the state of another window. They are copied, because the function may change them later.
    """
    if function is None:
        return pass_through
    call = _window_call(function, context)
    return lambda key, namespace, window, elements: collect_results(
        call(key, namespace, window, elements), context.copies_elements
    )


def _window_call(function: Any, context: WindowFunctionContext) -> Callable[[Any, Namespace, Window, list[Any]], Any]:
    if isinstance(function, ProcessAllWindowFunction):
        return lambda key, namespace, window, elements: function.process(
            context.set_current(key, namespace, window), elements
        )
    if isinstance(function, AllWindowFunction):
        return lambda key, namespace, window, elements: function.apply(window, elements)
    if hasattr(function, "process"):
        return lambda key, namespace, window, elements: function.process(
            key, context.set_current(key, namespace, window), elements
        )
    return lambda key, namespace, window, elements: function.apply(key, window, elements)


def make_clear_function(
    function: Any, context: WindowFunctionContext
) -> Callable[[Any, Namespace, Window], None] | None:
    """Returns a function that calls `clear(context)` when a window is dropped, or None if the function has no `clear`."""
    if not hasattr(function, "clear"):
        return None
    return lambda key, namespace, window: function.clear(context.set_current(key, namespace, window))
