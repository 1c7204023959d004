"""Describes a declared type: the shape of what its values become in state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import inspect

from penstock.errors import StateError
from penstock.runtime.evolution.key_shape import key_shape
from penstock.runtime.evolution.shape import Live, Part, Shape, StateShape
from penstock.runtime.plain import plain_of
from penstock.runtime.state.own_form import OwnFormDescriptor
from penstock.state import MapStateDescriptor, StateDescriptor
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    PythonTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.evolution import UNCHANGED, Evolution, evolution_of


def describe_state(descriptor: StateDescriptor) -> StateShape:
    """The types of a state.

    >>> from penstock.state import ValueStateDescriptor
    >>> describe_state(ValueStateDescriptor("count", int)).json()
    '{"value":{"kind":"int"}}'
    """
    if isinstance(descriptor, OwnFormDescriptor):
        return StateShape(descriptor.shape)
    key = descriptor.key_type if isinstance(descriptor, MapStateDescriptor) else None
    value = describe(descriptor.value_type, descriptor.evolution)
    return StateShape(value, None if key is None else describe_key(key))


def describe_key(type_info: TypeInformation) -> Shape:
    """The shape of keys of a type.

    >>> from penstock.types import Types
    >>> describe_key(Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old))).plain()
    {'kind': 'str', 'version': 2}
    """
    return key_shape(describe(type_info))


def describe(type_info: TypeInformation, evolution: Evolution | None = None) -> Shape:
    """The shape of a type's stored values.

    >>> from penstock.types import Types
    >>> describe(Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])).text()
    'Row(name: str, age: INT)'
    """
    if not type_info.declared or plain_of(type_info) is None:
        shape = Shape("pickle")
    else:
        shape = _shape(type_info)
    if evolution is not None:
        _check_aliases(evolution, _field_names(shape), type_info.name)
        live = shape.live or Live(type_info)
        shape.live = Live(type_info, evolution, {**live.defaults, **_constants(evolution)}, live.stored_names)
        shape.version = evolution.version
    return _with_history(shape, type_info)


def _with_history(shape: Shape, type_info: TypeInformation) -> Shape:
    """A shape with what its type says of its earlier versions, by a method of its own."""
    if shape.live is None:
        shape.live = Live(type_info)
    said = type_info.evolution
    if said is not UNCHANGED and said.version > shape.version:
        said = replace(said, aliases=said.aliases or shape.live.evolution.aliases)
        shape.live, shape.version = replace(shape.live, type_info=type_info, evolution=said), said.version
    return shape


def _field_names(shape: Shape) -> set[str]:
    stored = {} if shape.live is None else {stored: name for name, stored in shape.live.stored_names.items()}
    return {stored.get(f.name, f.name) for f in shape.fields}


def _shape(type_info: TypeInformation) -> Shape:
    """Of a type whose values are not pickled."""
    if isinstance(type_info, InstantTypeInfo):
        return Shape("instant")
    if isinstance(type_info, BasicTypeInfo):
        kind, bits = _BASIC[type_info.basic_type]
        return Shape(kind, bits=bits)
    for known, kind in _WHOLE.items():
        if isinstance(type_info, known):
            return Shape(kind)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.binary:
        return Shape("bytes")
    if isinstance(type_info, SequenceTypeInfo):
        nullable = not isinstance(type_info, PrimitiveArrayTypeInfo)
        return Shape("list", of=[_part(type_info.element_type, nullable)])
    if isinstance(type_info, MapTypeInfo):
        return Shape("map", of=[_part(type_info.key_type, False), _part(type_info.value_type, True)])
    if isinstance(type_info, TupleTypeInfo):
        return Shape("tuple", of=[_part(t, True) for t in type_info.field_types])
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info)
    assert isinstance(type_info, PythonTypeInfo)
    return _Annotations().shape(inspect.type_info(type_info.python_type))


def _part(type_info: TypeInformation, null: bool) -> Shape:
    shape = _shape(type_info)
    shape.null = shape.null or null
    return _with_history(shape, type_info)


def _row(type_info: RowTypeInfo) -> Shape:
    said = type_info.evolution
    pairs = zip(type_info.get_field_names(), type_info.field_types, strict=True)
    fields = [Part(name, _part(kind, True), optional=True) for name, kind in pairs]
    nothing: dict[str, Callable[[], Any]] = {f.name: _none for f in fields}
    _check_aliases(said, set(nothing), type_info.name)
    live = Live(type_info, said, nothing | _constants(said))
    return Shape("record", form="row", fields=fields, version=said.version, live=live)


def _constants(said: Evolution) -> dict[str, Callable[[], Any]]:
    return {name: _constant(value) for name, value in said.defaults.items()}


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _none() -> None:
    return None


class _Annotations:
    """Shapes of Python's own types, as msgspec understands them."""

    def __init__(self) -> None:
        self._within: list[Any] = []  # classes around the one being described

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
            live = Live(PythonTypeInfo(node.cls))
            return Shape(
                "enum", name=node.cls.__qualname__, values=sorted((m.value for m in node.cls), key=repr), live=live
            )
        if isinstance(node, inspect.LiteralType):
            return Shape("enum", values=sorted(node.values, key=repr))
        return Shape(_LEAVES.get(type(node), "any"), bits=64 if isinstance(node, inspect.FloatType) else None)

    def _union(self, node: Any) -> Shape:
        members = [t for t in node.types if not isinstance(t, inspect.NoneType)]
        shapes = [self.shape(t) for t in members]
        shape = shapes[0] if len(shapes) == 1 else Shape("union", of=shapes)
        shape.null = len(members) < len(node.types)
        return shape

    def _record(self, node: Any) -> Shape:
        if any(node is around for around in self._within):
            return Shape("self", name=node.cls.__qualname__, form=_form(node))
        self._within.append(node)
        omits = isinstance(node, inspect.StructType) and node.cls.__struct_config__.omit_defaults
        fields = [
            Part(f.encode_name, self.shape(f.type), not f.required, _omitted(f) if omits else []) for f in node.fields
        ]
        self._within.pop()
        said = evolution_of(node.cls)
        defaults = {f.name: made for f in node.fields if (made := _default(f)) is not None}
        names = {f.name: f.encode_name for f in node.fields if f.name != f.encode_name}
        _check_aliases(said, {f.name for f in node.fields}, f"The class {node.cls.__qualname__}")
        return Shape(
            "record",
            name=node.cls.__qualname__,
            form=_form(node),
            named_tuple=isinstance(node, inspect.NamedTupleType),
            fields=fields,
            tag=[] if getattr(node, "tag", None) is None else [node.tag_field, node.tag],
            version=said.version,
            live=Live(PythonTypeInfo(node.cls), said, defaults, names),
        )


