"""Types of text, numbers and Booleans."""

from __future__ import annotations

import decimal
import operator
import struct
from array import array
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

from penstock.types.information import Misfit, TypeInformation, describe_value, non_null, value_classes
from penstock.types.visitor import TypeVisitor

R = TypeVar("R")


class BasicType(Enum):
    """The basic types. The value of a member is the text that its type prints."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


RANGES = {
    BasicType.BYTE: (-(2**7), 2**7 - 1),
    BasicType.SHORT: (-(2**15), 2**15 - 1),
    BasicType.INT: (-(2**31), 2**31 - 1),
    BasicType.LONG: (-(2**63), 2**63 - 1),
}
_KINDS: dict[BasicType, type] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: bool,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
    BasicType.BIG_DEC: decimal.Decimal,
}
_NULLABLE = {BasicType.STRING, BasicType.BIG_INT, BasicType.BIG_DEC, BasicType.INSTANT}
_single = struct.Struct("<f")


class BasicTypeInfo(TypeInformation):
    """The type of one of the basic values, such as STRING or LONG.

    >>> BasicTypeInfo(BasicType.BYTE).convert(128)
    Traceback (most recent call last):
        ...
    penstock.types.information.Misfit: 128 is out of range for BYTE (-128 to 127)
    """

    def __init__(self, basic_type: BasicType) -> None:
        self.basic_type = basic_type
        self.name = basic_type.name
        self.nullable = basic_type in _NULLABLE
        self.kind = _KINDS.get(basic_type, int)
        self.range = RANGES.get(basic_type)

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_instant(self) if self.basic_type is BasicType.INSTANT else visitor.visit_basic(self)

    def __repr__(self) -> str:
        return self.basic_type.value

    def fits(self, values: Sequence[Any]) -> bool:
        classes = value_classes(values)
        if not classes:
            return True
        if classes != {self.kind}:
            return False
        if self.range is not None:
            present = non_null(values)
            return bool(min(present) >= self.range[0] and max(present) <= self.range[1])
        if self.basic_type is BasicType.FLOAT:
            present = non_null(values)
            return array("f", present).tolist() == list(present)
        if self.basic_type is BasicType.CHAR:
            return set(map(len, non_null(values))) <= {1}
        return True

    def convert(self, value: Any) -> Any:
        try:
            converted = _CONVERT[self.basic_type](value)
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            raise Misfit(f"{describe_value(value)}, but {self.name} takes {_TAKES[self.basic_type]}") from None
        if self.range is not None and not self.range[0] <= converted <= self.range[1]:
            raise Misfit(f"{value!r} is out of range for {self.name} ({self.range[0]} to {self.range[1]})")
        return converted


def _to_str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str.__str__(value)


def _to_char(value: Any) -> str:
    text = _to_str(value)
    if len(text) != 1:
        raise ValueError
    return text


def _to_bool(value: Any) -> bool:
    if type(value).__module__ == "numpy":  # a Boolean of numpy is not an index
        value = value.item()
    # Flink writes a Boolean as one byte, so integers from 0 to 255 are accepted.
    if not 0 <= operator.index(value) <= 255:
        raise ValueError
    return bool(value)


def _to_float(value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError
    return float(value)


def _to_single_precision(value: Any) -> float:
    real = _to_float(value)
    try:
        rounded: float = _single.unpack(_single.pack(real))[0]
    except OverflowError:  # as in C, numbers that are too large become infinite
        return float("inf") if real > 0 else float("-inf")
    return rounded


def _to_int(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # Flink truncates other floats; Penstock rejects them
        return int(value)
    return int(operator.index(value))


def _to_decimal(value: Any) -> decimal.Decimal:
    return value if type(value) is decimal.Decimal else decimal.Decimal(str(value))


_CONVERT: dict[BasicType, Callable[[Any], Any]] = {
    BasicType.STRING: _to_str,
    BasicType.CHAR: _to_char,
    BasicType.BOOLEAN: _to_bool,
    BasicType.BYTE: _to_int,
    BasicType.SHORT: _to_int,
    BasicType.INT: _to_int,
    BasicType.LONG: _to_int,
    BasicType.BIG_INT: _to_int,
    BasicType.FLOAT: _to_single_precision,
    BasicType.DOUBLE: _to_float,
    BasicType.BIG_DEC: _to_decimal,
}
_INTEGER = "an integer"
_TAKES = {
    BasicType.STRING: "a str",
    BasicType.CHAR: "a str of one character",
    BasicType.BOOLEAN: "a bool",
    BasicType.BYTE: _INTEGER,
    BasicType.SHORT: _INTEGER,
    BasicType.INT: _INTEGER,
    BasicType.LONG: _INTEGER,
    BasicType.BIG_INT: _INTEGER,
    BasicType.FLOAT: "a number",
    BasicType.DOUBLE: "a number",
    BasicType.BIG_DEC: "a Decimal",
}
