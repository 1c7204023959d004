"""Projection and aggregation of fields, which are selected by position or name."""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from penstock.errors import PlanError
from penstock.functions import ReduceFunction
from penstock.types import PythonTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.fields import FieldsTypeInfo

Getter = Callable[[Any], Any]
Replacer = Callable[[Any, Any], Any]


class Projection:
    """Selects fields of a tuple.

    >>> Projection(2, 0)(("a", "b", "c"))
    ('c', 'a')
    """

    def __init__(self, *indexes: int) -> None:
        positions: tuple[Any, ...] = indexes
        if not positions or not all(isinstance(i, int) and i >= 0 for i in positions):
            raise PlanError(
                "FIELD_POSITION",
                f"project() got {indexes!r}; it takes positions of fields from 0, such as project(2, 0).",
            )
        self._indexes = indexes

    def __call__(self, value: Any) -> tuple[Any, ...]:
        return tuple([value[i] for i in self._indexes])

    def output_type_of(self, input_type: TypeInformation | None) -> TypeInformation | None:
        """Returns the type of the result for elements of a type. None if the type has no known fields."""
        shape = input_type.shape if isinstance(input_type, PythonTypeInfo) else input_type
        if not isinstance(shape, FieldsTypeInfo):
            return None
        fields = shape.get_field_types()
        if max(self._indexes) >= len(fields):
            raise PlanError(
                "FIELD_POSITION",
                f"project{self._indexes} was called on a stream of {shape.name}, which has fields 0 to {len(fields) - 1}.",
            )
        return TupleTypeInfo([fields[i] for i in self._indexes])


class AccumulateType(Enum):
    """The kinds of rolling aggregates."""

    MIN = 1
    MAX = 2
    MIN_BY = 3
    MAX_BY = 4
    SUM = 5


class FieldAggregate(ReduceFunction[Any]):
    """A rolling aggregate of one field.

    `sum`, `min` and `max` replace the field in the first element. `min_by` and `max_by` return the element with the minimum or
    maximum.

    >>> FieldAggregate(AccumulateType.SUM, 1).reduce(("a", 1), ("b", 2))
    ('a', 3)
    >>> FieldAggregate(AccumulateType.MAX_BY, 1).reduce(("a", 1), ("b", 2))
    ('b', 2)
    """

    def __init__(self, kind: AccumulateType, position: int | str) -> None:
        if not isinstance(position, int | str):
            raise PlanError(
                "FIELD_POSITION",
                f"{kind.name.lower()}() got {position!r}; it takes the position (int) or the name (str) of a field.",
            )
        self._kind = kind
        self._position = position
        self._reducers: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}

    def reduce(self, value1: Any, value2: Any) -> Any:
        types = type(value1), type(value2)  # an untyped stream may mix them, such as tuples and lists
        reducer = self._reducers.get(types)
        if reducer is None:
            reducer = self._reducers[types] = self._reducer(value1, value2)
        return reducer(value1, value2)

    def _reducer(self, value1: Any, value2: Any) -> Callable[[Any, Any], Any]:
        kind = self._kind
        get1, put = _access(value1, self._position)
        get2, _ = _access(value2, self._position)
        if kind is AccumulateType.MIN_BY:
            return lambda a, b: b if get2(b) < get1(a) else a
        if kind is AccumulateType.MAX_BY:
            return lambda a, b: b if get2(b) > get1(a) else a
        if kind is AccumulateType.SUM:
            return lambda a, b: put(a, get1(a) + get2(b))
        if kind is AccumulateType.MIN:
            return lambda a, b: put(a, get2(b)) if get2(b) < get1(a) else a
        return lambda a, b: put(a, get2(b)) if get2(b) > get1(a) else a

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reducers": {}}


def _access(value: Any, position: int | str) -> tuple[Getter, Replacer]:
    """Returns functions that read a field of such values, and that return a copy with another field."""
    if isinstance(value, tuple):
        index = _position_in(value, position)
        remake = getattr(value, "_make", tuple)
        return operator.itemgetter(index), lambda v, f: remake((*v[:index], f, *v[index + 1 :]))
    if dataclasses.is_dataclass(value) or isinstance(value, msgspec.Struct):
        name = _name_in(value, position)
        change = msgspec.structs.replace if isinstance(value, msgspec.Struct) else dataclasses.replace
        return operator.attrgetter(name), lambda v, f: change(v, **{name: f})
    if hasattr(value, "__getitem__") and hasattr(value, "__setitem__"):  # a list, a Row, a dict
        return operator.itemgetter(position), lambda v, f: _with_item(v, position, f)
    if isinstance(position, str) and hasattr(value, position):
        return operator.attrgetter(position), lambda v, f: _with_attribute(v, position, f)
    if position != 0:
        raise TypeError(
            f"a {type(value).__name__} has no field {position!r}. It has only field 0, which is the value itself"
        )
    return lambda v: v, lambda v, f: f


def _position_in(value: Any, position: int | str) -> int:
    if isinstance(position, int):
        return position if position >= 0 else len(value) + position
    fields = getattr(value, "_fields", ())
    if position not in fields:
        raise TypeError(f"a {type(value).__name__} has no field '{position}'. Its fields are {list(fields)}")
    return int(fields.index(position))


def _name_in(value: Any, position: int | str) -> str:
    names = (
        list(value.__struct_fields__)
        if isinstance(value, msgspec.Struct)
        else [field.name for field in dataclasses.fields(value)]
    )
    if isinstance(position, int):
        return names[position]
    if position not in names:
        raise TypeError(f"a {type(value).__name__} has no field '{position}'. Its fields are {names}")
    return position


def _with_item(value: Any, position: int | str, field: Any) -> Any:
    changed = copy.copy(value)
    changed[position] = field
    return changed


def _with_attribute(value: Any, name: str, field: Any) -> Any:
    changed = copy.copy(value)
    setattr(changed, name, field)
    return changed
