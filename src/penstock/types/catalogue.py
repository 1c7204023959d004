"""The `Types` class, which creates types with PyFlink's names."""

from __future__ import annotations

import types
from typing import Any

from penstock.errors import PlanError
from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.collection import (
    BasicArrayTypeInfo,
    BytesTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.fields import RowTypeInfo, TupleTypeInfo
from penstock.types.information import PickledBytesTypeInfo, TypeInformation
from penstock.types.python import PythonTypeInfo
from penstock.types.temporal import DateTypeInfo, InstantTypeInfo, TimestampTypeInfo, TimeTypeInfo


class Types:
    """Creates types, with PyFlink's names.

    >>> Types.ROW_NAMED(["name", "tags"], [Types.STRING(), Types.LIST(Types.STRING())])
    RowTypeInfo(name: String, tags: ListTypeInfo<String>)
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """Strings."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BYTE() -> TypeInformation:
        """8-bit integers."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """Booleans."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def SHORT() -> TypeInformation:
        """16-bit integers."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT() -> TypeInformation:
        """32-bit integers."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG() -> TypeInformation:
        """64-bit integers."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT() -> TypeInformation:
        """32-bit floating-point numbers. Values are rounded to single precision."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """64-bit floating-point numbers, the floats of Python."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR() -> TypeInformation:
        """Strings of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """Integers of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """Decimal numbers of any size and precision."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT() -> TypeInformation:
        """Points on the time line (`Instant`)."""
        return InstantTypeInfo()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """Dates."""
        return DateTypeInfo()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """Times of day without a time zone."""
        return TimeTypeInfo()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """Dates with times, without a time zone."""
        return TimestampTypeInfo()

    @staticmethod
    def BYTES() -> TypeInformation:
        """Bytes. PyFlink has no such type and uses `PRIMITIVE_ARRAY(BYTE())`."""
        return BytesTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object. Values are pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: list[TypeInformation]) -> RowTypeInfo:
        """Rows with fields named f0, f1, ..."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: list[str], field_types: list[TypeInformation]) -> RowTypeInfo:
        """Rows with named fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: list[TypeInformation]) -> TupleTypeInfo:
        """Tuples with one field for each type."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Arrays of numbers or Booleans. Elements must not be None. Values of `PRIMITIVE_ARRAY(BYTE())` are bytes objects."""
        _check_element("PRIMITIVE_ARRAY", element_type, _PRIMITIVE)
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Arrays of basic values. Elements may be None."""
        _check_element("BASIC_ARRAY", element_type, {*_PRIMITIVE, BasicType.STRING})
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """Arrays of values of one type. Elements may be None."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """Dicts with one type of keys and one type of values."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """Lists of values of one type. Elements may be None."""
        return ListTypeInfo(element_type_info)

    @staticmethod
    def of(python_type: Any) -> TypeInformation:
        """The type of a dataclass, a msgspec Struct, a NamedTuple or any other Python annotation.

        >>> Types.of(list[int])
        PythonTypeInfo<list[int]>
        """
        return PythonTypeInfo(python_type)


_PRIMITIVE = {
    BasicType.BOOLEAN,
    BasicType.BYTE,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.FLOAT,
    BasicType.DOUBLE,
    BasicType.CHAR,
}


def _check_element(array: str, element: TypeInformation, allowed: set[BasicType]) -> None:
    if not isinstance(element, BasicTypeInfo) or element.basic_type not in allowed:
        names = ", ".join(t.name for t in BasicType if t in allowed)
        raise TypeError(
            f"{array} does not take elements of type {element!r}, only {names}. Use OBJECT_ARRAY or LIST for other elements."
        )


_NOT_TYPES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, str, int, float, list, tuple, dict)


def type_information(declared: TypeInformation | type | None) -> TypeInformation:
    """Returns the type that a user declared with one of `Types`, with a Python type, or with None for no type.

    >>> type_information(int).name
    'int'
    """
    if isinstance(declared, TypeInformation):
        return declared
    if declared is None or declared is Any or declared is object:
        return Types.PICKLED_BYTE_ARRAY()
    if isinstance(declared, _NOT_TYPES):
        name = getattr(declared, "__qualname__", None)
        hint = f" Call it: {name}()." if name and name.startswith("Types.") else ""
        raise PlanError(
            "TYPE_EXPECTED",
            f"{declared!r} is not a type. Pass one of Types.*(), a class, or an annotation such as list[int].{hint}",
        )
    return Types.of(declared)
