"""Types of arrays, lists and maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.information import Misfit, TypeInformation, has_none, kinds_of, present_of, shown


class SequenceTypeInfo(TypeInformation):
    """Lists whose elements have one type; arrays too are lists in Python."""

    label = ""  # of the name
    printed = ""

    def __init__(self, element_type: TypeInformation) -> None:
        self.element_type = element_type
        self.exact = element_type.exact
        self.name = f"{self.label}<{element_type.name}>"

    @property
    def declared(self) -> bool:
        return self.element_type.declared

    def __repr__(self) -> str:
        return f"{self.printed}<{self.element_type!r}>"

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {list} and self.element_type.fits(list(chain.from_iterable(present_of(values))))

    def convert(self, value: Any) -> Any:
        if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
            raise Misfit(f"{shown(value)}, and {self.name} takes a list")
        elements = value.tolist() if hasattr(value, "tolist") else value  # numpy's arrays and array.array
        return [self._convert_element(i, e) for i, e in enumerate(elements)]

    def _convert_element(self, place: int, element: Any) -> Any:
        try:
            return self.element_type.convert_part(element)
        except Misfit as misfit:
            raise misfit.inside(f"element {place}") from None


class ListTypeInfo(SequenceTypeInfo):
    """Lists.

    >>> from penstock.types import Types
    >>> Types.LIST(Types.INT())
    ListTypeInfo<Integer>
    """

    label, printed = "LIST", "ListTypeInfo"

    @property
    def elem_type(self) -> TypeInformation:
        return self.element_type


class BasicArrayTypeInfo(SequenceTypeInfo):
    """Arrays of basic values, which may be None."""

    label, printed = "BASIC_ARRAY", "BasicArrayTypeInfo"


class ObjectArrayTypeInfo(SequenceTypeInfo):
    """Arrays of anything."""

    label, printed = "OBJECT_ARRAY", "ObjectArrayTypeInfo"


class PrimitiveArrayTypeInfo(SequenceTypeInfo):
    """Arrays of numbers or truth values, none of which is None. An array of BYTE is a bytes object.

    >>> PrimitiveArrayTypeInfo(BasicTypeInfo(BasicType.BYTE)).convert(bytearray(b"ab"))
    b'ab'
    """

    label, printed = "PRIMITIVE_ARRAY", "PrimitiveArrayTypeInfo"

    @property
    def binary(self) -> bool:
        return isinstance(self.element_type, BasicTypeInfo) and self.element_type.basic_type is BasicType.BYTE

    def fits(self, values: Sequence[Any]) -> bool:
        if self.binary:
            return kinds_of(values) <= {bytes}
        return super().fits(values) and not any(map(has_none, present_of(values)))

    def convert(self, value: Any) -> Any:
        if not self.binary:
            return super().convert(value)
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise Misfit(f"{shown(value)}, and {self.name} takes bytes")
        return bytes(value)

    def _convert_element(self, place: int, element: Any) -> Any:
        if element is None:
            raise Misfit(f"element {place}: None cannot stand in a {self.name}; declare a BASIC_ARRAY")
        return super()._convert_element(place, element)


class BytesTypeInfo(TypeInformation):
    """Bytes."""

    name = "BYTES"
    nullable = True

    def __repr__(self) -> str:
        return "Bytes"

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {bytes}

    def convert(self, value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise Misfit(f"{shown(value)}, and BYTES takes bytes")
        return bytes(value)


class MapTypeInfo(TypeInformation):
    """Dicts whose keys have one type, and whose values have one.

    >>> from penstock.types import Types
    >>> Types.MAP(Types.STRING(), Types.INT()).convert({"a": True, "b": None})
    {'a': 1, 'b': None}
    """

    def __init__(self, key_type: TypeInformation, value_type: TypeInformation) -> None:
        self.key_type = key_type
        self.value_type = value_type
        self.exact = key_type.exact and value_type.exact
        self.name = f"MAP<{key_type.name},{value_type.name}>"

    @property
    def declared(self) -> bool:
        return self.key_type.declared and self.value_type.declared

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type!r}, {self.value_type!r}>"

    def fits(self, values: Sequence[Any]) -> bool:
        if not kinds_of(values) <= {dict}:
            return False
        present = present_of(values)
        keys = list(chain.from_iterable(present))
        return (
            not has_none(keys)
            and self.key_type.fits(keys)
            and self.value_type.fits(list(chain.from_iterable(v.values() for v in present)))
        )

    def convert(self, value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise Misfit(f"{shown(value)}, and {self.name} takes a dict")
        converted = {}
        for key, item in value.items():
            if key is None:
                raise Misfit(f"None cannot be a key of a {self.name}")
            try:
                converted[self.key_type.convert(key)] = self.value_type.convert_part(item)
            except Misfit as misfit:
                raise misfit.inside(f"key {key!r}") from None
        return converted
