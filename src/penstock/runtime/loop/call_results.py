"""What a function that emits any number of elements returns: an iterable of elements, or None.

A function that returns one element instead of a list of them, such as a dict or a string, would emit its keys or characters. It is
rejected. Whether a class is a collection of elements or an element is decided once per class.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import GeneratorType
from typing import Any

from penstock.errors import UserFunctionError
from penstock.functions import OutputTag
from penstock.row import Row
from penstock.runtime.failure import short_repr
from penstock.runtime.loop.element_copy import collect_copies
from penstock.runtime.loop.operator import Emitted

# Classes whose objects are collections of elements. `check_results` adds further ones.
COLLECTIONS: set[type] = {type(None), list, GeneratorType, set, frozenset, deque, range, map, filter, zip}
# Attributes of classes of records, which may be iterable: dataclasses, Structs, attrs, pydantic, named tuples, rows of Spark. A
# DataFrame or an Arrow table has columns and would be split into them.
_RECORD_ATTRIBUTES = (
    *("__dataclass_fields__", "__struct_fields__", "__attrs_attrs__", "model_fields", "_fields", "asDict"),
    "columns",
)


def checked_results(function: Callable[[Any, Any], Emitted]) -> Callable[[Any, Any], Emitted]:
    """Returns a function of (value, ctx) with a check of its results.

    A generator function needs none, since it can only return a generator.

    >>> checked_results(lambda value, ctx: [value])(1, None)
    [1]
    """
    if inspect.isgeneratorfunction(function):
        return function
    collections = COLLECTIONS

    def call(value: Any, context: Any) -> Emitted:
        results = function(value, context)
        return results if results.__class__ in collections else check_results(results)

    return call


def check_results(results: Any) -> Emitted:
    """Returns the results of a call. Raises FUNCTION_RESULT if they are one element, and not a collection of elements."""
    kind = results.__class__
    if kind in COLLECTIONS:
        return results  # type: ignore[no-any-return]
    if kind is tuple:
        if results and results[0].__class__ is OutputTag:
            raise _tagged_pair(results)
        return results  # type: ignore[no-any-return]
    if not is_collection(kind):
        raise _single_element(results)
    COLLECTIONS.add(kind)
    return results  # type: ignore[no-any-return]


def collect_results(results: Any, copies: bool) -> list[Any]:
    """Returns the checked results of a call as a list.

    With `copies`, elements are copied one by one, because a generator may change them when it continues, and another call of the
    function may change what this one returned.

    >>> collect_results((n for n in [1, 2]), copies=True)
    [1, 2]
    """
    checked = check_results(results)
    if checked is None:
        return []
    return collect_copies(checked) if copies else list(checked)


def is_collection(kind: type) -> bool:
    """Whether the objects of a class are collections of elements, and not elements themselves.

    >>> is_collection(list), is_collection(dict), is_collection(str)
    (True, False, False)
    """
    if issubclass(kind, (str, bytes, bytearray, memoryview, Mapping, Row)) or not _is_iterable(kind):
        return False
    return not any(hasattr(kind, name) for name in _RECORD_ATTRIBUTES)


def _is_iterable(kind: type) -> bool:
    return issubclass(kind, Iterable) or hasattr(kind, "__getitem__")


def _single_element(results: Any) -> UserFunctionError:
    if inspect.isawaitable(results) or inspect.isasyncgen(results):
        if inspect.iscoroutine(results):
            results.close()  # otherwise Python warns that it was never awaited
        return UserFunctionError(
            "FUNCTION_RESULT",
            "An asynchronous function (async def) is used where a plain function is called. Use AsyncDataStream to await calls, or "
            "write the function without async.",
        )
    return UserFunctionError(
        "FUNCTION_RESULT",
        f"The function returned one value of type {type(results).__name__}: {short_repr(results)}. It must return an iterable of "
        "output elements, such as a list, or None. To emit the value as one element, use `yield value` or `return [value]`.",
    )


def _tagged_pair(results: tuple[Any, ...]) -> UserFunctionError:
    return UserFunctionError(
        "FUNCTION_RESULT",
        f"The function returned the pair {short_repr(results)}, which would be two elements. To send a value to a side output, use "
        "`yield tag, value` or `return [(tag, value)]`.",
    )
