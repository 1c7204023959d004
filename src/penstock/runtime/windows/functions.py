"""The forms of a window's function, brought to one: (key, namespace, window, elements) to a list of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.functions import AllWindowFunction, ProcessAllWindowFunction
from penstock.runtime.window_context import WindowFunctionContext
from penstock.runtime.window_set import Namespace
from penstock.windows import Window

Evaluate = Callable[[Any, Namespace, Window, list[Any]], list[Any]]


def pass_through(key: Any, namespace: Namespace, window: Window, elements: list[Any]) -> list[Any]:
    """The reduced or aggregated value itself."""
    return elements


def evaluation(function: Any, context: WindowFunctionContext) -> Evaluate:
    """A function with `process(key, context, elements)`, with `apply(key, window, elements)`, or None.

    Those of windows over the whole stream are not told the key. Results are listed at once: a generator that ran later would
    see the state of another window.
    """
    if function is None:
        return pass_through
    if isinstance(function, ProcessAllWindowFunction):
        return lambda key, namespace, window, elements: list(
            function.process(context.at(key, namespace, window), elements) or ()
        )
    if isinstance(function, AllWindowFunction):
        return lambda key, namespace, window, elements: list(function.apply(window, elements) or ())
    if hasattr(function, "process"):
        return lambda key, namespace, window, elements: list(
            function.process(key, context.at(key, namespace, window), elements) or ()
        )
    return lambda key, namespace, window, elements: list(function.apply(key, window, elements) or ())


def clearing(function: Any, context: WindowFunctionContext) -> Callable[[Any, Namespace, Window], None] | None:
    """What a function wants done when a window is dropped: its `clear(context)`, if it has one."""
    if not hasattr(function, "clear"):
        return None
    return lambda key, namespace, window: function.clear(context.at(key, namespace, window))
