"""Functions that change elements: what they received after they have used it, and what they emitted after it was emitted.

Elements of a program with `changes` are lists. A decorated method gets tuples instead, so its results are the same as those for
elements that nobody changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from penstock.functions import OutputTag

Method = Callable[..., Any]


def is_changeable(value: Any) -> bool:
    """Whether a value is an element that can be changed: its key, a number and a text."""
    return type(value) is list and len(value) == 3 and isinstance(value[0], str) and isinstance(value[2], str)


def spoil(element: list[Any]) -> None:
    """Changes an element, so that everything that still reads it shows another result."""
    element[:] = ["changed", -1, "changed"]


def unchanged(value: Any) -> Any:
    """Returns the elements in a value as tuples: an element, several, those of a match, or a value with a tag or in a group."""
    if is_changeable(value):
        return tuple(value)
    if isinstance(value, (list, Iterator)):
        return [unchanged(part) for part in value]
    if isinstance(value, dict):
        return {name: unchanged(part) for name, part in value.items()}
    return value


def generator(method: Method) -> Method:
    """Decorates a method that emits elements, by `yield` or in a collection."""

    @wraps(method)
    def call(self: Any, *arguments: Any) -> Any:
        received = [list(a) if isinstance(a, Iterator) else a for a in arguments]
        found = list(_changeable(received))
        if not found:
            return method(self, *arguments)
        return _emit(method(self, *map(unchanged, received)), found)

    return call


def _emit(results: Iterable[Any] | None, received: list[list[Any]]) -> Iterator[Any]:
    for result in results or ():
        tagged = isinstance(result[0], OutputTag)
        element = list(result[1] if tagged else result)
        yield (result[0], element) if tagged else element
        spoil(element)
    for element in received:
        spoil(element)


def function(method: Method) -> Method:
    """Decorates a method that returns one element, or an accumulator."""

    @wraps(method)
    def call(self: Any, *arguments: Any) -> Any:
        found = list(_changeable(arguments))
        result = method(self, *map(unchanged, arguments))
        for element in found:
            spoil(element)
        return list(result) if found and type(result) is tuple else result

    return call


def reduce_function(method: Method) -> Method:
    """Decorates a reduce function. It changes its accumulator only: as in Flink, all windows of an element share the element."""

    @wraps(method)
    def call(self: Any, accumulator: Any, element: Any) -> Any:
        result = method(self, unchanged(accumulator), unchanged(element))
        found = list(_changeable(accumulator))
        for changeable in found:
            spoil(changeable)
        return list(result) if (found or is_changeable(element)) and type(result) is tuple else result

    return call


def _changeable(value: Any) -> Iterator[list[Any]]:
    if is_changeable(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _changeable(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _changeable(part)
