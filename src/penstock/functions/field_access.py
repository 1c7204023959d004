"""Access to fields of elements by name or position. The way to read a field is determined once per element type."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

Field = str | int | Callable[[Any], Any] | None


def make_field_reader(value: Any, field: Field) -> Callable[[Any], Any] | None:
    """Returns a function that reads a field of values of the same type, or None if the field is the value itself.

    A field is a name, a position, or a function of the element. None, and position 0 of a value without fields, stand for the
    value itself.

    >>> make_field_reader(("a", 7), 1)(("b", 8))
    8
    """
    if field is None:
        return None
    if callable(field):
        return field
    names = _field_names(type(value))
    if isinstance(field, str):
        if names is None and hasattr(value, "__getitem__") and not isinstance(value, tuple):  # a dict or a Row
            return itemgetter(field)
        return attrgetter(field)
    if isinstance(value, tuple) or (names is None and hasattr(value, "__getitem__") and not isinstance(value, str)):
        return itemgetter(field)
    if names is not None:
        return attrgetter(names[field])
    if field == 0:
        return None
    raise TypeError(
        f"field {field} does not exist: a {type(value).__name__} has no fields. Use field 0 for the value itself"
    )


def _field_names(kind: type) -> list[str] | None:
    """Returns the field names of a Struct or dataclass, or None for other types."""
    if issubclass(kind, msgspec.Struct):
        return list(kind.__struct_fields__)
    return [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else None
