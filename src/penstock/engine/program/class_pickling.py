"""Pickles classes by value, so that a process that cannot import them creates equal ones.

cloudpickle copies the attributes of a class. That is not enough for some classes: caches of msgspec cannot be pickled, sentinels
of dataclasses are compared by identity, and msgspec Structs and TypedDicts must be created by their own metaclass.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
from collections.abc import Callable
from typing import Any

import msgspec
import typing_extensions
from msgspec._core import Factory  # type: ignore[import-not-found]

from penstock.runtime.user_classes import class_identity, complete_class, find_or_create_class

_SENTINELS = {
    type(getattr(dataclasses, name)): name
    for name in ("MISSING", "KW_ONLY", "_HAS_DEFAULT_FACTORY")
    if hasattr(dataclasses, name)
}
_CACHES = (
    "__msgspec_cache__",  # set by a msgspec codec that was created for the class
    "__pydantic_parent_namespace__",  # the variables of the function that defines the class, needed only to rebuild it
)
_ENUM_ATTRIBUTES = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
_STRUCT_OPTIONS = (
    "frozen",
    "eq",
    "order",
    "array_like",
    "gc",
    "tag",
    "tag_field",
    "omit_defaults",
    "repr_omit_defaults",
    "forbid_unknown_fields",
    "weakref",
    "dict",
    "cache_hash",
)
_CREATED_BY_STRUCT = frozenset({"__slots__", "__dict__", "__weakref__"})

Reduced = tuple[Any, ...]


def reduce_sentinel(value: Any) -> Reduced | None:
    """Reduces a sentinel of dataclasses to its name; returns None for other objects."""
    name = _SENTINELS.get(type(value))
    return None if name is None else (getattr, (dataclasses, name))


def reduce_class(kind: type, by_cloudpickle: Reduced, copy: str = "") -> Reduced:
    """Reduces a class that cannot be imported.

    `by_cloudpickle` is what cloudpickle returns for it. `copy` names the copies that are created even in the process that
    defines the class; without it, that process uses the original.
    """
    create, arguments, state, *_, set_state = by_cloudpickle
    if typing_extensions.is_typeddict(kind):
        create, arguments, set_state, state = _reduce_typed_dict(kind)
    elif issubclass(kind, msgspec.Struct):
        create, arguments, set_state, state = _reduce_struct(kind)
    else:
        arguments = (*arguments[:-2], None, *arguments[-1:])  # without the identity that cloudpickle assigns
        if (slots := vars(kind).get("__slots__")) is not None and not issubclass(kind, (enum.Enum, tuple)):
            constructor, name, bases, namespace, *rest = arguments
            arguments = (constructor, name, bases, {**namespace, "__slots__": slots}, *rest)
        state = ({n: v for n, v in state[0].items() if n not in _CACHES}, state[1])
        if issubclass(kind, enum.Enum):
            set_state, state = _set_enum_state, (set_state, state, _member_attributes(kind), _member_aliases(kind))
    identity = class_identity(kind) + copy
    return (
        find_or_create_class,
        (identity, create, tuple(arguments)),
        (kind.__qualname__, set_state, state),
        None,
        None,
        complete_class,
    )


_Parts = tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any], Any]


def _set_attributes(kind: type, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(kind, name, value)


# -- enums


def _member_attributes(kind: type[enum.Enum]) -> dict[str, dict[str, Any]]:
    """What `__init__` or `__new__` of an enum has set in its members."""
    return {m.name: {n: v for n, v in vars(m).items() if n not in _ENUM_ATTRIBUTES} for m in kind}


def _member_aliases(kind: type[enum.Enum]) -> dict[str, str]:
    return {name: str(member.name) for name, member in kind.__members__.items() if name != member.name}


def _set_enum_state(
    kind: type[enum.Enum], state: tuple[Callable[..., Any], Any, dict[str, Any], dict[str, str]]
) -> None:
    set_state, attributes, members, aliases = state
    set_state(kind, attributes)
    for name, values in members.items():
        vars(kind[name]).update(values)
    for alias, name in aliases.items():
        kind._member_map_.setdefault(alias, kind[name])


# -- TypedDict


def _reduce_typed_dict(kind: type) -> _Parts:
    attributes = {n: v for n, v in vars(kind).items() if n not in (*_CACHES, "__dict__", "__weakref__")}
    return _make_typed_dict, (type(kind), kind.__name__, kind.__bases__), _set_attributes, attributes


def _make_typed_dict(metaclass: type[type], name: str, bases: tuple[type, ...]) -> type:
    """Creates the class without its metaclass, which accepts TypedDict as a base, but not the classes that it becomes."""
    return type.__new__(metaclass, name, bases, {})


# -- msgspec Struct


class _LateFunction:
    """A function that a Struct needs when it is created, although the function may refer to the Struct."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _reduce_struct(kind: type[msgspec.Struct]) -> _Parts:
    own = [name for name in kind.__struct_fields__ if name in inspect.get_annotations(kind)]
    options = {name: getattr(kind.__struct_config__, name) for name in _STRUCT_OPTIONS}
    options["kw_only"] = not set(own) <= set(kind.__match_args__)  # which are the positional fields
    late: list[tuple[_LateFunction, types.FunctionType]] = []

    def later(value: Any) -> Any:
        if not isinstance(value, types.FunctionType):
            return value
        late.append((_LateFunction(), value))
        return late[-1][0]

    fields = {name: _field_options(kind, name, later) for name in own}
    special = {name: later(vars(kind)[name]) for name in ("__post_init__",) if name in vars(kind)}
    attributes = {n: v for n, v in vars(kind).items() if n not in own and not _is_created_by_struct(n, v)}
    bases = types.get_original_bases(kind) if hasattr(types, "get_original_bases") else _original_bases(kind)
    return (
        _make_struct,
        (type(kind), kind.__name__, bases, fields, special, options),
        _set_struct_state,
        (attributes, late),
    )


