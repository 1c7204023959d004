"""Types that Python has itself: what an annotation says of elements."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from penstock.types.collection import ListTypeInfo, MapTypeInfo
from penstock.types.evolution import UNCHANGED
from penstock.types.fields import FieldsTypeInfo, TupleTypeInfo
from penstock.types.information import Misfit, TypeInformation, kinds_of, shown

_PLAIN = (bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time, datetime.datetime)


class PythonTypeInfo(TypeInformation):
    """An annotation as a type. Its values are checked and not changed, but for whole numbers where floats are declared.

    They are not `exact`: an object of a subclass passes, and an object keeps a whole number in a field of floats.

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
        self._shaped = False

    @property
    def nullable(self) -> bool:  # type: ignore[override]
        return _is_optional(self.python_type)

    @property
    def shape(self) -> TypeInformation | None:
        """The same type taken apart; None for what Penstock cannot look into, such as a class without declared fields."""
        if not self._shaped:
            self._shape, self._shaped = _shape_of(self.python_type, ()), True
        return self._shape

    def __reduce__(self) -> tuple[Any, ...]:
        made = PythonTypeInfo, (self.python_type,)
        return made if self.evolution is UNCHANGED else (*made, {"evolution": self.evolution})

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
        kind = typing.get_origin(self.python_type) or self.python_type
        if isinstance(kind, type) and not isinstance(value, kind):
            raise Misfit(f"{shown(value)}, and a {self.name} was declared")
        return value


class PlainTypeInfo(TypeInformation):
    """One of Python's own classes of single values."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.name = kind.__qualname__

    def __repr__(self) -> str:
        return self.name

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {self.kind}

    def convert(self, value: Any) -> Any:
        if isinstance(value, self.kind) and not (self.kind is int and isinstance(value, bool)):
            return value
        if self.kind is float and type(value) is int:
            return float(value)
        raise Misfit(f"{shown(value)}, and a {self.name} was declared")


class ClassTypeInfo(FieldsTypeInfo):
    """Dataclasses, msgspec Structs and NamedTuples, by their declared fields."""

    def __init__(self, python_class: type, fields: dict[str, TypeInformation]) -> None:
        self.python_class = python_class
        self.field_names = list(fields)
        self.field_types = list(fields.values())
        self.name = python_class.__qualname__
        self._getters: list[Callable[[Any], Any]] = [attrgetter(n) for n in fields]

    def __repr__(self) -> str:
        return self.name

    def label(self, place: int) -> str:
        return f"field '{self.field_names[place]}'"

    def columns(self, values: Sequence[Any]) -> list[Any]:
        return [list(map(getter, values)) for getter in self._getters]

    def shapes(self, values: Sequence[Any]) -> bool:
        return set(map(type, values)) == {self.python_class}

    def fits(self, values: Sequence[Any]) -> bool:
        try:
            return super().fits(values)
        except AttributeError:  # a field was never set
            return False

    def convert(self, value: Any) -> Any:
        if not isinstance(value, self.python_class):
            raise Misfit(f"{shown(value)}, and a {self.name} was declared")
        # The object stays as it is: it may be frozen, and its class may do more than hold these fields.
        self.convert_fields([getattr(value, n, None) for n in self.field_names], value)
        return value


def field_annotations(python_class: Any) -> dict[str, Any] | None:
    """The declared fields of a dataclass, a Struct or a NamedTuple, with their annotations; None for other classes.

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


def _shape_of(annotation: Any, within: tuple[Any, ...]) -> TypeInformation | None:
    """A type by its parts; None when some part is not known (or when a class holds itself)."""
    if annotation in _PLAIN:
        return PlainTypeInfo(annotation)
    if annotation in within:
        return None
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _shape_of(args[0], within)
    if origin in (typing.Union, types.UnionType):
        others = [a for a in args if a is not type(None)]
        return _shape_of(others[0], within) if len(others) == 1 else None
    if origin is tuple and args and ... not in args:
        parts = [_shape_of(a, within) for a in args]
        return TupleTypeInfo(parts) if all(parts) else None  # type: ignore[arg-type]
    if origin is list:
        element = _shape_of(args[0], within)
        return ListTypeInfo(element) if element is not None else None
    if origin is dict:
        key, value = (_shape_of(a, within) for a in args)
        return MapTypeInfo(key, value) if key is not None and value is not None else None
    fields = field_annotations(annotation) if origin is None else None
    if fields is None:
        return None
    shapes = {n: _shape_of(a, (*within, annotation)) for n, a in fields.items()}
    return ClassTypeInfo(annotation, shapes) if shapes and all(shapes.values()) else None  # type: ignore[arg-type]


def _is_optional(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType) and type(None) in typing.get_args(
        annotation
    )
