"""Describes declared types: returns the shape of their stored values and keys."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from msgspec import inspect

from penstock.runtime.state.evolution.annotations import AnnotationShapes, check_field_names, constant
from penstock.runtime.state.evolution.shape import OperatorStateDescriptor, Shape, ShapeField, StateShape, TypeBinding
from penstock.runtime.state.plain_values import plain_form
from penstock.state import StateDescriptor
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
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
from penstock.types.evolution import UNCHANGED, Evolution
from penstock.types.visitor import DefaultTypeVisitor


def describe_state(descriptor: StateDescriptor) -> StateShape:
    """Returns the types of a state.

    >>> from penstock.state import ValueStateDescriptor
    >>> describe_state(ValueStateDescriptor("count", int)).to_json()
    '{"value":{"kind":"int"}}'
    """
    if isinstance(descriptor, OperatorStateDescriptor):
        return StateShape(descriptor.shape)
    key: TypeInformation | None = getattr(descriptor, "key_type", None)  # of a map state
    value = describe(descriptor.value_type, descriptor.evolution)
    return StateShape(value, None if key is None else describe_key(key))


def describe_key(type_info: TypeInformation) -> Shape:
    """Returns the shape of keys of a type.

    >>> from penstock.types import Types
    >>> describe_key(Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old))).to_builtins()
    {'kind': 'str', 'version': 2}
    """
    return key_shape(describe(type_info))


def key_shape(shape: Shape) -> Shape:
    """Returns the shape of encoded keys: without fields that are not compared, and with the names of enumeration members.

    >>> from dataclasses import dataclass, field
    >>> from penstock.types import Types
    >>> @dataclass(frozen=True)
    ... class User:
    ...     number: int
    ...     note: str = field(default="", compare=False)
    >>> key_shape(describe(Types.of(User))).text().rpartition(".")[2]
    'User(number: int)'
    """
    known: Any = None if shape.binding is None else getattr(shape.binding.type_info, "python_type", None)
    compared = {f.name for f in fields(known) if f.compare} if is_dataclass(known) else None
    parts = [replace(p, type=key_shape(p.type)) for p in shape.fields if compared is None or p.name in compared]
    is_enum = isinstance(known, type) and issubclass(known, enum.Enum)
    names = [m.name for m in sorted(known, key=lambda m: repr(m.value))] if is_enum else shape.names
    return replace(shape, of=[key_shape(s) for s in shape.of], fields=parts, names=names)


def describe(type_info: TypeInformation, evolution: Evolution | None = None) -> Shape:
    """Returns the shape of the stored values of a type.

    >>> from penstock.types import Types
    >>> describe(Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])).text()
    'Row(name: str, age: INT)'
    """
    if not type_info.declared or plain_form(type_info) is None:
        shape = Shape("pickle")
    else:
        shape = _SHAPES.visit(type_info)
    if evolution is not None:
        check_field_names(evolution, _field_names(shape), type_info.name)
        binding = shape.binding or TypeBinding(type_info)
        defaults = {**binding.defaults, **_default_values(evolution)}
        shape.binding = TypeBinding(type_info, evolution, defaults, binding.stored_names)
        shape.version = evolution.version
    return _with_type_evolution(shape, type_info)


def _with_type_evolution(shape: Shape, type_info: TypeInformation) -> Shape:
    """Adds the evolution that was declared with `evolved()` on the type."""
    if shape.binding is None:
        shape.binding = TypeBinding(type_info)
    evolution = type_info.evolution
    if evolution is not UNCHANGED and evolution.version > shape.version:
        evolution = replace(evolution, aliases=evolution.aliases or shape.binding.evolution.aliases)
        shape.binding = replace(shape.binding, type_info=type_info, evolution=evolution)
        shape.version = evolution.version
    return shape


def _field_names(shape: Shape) -> set[str]:
    names = {} if shape.binding is None else {stored: name for name, stored in shape.binding.stored_names.items()}
    return {names.get(f.name, f.name) for f in shape.fields}


class _TypeShapes(DefaultTypeVisitor[Shape]):
    """Shapes of types whose values are not pickled."""

    def visit_default(self, type_info: TypeInformation) -> Shape:
        raise AssertionError(f"{type_info.name} has no plain form")

    def visit_basic(self, type_info: BasicTypeInfo) -> Shape:
        kind, bits = _BASIC[type_info.basic_type]
        return Shape(kind, bits=bits)

    def visit_instant(self, type_info: BasicTypeInfo) -> Shape:
        return Shape("instant")

    def visit_date(self, type_info: DateTypeInfo) -> Shape:
        return Shape("date")

    def visit_time(self, type_info: TimeTypeInfo) -> Shape:
        return Shape("time")

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> Shape:
        return Shape("datetime")

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> Shape:
        return Shape("bytes")

    def visit_list(self, type_info: SequenceTypeInfo) -> Shape:
        nullable = not isinstance(type_info, PrimitiveArrayTypeInfo)
        return Shape("list", of=[self._part(type_info.element_type, nullable)])

    def visit_map(self, type_info: MapTypeInfo) -> Shape:
        return Shape("map", of=[self._part(type_info.key_type, False), self._part(type_info.value_type, True)])

    def visit_tuple(self, type_info: TupleTypeInfo) -> Shape:
        return Shape("tuple", of=[self._part(t, True) for t in type_info.field_types])

    def visit_row(self, type_info: RowTypeInfo) -> Shape:
        evolution = type_info.evolution
        pairs = zip(type_info.get_field_names(), type_info.field_types, strict=True)
        fields = [ShapeField(name, self._part(kind, True), optional=True) for name, kind in pairs]
        none_values: dict[str, Callable[[], Any]] = {f.name: constant(None) for f in fields}
        check_field_names(evolution, set(none_values), type_info.name)
        binding = TypeBinding(type_info, evolution, none_values | _default_values(evolution))
        return Shape("record", form="row", fields=fields, version=evolution.version, binding=binding)

    def visit_python(self, type_info: PythonTypeInfo) -> Shape:
        return AnnotationShapes().shape(inspect.type_info(type_info.python_type))

    def _part(self, type_info: TypeInformation, nullable: bool) -> Shape:
        shape = self.visit(type_info)
        shape.null = shape.null or nullable
        return _with_type_evolution(shape, type_info)


def _default_values(evolution: Evolution) -> dict[str, Callable[[], Any]]:
    return {name: constant(value) for name, value in evolution.defaults.items()}


_SHAPES = _TypeShapes()
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
