"""Types of single values: text, numbers, truth values."""

from __future__ import annotations

import decimal
import operator
import struct
from array import array
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from penstock.types.information import Misfit, TypeInformation, kinds_of, present_of, shown


class BasicType(Enum):
    """The basic types, with the names that they print."""

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
    """One of the basic types.

    >>> BasicTypeInfo(BasicType.BYTE).convert(128)
    Traceback (most recent call last):
        ...
    penstock.types.information.Misfit: 128 is outside of BYTE, which goes from -128 to 127
    """

    def __init__(self, basic_type: BasicType) -> None:
        self.basic_type = basic_type
        self.name = basic_type.name
        self.nullable = basic_type in _NULLABLE
        self.kind = _KINDS.get(basic_type, int)
        self.range = RANGES.get(basic_type)

    def __repr__(self) -> str:
        return self.basic_type.value

    def fits(self, values: Sequence[Any]) -> bool:
        kinds = kinds_of(values)
        if not kinds:
            return True
        if kinds != {self.kind}:
            return False
        if self.range is not None:
            present = present_of(values)
            return bool(min(present) >= self.range[0] and max(present) <= self.range[1])
        if self.basic_type is BasicType.FLOAT:
            present = present_of(values)
            return array("f", present).tolist() == list(present)
        return True

    def convert(self, value: Any) -> Any:
        try:
            converted = _CONVERT[self.basic_type](value)
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            raise Misfit(f"{shown(value)}, and {self.name} takes {_TAKES[self.basic_type]}") from None
        if self.range is not None and not self.range[0] <= converted <= self.range[1]:
            raise Misfit(f"{value!r} is outside of {self.name}, which goes from {self.range[0]} to {self.range[1]}")
        return converted


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str.__str__(value)


def _truth(value: Any) -> bool:
    # As Flink's coder: a truth value is written as a byte, so small whole numbers pass.
    if not 0 <= operator.index(value) <= 255:
        raise ValueError
    return bool(value)


def _real(value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError
    return float(value)


def _single_precision(value: Any) -> float:
    real = _real(value)
    try:
        rounded: float = _single.unpack(_single.pack(real))[0]
    except OverflowError:  # as in C: what is too large is infinite
        return float("inf") if real > 0 else float("-inf")
    return rounded


def _whole(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # Flink cuts others off; they are refused here
        return int(value)
    return int(operator.index(value))


def _decimal(value: Any) -> decimal.Decimal:
    return value if type(value) is decimal.Decimal else decimal.Decimal(str(value))


_CONVERT: dict[BasicType, Callable[[Any], Any]] = {
    BasicType.STRING: _text,
    BasicType.CHAR: _text,
    BasicType.BOOLEAN: _truth,
    BasicType.BYTE: _whole,
    BasicType.SHORT: _whole,
    BasicType.INT: _whole,
    BasicType.LONG: _whole,
    BasicType.BIG_INT: _whole,
    BasicType.FLOAT: _single_precision,
    BasicType.DOUBLE: _real,
    BasicType.BIG_DEC: _decimal,
}
_A_WHOLE_NUMBER = "a whole number"
_TAKES = {
    BasicType.STRING: "a str",
    BasicType.CHAR: "a str",
    BasicType.BOOLEAN: "a bool",
    BasicType.BYTE: _A_WHOLE_NUMBER,
    BasicType.SHORT: _A_WHOLE_NUMBER,
    BasicType.INT: _A_WHOLE_NUMBER,
    BasicType.LONG: _A_WHOLE_NUMBER,
    BasicType.BIG_INT: _A_WHOLE_NUMBER,
    BasicType.FLOAT: "a number",
    BasicType.DOUBLE: "a number",
    BasicType.BIG_DEC: "a Decimal",
}
