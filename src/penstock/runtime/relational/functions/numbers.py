"""Exact numbers on columns: rounding half up, and decimals that become null when they do not fit."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.types.logical.kinds import DecimalType

CONTEXT = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
_UNITS = [decimal.Decimal(1).scaleb(-s) for s in range(39)]


def fitted(value: decimal.Decimal, type_: DecimalType) -> decimal.Decimal | None:
    """Returns a number rounded to a decimal type, None if it has too many digits.

    >>> fitted(decimal.Decimal("2.345"), DecimalType(3, 2)), fitted(decimal.Decimal("12.3"), DecimalType(2, 1))
    (Decimal('2.35'), None)
    """
    if not value.is_finite() or value.adjusted() > 40:
        return None
    rounded = value.quantize(_UNITS[type_.scale], context=CONTEXT)
    return rounded if rounded.adjusted() < type_.precision - type_.scale or rounded == 0 else None


def to_decimal(column: Value, type_: DecimalType) -> Value:
    """Converts a column of decimals or integers to a decimal type: rounds half up, null if there are too many digits."""
    wanted = pa.decimal128(type_.precision, type_.scale)
    if column.type == wanted:
        return column
    if pa.types.is_decimal(column.type):
        if type_.scale >= column.type.scale:  # nothing to round
            try:
                return pc.cast(column, wanted)
            except pa.ArrowInvalid:  # a number has too many digits
                return python_decimals(column, type_)
    elif pa.types.is_integer(column.type):
        if type_.precision - type_.scale >= 19:
            return pc.cast(column, wanted)
        if type_.scale <= 19:
            return to_decimal(pc.cast(column, pa.decimal128(38, type_.scale)), type_)
    return python_decimals(column, type_)


def python_decimals(column: Value, type_: DecimalType) -> Value:
    """The same for any column of exact numbers, value by value."""
    values = [column.as_py()] if isinstance(column, pa.Scalar) else column.to_pylist()
    found = [None if v is None else fitted(decimal.Decimal(v), type_) for v in values]
    result = pa.array(found, pa.decimal128(type_.precision, type_.scale))
    return result[0] if isinstance(column, pa.Scalar) else result


def decimal_operation(operation: Any, a: list[Any], b: list[Any], type_: DecimalType) -> pa.Array:
    """Computes an operation of decimals exactly, value by value."""
    results = [None if x is None or y is None else operation(x, y) for x, y in zip(a, b, strict=True)]
    found = [None if r is None else fitted(r, type_) for r in results]
    return pa.array(found, pa.decimal128(type_.precision, type_.scale))