def _form(node: Any) -> str:
    return "array" if isinstance(node, inspect.NamedTupleType) or getattr(node, "array_like", False) else "map"


def _check_aliases(said: Evolution, names: set[str], what: str) -> None:
    unknown = [n for n in (*said.aliases, *said.defaults) if n not in names]
    if unknown:
        raise StateError(
            "STATE_ALIAS",
            f"{what} has earlier names or defaults for {', '.join(map(repr, unknown))}, and no such field; its fields are "
            f"{', '.join(sorted(names)) or 'none'}. Write them as {{'name now': 'name before'}}.",
        )


def _omitted(described: Any) -> list[Any]:
    """The default of a field that is not stored when it has it, as JSON."""
    make = _default(described)
    try:
        return [] if make is None else [msgspec.json.decode(msgspec.json.encode(make()))]
    except TypeError:  # not a value that JSON has
        return []


def _default(described: Any) -> Callable[[], Any] | None:
    if described.default_factory is not msgspec.NODEFAULT:
        factory: Callable[[], Any] = described.default_factory
        return factory
    return None if described.default is msgspec.NODEFAULT else _constant(described.default)


_BASIC: dict[BasicType, tuple[str, int | None]] = {
    BasicType.STRING: ("str", None),
    BasicType.CHAR: ("str", None),
    BasicType.BOOLEAN: ("bool", None),
    BasicType.BYTE: ("int", 8),
    BasicType.SHORT: ("int", 16),
    BasicType.INT: ("int", 32),
    BasicType.LONG: ("int", 64),
    BasicType.FLOAT: ("float", 32),
    BasicType.DOUBLE: ("float", 64),
    BasicType.BIG_INT: ("bigint", None),
    BasicType.BIG_DEC: ("decimal", None),
}
_WHOLE: dict[type[TypeInformation], str] = {
    DateTypeInfo: "date",
    TimeTypeInfo: "time",
    TimestampTypeInfo: "datetime",
    BytesTypeInfo: "bytes",
}
_RECORDS = (inspect.DataclassType, inspect.StructType, inspect.NamedTupleType, inspect.TypedDictType)
_COLLECTIONS: dict[Any, str] = {
    inspect.ListType: "list",
    inspect.VarTupleType: "sequence",
    inspect.SetType: "set",
    inspect.FrozenSetType: "frozenset",
}
_LEAVES: dict[Any, str] = {
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
