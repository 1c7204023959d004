"""Shapes of Python annotations and classes, as msgspec stores them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect

from penstock.errors import StateError
from penstock.runtime.state.evolution.shape import Shape, ShapeField, TypeBinding
from penstock.types import PythonTypeInfo
from penstock.types.evolution import Evolution, evolution_of


class AnnotationShapes:
    """Describes the types of `msgspec.inspect`."""

    def __init__(self) -> None:
        self._enclosing: list[Any] = []  # the classes that contain the current one

    def shape(self, node: Any) -> Shape:
        if isinstance(node, _RECORDS):
            return self._record(node)
        if isinstance(node, inspect.UnionType):
            return self._union(node)
        if isinstance(node, inspect.DictType):
            return Shape("map", of=[self.shape(node.key_type), self.shape(node.value_type)])
        if isinstance(node, inspect.TupleType):
            return Shape("tuple", of=[self.shape(t) for t in node.item_types])
        if (kind := _COLLECTIONS.get(type(node))) is not None:
            return Shape(kind, of=[self.shape(node.item_type)])
        if isinstance(node, inspect.EnumType):
            binding = TypeBinding(PythonTypeInfo(node.cls))
            members = sorted(node.cls, key=lambda m: repr(m.value))
            values, names = [m.value for m in members], [m.name for m in members]
            return Shape("enum", name=node.cls.__qualname__, values=values, names=names, binding=binding)
        if isinstance(node, inspect.LiteralType):
            return Shape("enum", values=sorted(node.values, key=repr))
        return Shape(_SCALARS.get(type(node), "any"), bits=64 if isinstance(node, inspect.FloatType) else None)

    def _union(self, node: Any) -> Shape:
        members = [t for t in node.types if not isinstance(t, inspect.NoneType)]
        shapes = [self.shape(t) for t in members]
        shape = shapes[0] if len(shapes) == 1 else Shape("union", of=shapes)
        shape.null = len(members) < len(node.types)
        return shape

    def _record(self, node: Any) -> Shape:
        if any(node is enclosing for enclosing in self._enclosing):
            return Shape("self", name=node.cls.__qualname__, form=_form(node))
        self._enclosing.append(node)
        omits = isinstance(node, inspect.StructType) and node.cls.__struct_config__.omit_defaults
        fields = [
            ShapeField(f.encode_name, self.shape(f.type), not f.required, _omitted_value(f) if omits else [])
            for f in node.fields
        ]
        self._enclosing.pop()
        evolution = evolution_of(node.cls)
        defaults = {f.name: default for f in node.fields if (default := _default(f)) is not None}
        stored_names = {f.name: f.encode_name for f in node.fields if f.name != f.encode_name}
        check_field_names(evolution, {f.name for f in node.fields}, f"The class {node.cls.__qualname__}")
        return Shape(
            "record",
            name=node.cls.__qualname__,
            form=_form(node),
            named_tuple=isinstance(node, inspect.NamedTupleType),
            fields=fields,
            tag=[] if getattr(node, "tag", None) is None else [node.tag_field, node.tag],
            version=evolution.version,
            binding=TypeBinding(PythonTypeInfo(node.cls), evolution, defaults, stored_names),
        )


def check_field_names(evolution: Evolution, names: set[str], type_name: str) -> None:
    """Raises STATE_ALIAS if an alias or a default refers to a field that does not exist, or an alias is the name of a field.

    If the earlier name of one field is the current name of another, a saved field with this name may be either of them. Aliases
    stay declared, so a swap would be undone by the next restore.
    """
    unknown = [n for n in (*evolution.aliases, *evolution.defaults) if n not in names]
    if unknown:
        raise StateError(
            "STATE_ALIAS",
            f"{type_name} has aliases or defaults for {', '.join(map(repr, unknown))}, but no such field; its fields are "
            f"{', '.join(sorted(names)) or 'none'}. Write aliases as {{'current name': 'earlier name'}}.",
        )

    crossed = [(n, old) for n, earlier in evolution.aliases.items() for old in earlier if old in names and old != n]
    if crossed:
        current, old = crossed[0]
        raise StateError(
            "STATE_ALIAS",
            f"{type_name} has the alias {{{current!r}: {old!r}}}, but also a field {old!r}, so it is not known which of them a "
            f"saved {old!r} is. Declare version and migrate instead, or give one of the fields another name.",
        )


def constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _form(node: Any) -> str:
    return "array" if isinstance(node, inspect.NamedTupleType) or getattr(node, "array_like", False) else "map"


def _omitted_value(field: Any) -> list[Any]:
    """Returns the default of a field that is not stored if it has this value, as JSON."""
    default = _default(field)
    try:
        return [] if default is None else [msgspec.json.decode(msgspec.json.encode(default()))]
    except TypeError:  # JSON cannot represent it
        return []


def _default(field: Any) -> Callable[[], Any] | None:
    if field.default_factory is not msgspec.NODEFAULT:
        factory: Callable[[], Any] = field.default_factory
        return factory
    return None if field.default is msgspec.NODEFAULT else constant(field.default)


_RECORDS = (inspect.DataclassType, inspect.StructType, inspect.NamedTupleType, inspect.TypedDictType)
_COLLECTIONS: dict[Any, str] = {
    inspect.ListType: "list",
    inspect.VarTupleType: "sequence",
    inspect.SetType: "set",
    inspect.FrozenSetType: "frozenset",
}
_SCALARS: dict[Any, str] = {
    inspect.IntType: "int",
    inspect.FloatType: "float",
    inspect.BoolType: "bool",
    inspect.StrType: "str",
    inspect.BytesType: "bytes",
    inspect.ByteArrayType: "bytes",
    inspect.MemoryViewType: "bytes",
    inspect.DecimalType: "decimal",
    inspect.DateType: "date",
    inspect.TimeType: "time",
    inspect.DateTimeType: "datetime",
    inspect.TimeDeltaType: "timedelta",
    inspect.UUIDType: "uuid",
    inspect.NoneType: "none",
}
