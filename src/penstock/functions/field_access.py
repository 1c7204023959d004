"""Fields of elements by name or position: how to read one is found out from an element, once for many of its kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

Field = str | int | Callable[[Any], Any] | None


def reader_of(value: Any, field: Field) -> Callable[[Any], Any] | None:
    """What reads a field of values like this one; None when the field is the value itself.

    A field is a name, a position, or a function of the element; no field, and position 0 of a plain value, stand for
    the element itself.

    >>> reader_of(("a", 7), 1)(("b", 8))
    8
    """
    if field is None:
        return None
    if callable(field):
        return field
    names = _names(type(value))
    if isinstance(field, str):
        if names is None and hasattr(value, "__getitem__") and not isinstance(value, tuple):  # a dict, a Row
            return itemgetter(field)
        return attrgetter(field)
    if isinstance(value, tuple) or (names is None and hasattr(value, "__getitem__") and not isinstance(value, str)):
        return itemgetter(field)
    if names is not None:
        return attrgetter(names[field])
    if field == 0:
        return None
    raise TypeError(
        f"field {field} was chosen of a {type(value).__name__}, which has no fields: only field 0, the value"
    )


def _names(kind: type) -> list[str] | None:
    """The names of a Struct's or dataclass's fields."""
    if issubclass(kind, msgspec.Struct):
        return list(kind.__struct_fields__)
    return [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else None
