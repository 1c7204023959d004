"""Compares a value with the same value after it was encoded and decoded."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from penstock.row import Row
from penstock.types import Misfit
from penstock.types.information import describe_value

_COLLECTIONS = (list, tuple, set, frozenset)


def is_unchanged(value: Any, stored: Any) -> bool:
    """Returns whether a value is stored without a change of value or class. Raises Misfit if its meaning would be lost.

    >>> is_unchanged([1, "a"], [1, "a"]), is_unchanged((1, 2), [1, 2])
    (True, False)
    """
    kind = type(value)
    if kind is not type(stored):
        _check_class(value, stored)
        return False
    if kind in _COLLECTIONS:
        if kind is set or kind is frozenset:
            return value == stored and set(map(type, value)) == set(map(type, stored))
        return _all_unchanged(value, stored)
    if kind is dict:
        return _all_unchanged(value, stored) and _all_unchanged(value.values(), stored.values())
    if isinstance(value, (datetime.datetime, datetime.time)):
        return value == stored and (value.tzinfo is stored.tzinfo or _same_offset(value.tzinfo, stored.tzinfo))
    if kind is Row:
        return (value._fields, value._row_kind) == (stored._fields, stored._row_kind) and _all_unchanged(value, stored)
    names = _field_names(value)
    if names is None:
        return bool(value == stored) or value != value  # NaN
    return _all_unchanged([getattr(value, n, None) for n in names], [getattr(stored, n, None) for n in names])


def _all_unchanged(values: Collection[Any], stored: Collection[Any]) -> bool:
    if len(values) != len(stored):
        return False
    unchanged = True
    for value, after in zip(values, stored, strict=True):
        unchanged &= is_unchanged(value, after)  # all parts are compared, because each of them may raise Misfit
    return unchanged


def _check_class(value: Any, stored: Any) -> None:
    """Raises Misfit if a value of one class became a value of another one that is not equivalent."""
    kind = type(stored)
    if kind in (str, int) and type(value).__module__ != "numpy":
        equivalent = isinstance(value, (int, float) if kind is int else kind)
    elif kind is dict:
        equivalent = isinstance(value, Mapping)
    else:
        equivalent = not _has_more_fields(value, stored)
    if not equivalent:
        raise Misfit(f"{describe_value(value)}, which would be read as {stored!r}")
    if isinstance(value, _COLLECTIONS) and kind in (list, tuple):
        _all_unchanged(value, stored)
    elif isinstance(value, dict) and kind is dict:
        _all_unchanged(value.values(), stored.values())


def _has_more_fields(value: Any, stored: Any) -> bool:
    """Returns whether an instance of a subclass, or a dict, has fields that the declared class does not have."""
    if isinstance(stored, msgspec.Struct) and isinstance(value, Mapping):
        return not set(value) <= {*stored.__struct_encode_fields__, stored.__struct_config__.tag_field}
    names = _field_names(stored)
    if names is None:
        return False
    found = value if isinstance(value, Mapping) else _field_names(value) or ()
    return not set(found) <= set(names)


def _field_names(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return tuple(f.name for f in dataclasses.fields(value))
    if isinstance(value, tuple):
        return getattr(value, "_fields", None)
    attributes = getattr(type(value), "__attrs_attrs__", None)
    return None if attributes is None else tuple(a.name for a in attributes)


def _same_offset(first: Any, second: Any) -> bool:
    """Whether two time zones are equal offsets. A zone with rules, such as Europe/Berlin, is stored as an offset."""
    return type(first) is type(second) is datetime.timezone and first == second