def _original_bases(kind: type) -> tuple[Any, ...]:
    bases: tuple[Any, ...] = vars(kind).get("__orig_bases__", kind.__bases__)
    return bases


def _field_options(kind: type[msgspec.Struct], name: str, later: Callable[[Any], Any]) -> dict[str, Any]:
    """The arguments of `msgspec.field` for a field of a Struct."""
    position = kind.__struct_fields__.index(name)
    encoded = kind.__struct_encode_fields__[position]
    options: dict[str, Any] = {} if encoded == name else {"name": encoded}
    defaults = kind.__struct_defaults__
    from_end = position - len(kind.__struct_fields__)
    default = defaults[from_end] if -from_end <= len(defaults) else msgspec.NODEFAULT
    if isinstance(default, Factory):
        options["default_factory"] = later(default.factory)
    elif default is not msgspec.NODEFAULT:
        options["default"] = default
    return options


def _is_created_by_struct(name: str, value: Any) -> bool:
    descriptors = (types.MemberDescriptorType, types.GetSetDescriptorType)
    return name in _CREATED_BY_STRUCT or name in _CACHES or isinstance(value, descriptors)


def _make_struct(
    metaclass: type[type],
    name: str,
    bases: tuple[Any, ...],
    fields: dict[str, dict[str, Any]],
    special: dict[str, Any],
    options: dict[str, Any],
) -> type:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(special)
        namespace.update({name: msgspec.field(**stored) for name, stored in fields.items() if stored})
        namespace["__annotations__"] = dict.fromkeys(fields, object)  # msgspec reads the types when it first needs them

    return types.new_class(name, bases, {"metaclass": metaclass, **options}, fill)


def _set_struct_state(kind: type, state: tuple[dict[str, Any], list[tuple[_LateFunction, types.FunctionType]]]) -> None:
    attributes, late = state
    _set_attributes(kind, attributes)
    for called, function in late:
        called.function = function
