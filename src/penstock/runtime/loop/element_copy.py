"""Copies of elements. As in Flink, an emitted element is separate from the objects of the function that emitted it.

How the objects of a class are copied is decided once per class. Objects that cannot be changed are not copied. The option
`pipeline.object-reuse` turns copies off.
"""

from __future__ import annotations

import copy
import copyreg
import datetime
import decimal
import enum
import fractions
import types
import typing
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec
import numpy as np

from penstock.functions import OutputTag
from penstock.row import Row, RowKind, make_row

Copier = Callable[[Any], Any]

# Loops over many elements repeat the first lines of `copy_element`, because a call per element costs more than the check.

# Classes whose objects are never copied. `copy_element` adds further ones, such as enums and frozen classes of immutable fields.
# OutputTag is not one of them, so that loops notice elements of side outputs when they check what to copy.
IMMUTABLE: set[type] = {
    *(str, int, float, bool, bytes, complex, type(None), type(Ellipsis), range, object),
    *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
    *(decimal.Decimal, fractions.Fraction, uuid.UUID, RowKind),
    *(type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType),
}


class _Copiers(dict[type, Copier]):
    """How the objects of a class are copied, by class."""

    def __missing__(self, kind: type) -> Copier:
        if kind in IMMUTABLE:
            self[kind] = same_element
        else:
            self[kind] = _copy_or_share  # while its fields are checked, which may be of the same class
            self[kind] = _choose_copier(kind)
        return self[kind]


_copiers = _Copiers()


def copy_element(value: Any) -> Any:
    """Returns a copy that does not change when the value is changed in place. Returns the value itself if it is immutable.

    >>> row = ("a", [1])
    >>> copied = copy_element(row)
    >>> row[1].append(2); copied
    ('a', [1])
    >>> key = ("a", 1)
    >>> copy_element(key) is key
    True
    """
    try:
        kind = type(value)
        if kind is tuple:
            for item in value:
                if type(item) not in IMMUTABLE:
                    return tuple(map(_copy, value))
            return value
        return _copiers[kind](value)
    except RecursionError:  # the value contains itself
        return copy.deepcopy(value)


def copy_elements(values: list[Any]) -> list[Any]:
    """Returns copies of elements, or the list itself if all of them are of immutable classes."""
    if IMMUTABLE.issuperset(map(type, values)):
        return values
    return list(map(copy_element, values))


def collect_copies(emitted: Iterable[Any]) -> list[Any]:
    """Returns the elements of a generator. Each is copied before the generator continues, because it may change the element."""
    immutable = IMMUTABLE
    return [value if type(value) in immutable else copy_element(value) for value in emitted]


# -- copiers of built-in classes


def same_element(value: Any) -> Any:
    """Returns the value itself, where `copy_element` is not needed."""
    return value


def _copy(value: Any) -> Any:
    """Copies a part of an element."""
    return _copiers[type(value)](value)


def _copy_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return value if IMMUTABLE.issuperset(map(type, value)) else tuple(map(_copy, value))


def _copy_named_tuple(value: Any) -> Any:
    return value if IMMUTABLE.issuperset(map(type, value)) else value._make(map(_copy, value))


def _copy_list(value: list[Any]) -> list[Any]:
    return value[:] if IMMUTABLE.issuperset(map(type, value)) else list(map(_copy, value))


def _copy_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    immutable = IMMUTABLE
    for item in value.values():
        if type(item) not in immutable:
            return {key: _copy(item) for key, item in value.items()}
    return value.copy()


def _copy_deque(value: deque[Any]) -> deque[Any]:
    return deque(map(_copy, value), value.maxlen)


def _copy_row(value: Row) -> Row:
    return make_row(value._fields, _copy_list(value._values), value._row_kind)


def _copy_array(value: Any) -> Any:
    return copy.deepcopy(value) if value.dtype.hasobject else value.copy()


_copiers.update(
    {
        tuple: _copy_tuple,
        list: _copy_list,
        dict: _copy_dict,
        set: set.copy,  # items of sets are hashable, and taken as immutable
        frozenset: same_element,
        OutputTag: same_element,
        bytearray: bytearray.copy,
        deque: _copy_deque,
        Row: _copy_row,
        np.ndarray: _copy_array,
    }
)


# -- copiers of other classes


def _choose_copier(kind: type) -> Copier:
    """Returns how the objects of a class are copied. Adds the class to IMMUTABLE if its objects need no copies."""
    if issubclass(kind, (enum.Enum, np.generic, type)):
        IMMUTABLE.add(kind)
        return same_element
    if hasattr(kind, "__deepcopy__"):
        return _copy_or_share
    if issubclass(kind, msgspec.Struct):
        return _struct_copier(kind)
    if issubclass(kind, tuple) and hasattr(kind, "_make") and not _has_dict(kind):
        return _copy_named_tuple
    if _is_frozen_dataclass(kind) and not _mutable_fields(kind, vars(kind)["__dataclass_fields__"]):
        IMMUTABLE.add(kind)
        return same_element
    if _is_plain(kind):
        return _object_copier(kind)
    return _copy_or_share


