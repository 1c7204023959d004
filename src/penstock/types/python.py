"""Types of Python classes and annotations."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from penstock.types.collection import ListTypeInfo, MapTypeInfo
from penstock.types.evolution import UNCHANGED
from penstock.types.fields import FieldsTypeInfo, TupleTypeInfo
from penstock.types.information import Misfit, TypeInformation, describe_value, value_classes
from penstock.types.visitor import TypeVisitor

R = TypeVar("R")
_SCALARS = (bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time, datetime.datetime)


class PythonTypeInfo(TypeInformation):
    """The type of a Python annotation. Values are checked but not changed, except that integers become floats where declared
    and single values of numpy become those of Python.

    It is not `exact` because instances of subclasses are accepted, and an object with a float field keeps an integer in it.

    >>> PythonTypeInfo(tuple[str, int]).fits([("a", 1)]), PythonTypeInfo(tuple[str, int]).fits([("a", "1")])
    (True, False)
    """

    exact = False

    def __init__(self, python_type: Any) -> None:
        self.python_type = python_type
        self.name = getattr(python_type, "__qualname__", None) or str(python_type)
        if typing.get_origin(python_type) is not None:  # list[int] has the __qualname__ of list
            self.name = str(python_type)
        self._shape: TypeInformation | None = None
        self._has_shape = False

    @property
    def nullable(self) -> bool:  # type: ignore[override]
        return _is_optional(self.python_type)

    @property
    def shape(self) -> TypeInformation | None:
        """The structure of the annotation. None if it is unknown, for example for a class without declared fields."""
        if not self._has_shape:
            self._shape, self._has_shape = _find_shape(self.python_type, ()), True
        return self._shape

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_python(self)

    def __reduce__(self) -> tuple[Any, ...]:
        reduced = PythonTypeInfo, (self.python_type,)
        return reduced if self.evolution is UNCHANGED else (*reduced, {"evolution": self.evolution})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonTypeInfo) and self.python_type == other.python_type

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"PythonTypeInfo<{self.name}>"

    def fits(self, values: Sequence[Any]) -> bool:
        return self.shape is not None and self.shape.fits(values)

    def convert(self, value: Any) -> Any:
        if self.shape is not None:
            return self.shape.convert(value)
        classes = _instance_classes(self.python_type)
        if classes is not None and not isinstance(value, classes):
            raise Misfit(f"{describe_value(value)}, but a {self.name} was declared")
        return value


class ScalarTypeInfo(TypeInformation):
    """The type of a Python class of single values, such as int or datetime.date."""

    def __init__(self, python_class: type) -> None:
        self.python_class = python_class
        self.name = python_class.__qualname__

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_scalar(self)

    def __repr__(self) -> str:
        return self.name

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {self.python_class}

    def convert(self, value: Any) -> Any:
        if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
            value = value.item()  # a number, text or Boolean of numpy
        if isinstance(value, self.python_class) and not (self.python_class is int and isinstance(value, bool)):
            return value
        if self.python_class is float and type(value) is int:
            return float(value)
        raise Misfit(f"{describe_value(value)}, but a {self.name} was declared")


class ClassTypeInfo(FieldsTypeInfo):
    """The type of a dataclass, a msgspec Struct or a NamedTuple, by its declared fields."""

    def __init__(self, python_class: type, fields: dict[str, TypeInformation]) -> None:
        self.python_class = python_class
        self.field_names = list(fields)
        self.field_types = list(fields.values())
        self.name = python_class.__qualname__
        self._getters: list[Callable[[Any], Any]] = [attrgetter(n) for n in fields]

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_class(self)

    def __repr__(self) -> str:
        return self.name

    def get_field_names(self) -> list[str]:
        return self.field_names

    def field_label(self, index: int) -> str:
        return f"field '{self.field_names[index]}'"

    def columns(self, values: Sequence[Any]) -> list[Any]:
        return [list(map(getter, values)) for getter in self._getters]

    def matches_class(self, values: Sequence[Any]) -> bool:
        return set(map(type, values)) == {self.python_class}

    def constructor(self) -> Callable[[list[Any]], Any]:
        names, python_class = self.field_names, self.python_class
        return lambda fields: python_class(**dict(zip(names, fields, strict=True)))

    def fits(self, values: Sequence[Any]) -> bool:
        try:
            return super().fits(values)
        except AttributeError:  # a field was never set
            return False

    def convert(self, value: Any) -> Any:
        if not isinstance(value, self.python_class):
            raise Misfit(f"{describe_value(value)}, but a {self.name} was declared")
        # The object is not rebuilt: it may be frozen, and its class may contain more than these fields.
        self.convert_fields([getattr(value, n, None) for n in self.field_names], value)
        return value


def field_annotations(python_class: Any) -> dict[str, Any] | None:
    """Returns the annotations of the fields of a dataclass, a Struct or a NamedTuple, or None for other classes.

    >>> field_annotations(typing.NamedTuple("P", [("x", int)]))
    {'x': <class 'int'>}
    """
    if not isinstance(python_class, type):
        return None
    try:
        if dataclasses.is_dataclass(python_class):
            hints = typing.get_type_hints(python_class)
            return {f.name: hints[f.name] for f in dataclasses.fields(python_class)}
        if issubclass(python_class, msgspec.Struct):
            return {f.name: f.type for f in msgspec.structs.fields(python_class)}
        if issubclass(python_class, tuple) and hasattr(python_class, "_fields"):
            hints = typing.get_type_hints(python_class)
            return {n: hints[n] for n in python_class._fields}
    except (NameError, KeyError, TypeError, AttributeError):
        return None  # an annotation that cannot be resolved here
    return None


def _instance_classes(annotation: Any) -> tuple[type, ...] | None:
    """The classes of the values of a type; None if they are not known.

    >>> _instance_classes(list[int] | str | None)
    (<class 'list'>, <class 'str'>, <class 'NoneType'>)
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _instance_classes(args[0])
    if origin in (typing.Union, types.UnionType):
        members = [_instance_classes(member) for member in args]
        return None if None in members else tuple(cls for member in members if member is not None for cls in member)
    python_class = origin or annotation
    if typing.is_typeddict(python_class):  # it has no instances
        return (dict,)
    if python_class is float:
        return float, int
    return (python_class,) if isinstance(python_class, type) else None


def _find_shape(annotation: Any, within: tuple[Any, ...]) -> TypeInformation | None:
    """Returns the structure of an annotation. None if a part is unknown or if a class contains itself."""
    if annotation in _SCALARS:
        return ScalarTypeInfo(annotation)
    if annotation in within:
        return None
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _find_shape(args[0], within)
    if origin in (typing.Union, types.UnionType):
        others = [a for a in args if a is not type(None)]
        return _find_shape(others[0], within) if len(others) == 1 else None
    if origin is tuple and args and ... not in args:
        parts = [_find_shape(a, within) for a in args]
        return TupleTypeInfo(parts) if all(parts) else None  # type: ignore[arg-type]
    if origin is list:
        element = _find_shape(args[0], within)
        return ListTypeInfo(element) if element is not None else None
    if origin is dict:
        key, value = (_find_shape(a, within) for a in args)
        return MapTypeInfo(key, value) if key is not None and value is not None else None
    fields = field_annotations(annotation) if origin is None else None
    if fields is None:
        return None
    shapes = {n: _find_shape(a, (*within, annotation)) for n, a in fields.items()}
    return ClassTypeInfo(annotation, shapes) if shapes and all(shapes.values()) else None  # type: ignore[arg-type]


def _is_optional(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType) and type(None) in typing.get_args(
        annotation
    )
