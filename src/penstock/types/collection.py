"""Types of arrays, lists, maps and bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.information import Misfit, TypeInformation, describe_value, has_none, non_null, value_classes
from penstock.types.visitor import TypeVisitor

R = TypeVar("R")


class SequenceTypeInfo(TypeInformation):
    """Base class of the types whose values are lists. Arrays are lists in Python too."""

    label = ""  # first part of the name
    printed = ""  # first part of the repr

    def __init__(self, element_type: TypeInformation) -> None:
        self.element_type = element_type
        self.exact = element_type.exact
        self.name = f"{self.label}<{element_type.name}>"

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_list(self)

    @property
    def declared(self) -> bool:
        return self.element_type.declared

    def __repr__(self) -> str:
        return f"{self.printed}<{self.element_type!r}>"

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {list} and self.element_type.fits(list(chain.from_iterable(non_null(values))))

    def convert(self, value: Any) -> Any:
        if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
            raise Misfit(f"{describe_value(value)}, but {self.name} takes a list")
        elements = value.tolist() if hasattr(value, "tolist") else value  # numpy arrays and array.array
        return [self._convert_element(i, e) for i, e in enumerate(elements)]

    def _convert_element(self, index: int, element: Any) -> Any:
        try:
            return self.element_type.convert_nullable(element)
        except Misfit as misfit:
            raise misfit.with_path(f"element {index}") from None


class ListTypeInfo(SequenceTypeInfo):
    """The type of lists.

    >>> from penstock.types import Types
    >>> Types.LIST(Types.INT())
    ListTypeInfo<Integer>
    """

    label, printed = "LIST", "ListTypeInfo"

    @property
    def elem_type(self) -> TypeInformation:
        return self.element_type


class BasicArrayTypeInfo(SequenceTypeInfo):
    """The type of arrays of basic values. Elements may be None."""

    label, printed = "BASIC_ARRAY", "BasicArrayTypeInfo"


class ObjectArrayTypeInfo(SequenceTypeInfo):
    """The type of arrays of values of any type."""

    label, printed = "OBJECT_ARRAY", "ObjectArrayTypeInfo"


class PrimitiveArrayTypeInfo(SequenceTypeInfo):
    """The type of arrays of numbers or Booleans. Elements must not be None. An array of BYTE is a bytes object.

    >>> PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)).convert(bytearray(b"ab"))
    b'ab'
    """

    label, printed = "PRIMITIVE_ARRAY", "PrimitiveArrayTypeInfo"

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_bytes(self) if self.binary else visitor.visit_list(self)

    @property
    def binary(self) -> bool:
        """Whether values are bytes objects."""
        return isinstance(self.element_type, BasicTypeInfo) and self.element_type.basic_type is BasicType.BYTE

    def fits(self, values: Sequence[Any]) -> bool:
        if self.binary:
            return value_classes(values) <= {bytes}
        return super().fits(values) and not any(map(has_none, non_null(values)))

    def convert(self, value: Any) -> Any:
        return _to_bytes(value, self.name) if self.binary else super().convert(value)

    def _convert_element(self, index: int, element: Any) -> Any:
        if element is None:
            raise Misfit(f"element {index}: {self.name} must not contain None; declare a BASIC_ARRAY")
        return super()._convert_element(index, element)


class BytesTypeInfo(TypeInformation):
    """The type of bytes objects."""

    name = "BYTES"
    nullable = True

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_bytes(self)

    def __repr__(self) -> str:
        return "Bytes"

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {bytes}

    def convert(self, value: Any) -> bytes:
        return _to_bytes(value, self.name)


def _to_bytes(value: Any, type_name: str) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise Misfit(f"{describe_value(value)}, but {type_name} takes bytes")
    return bytes(value)


class MapTypeInfo(TypeInformation):
    """The type of dicts with one type of keys and one type of values. Values may be None, keys must not.

    >>> from penstock.types import Types
    >>> Types.MAP(Types.STRING(), Types.INT()).convert({"a": True, "b": None})
    {'a': 1, 'b': None}
    """

    def __init__(self, key_type: TypeInformation, value_type: TypeInformation) -> None:
        self.key_type = key_type
        self.value_type = value_type
        self.exact = key_type.exact and value_type.exact
        self.name = f"MAP<{key_type.name},{value_type.name}>"

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_map(self)

    @property
    def declared(self) -> bool:
        return self.key_type.declared and self.value_type.declared

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type!r}, {self.value_type!r}>"

    def fits(self, values: Sequence[Any]) -> bool:
        if not value_classes(values) <= {dict}:
            return False
        present = non_null(values)
        keys = list(chain.from_iterable(present))
        return (
            not has_none(keys)
            and self.key_type.fits(keys)
            and self.value_type.fits(list(chain.from_iterable(v.values() for v in present)))
        )

    def convert(self, value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise Misfit(f"{describe_value(value)}, but {self.name} takes a dict")
        converted = {}
        for key, item in value.items():
            if key is None:
                raise Misfit(f"a key of {self.name} must not be None")
            try:
                converted[self.key_type.convert(key)] = self.value_type.convert_nullable(item)
            except Misfit as misfit:
                raise misfit.with_path(f"key {key!r}") from None
        return converted
