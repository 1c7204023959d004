"""Infers the element type of a function from its annotations."""

from __future__ import annotations

import collections.abc as abc
import functools
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from penstock.functions import Function, OutputTag
from penstock.types import TypeInformation, Types

# Return annotations of functions that return several elements.
_MANY = (abc.Iterator, abc.Iterable, abc.Generator, abc.Sequence, abc.Collection, list, set, frozenset)


def infer_type(function: Any, methods: Sequence[str], many: bool) -> TypeInformation | None:
    """The element type of a function; None if it is not annotated or if its methods have different types.

    Of a function class, those of `methods` are used that the class defines. `many` means that it returns several elements.

    >>> def split(line: str) -> typing.Iterator[str]: ...
    >>> infer_type(split, ["flat_map"], many=True)
    PythonTypeInfo<str>
    >>> infer_type(lambda line: line.split(), ["flat_map"], many=True)
    """
    annotations = [_return_annotation(call) for call in _calls(function, methods)]
    if many:
        annotations = [_element_of_many(annotation) for annotation in annotations]
    if not annotations or any(not _is_certain(annotation) for annotation in annotations):
        return None
    first, *others = map(Types.of, annotations)
    return first if all(other == first for other in others) else None


def _calls(function: Any, methods: Sequence[str]) -> list[Callable[..., Any]]:
    if not isinstance(function, Function):
        return [function]
    own = [getattr(type(function), m, None) for m in methods]
    # Methods that Penstock's base classes define, such as an empty on_timer, emit nothing.
    return [c for c in own if c is not None and not c.__module__.startswith("penstock.functions.")]


def _return_annotation(call: Callable[..., Any]) -> Any:
    """The return annotation of a callable; None if there is none or it cannot be resolved."""
    while isinstance(call, functools.partial):
        call = call.func
    if isinstance(call, type):
        return call
    if not isinstance(call, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        call = type(call).__call__
    try:
        return typing.get_type_hints(call, include_extras=True).get("return")
    except Exception:  # a name that only type checkers know, or an object without hints
        return None


def _element_of_many(annotation: Any) -> Any:
    """T of Iterator[T] and similar types, without side outputs."""
    options = [_element(o) for o in _options(annotation) if o is not type(None)]
    return options[0] if len(options) == 1 else None


def _element(annotation: Any) -> Any:
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and len(args) == 2 and args[1] is ...:
        return _main_output(args[0])
    return _main_output(args[0]) if origin in _MANY and args else None


def _main_output(annotation: Any) -> Any:
    """The annotation of an element without the (tag, value) pairs of side outputs."""
    options = _options(annotation)
    main = [o for o in options if not _is_tagged(o)]
    if not main or len(main) == len(options):
        return annotation if main else None
    return functools.reduce(lambda a, b: a | b, main)


def _is_tagged(annotation: Any) -> bool:
    args = typing.get_args(annotation)
    return (
        typing.get_origin(annotation) is tuple and bool(args) and (typing.get_origin(args[0]) or args[0]) is OutputTag
    )


def _options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation itself."""
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def _is_certain(annotation: Any) -> bool:
    """Whether an annotation is completely specified."""
    if annotation is None or annotation is Any or annotation is object or annotation is type(None):
        return False
    if isinstance(annotation, (typing.TypeVar, str)):
        return False
    return all(_is_certain(a) or a is type(None) for a in typing.get_args(annotation) if a is not ...)