def _copy_or_share(value: Any) -> Any:
    """Copies any object. An object that cannot be copied, such as an open file, is shared."""
    try:
        return copy.deepcopy(value)
    except RecursionError:
        raise
    except Exception:
        return value


def _struct_copier(kind: type[msgspec.Struct]) -> Copier:
    config, names = kind.__struct_config__, kind.__struct_fields__
    if config.dict or "__reduce__" in _own_methods(kind, msgspec.Struct):
        return _copy_or_share
    changing = _mutable_fields(kind, names)
    if not changing and config.frozen:
        IMMUTABLE.add(kind)
        return same_element
    shallow: Copier = kind.__copy__  # type: ignore[attr-defined]
    return shallow if not changing else partial(_copy_fields, shallow, msgspec.structs.force_setattr, changing)


def _object_copier(kind: type) -> Copier:
    """The copier of a class that has no special methods for copies: its attributes are copied."""
    slots = copyreg._slotnames(kind)  # type: ignore[attr-defined]
    if not slots:
        return partial(_copy_attributes, kind)
    return partial(_copy_slots, kind, slots, _has_dict(kind))


def _copy_attributes(kind: type, value: Any) -> Any:
    copied: Any = object.__new__(kind)
    copied.__dict__.update(_copy_dict(value.__dict__))
    return copied


def _copy_slots(kind: type, slots: Iterable[str], has_dict: bool, value: Any) -> Any:
    copied: Any = object.__new__(kind)
    for slot in slots:
        if hasattr(value, slot):
            object.__setattr__(copied, slot, _copy(getattr(value, slot)))
    if has_dict:
        copied.__dict__.update(_copy_dict(value.__dict__))
    return copied


def _copy_fields(
    shallow: Copier, set_field: Callable[[Any, str, Any], None], names: tuple[str, ...], value: Any
) -> Any:
    copied = shallow(value)
    for name in names:
        before = getattr(value, name, None)
        if before.__class__ not in IMMUTABLE:
            set_field(copied, name, _copy(before))
    return copied


# -- what is known about a class

_COPY_METHODS = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__copy__", "__getnewargs_ex__")


def _is_plain(kind: type) -> bool:
    """Whether all objects of a class are fully described by their attributes, as for most classes of user programs."""
    special = [m for name in _COPY_METHODS if (m := getattr(kind, name, None)) is not getattr(object, name, None)]
    make: object = kind.__new__
    if make is not object.__new__ or any(getattr(m, "__module__", "") != "dataclasses" for m in special):
        return False
    try:
        object.__new__(kind)  # fails for classes written in C, such as locks
    except TypeError:
        return False
    return True


def _is_frozen_dataclass(kind: type) -> bool:
    parameters = vars(kind).get("__dataclass_params__")
    return parameters is not None and bool(parameters.frozen)


def _own_methods(kind: type, base: type) -> set[str]:
    """The names that the classes below a base class define."""
    return {name for c in kind.__mro__[: kind.__mro__.index(base)] for name in vars(c)}


def _has_dict(kind: type) -> bool:
    return kind.__dictoffset__ != 0


def _mutable_fields(kind: type, names: Iterable[str]) -> tuple[str, ...]:
    """The fields whose annotations allow values that can be changed in place."""
    try:
        annotations = typing.get_type_hints(kind)
    except Exception:  # names that cannot be resolved here
        return tuple(names)
    return tuple(name for name in names if not _is_immutable_type(annotations.get(name, Any)))


def _is_immutable_type(annotation: Any) -> bool:
    """Whether no value of an annotated type can be changed in place.

    >>> _is_immutable_type(tuple[str, int] | None), _is_immutable_type(tuple[str, list[int]])
    (True, False)
    """
    if annotation is None or annotation in (Ellipsis, frozenset):
        return True
    if isinstance(annotation, typing.NewType):
        return _is_immutable_type(annotation.__supertype__)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal or origin is frozenset:
        return True
    if origin is typing.Annotated or origin is typing.ClassVar:
        return bool(arguments) and _is_immutable_type(arguments[0])
    if origin in (tuple, typing.Union, types.UnionType):
        return bool(arguments) and all(map(_is_immutable_type, arguments))
    return isinstance(annotation, type) and annotation is not object and _is_immutable_class(annotation)


def _is_immutable_class(kind: type) -> bool:
    return _copiers[kind] is same_element or kind in IMMUTABLE
