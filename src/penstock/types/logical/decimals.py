"""The types of decimal arithmetic. The scale is reduced, down to six digits, before digits in front of the point are lost."""

from __future__ import annotations

from penstock.types.logical.kinds import MAX_PRECISION, DecimalType, IntegerType, LogicalType

_KEPT_SCALE = 6


def as_decimal(type_: LogicalType) -> DecimalType | None:
    """Returns an exact numeric type as a decimal type, None for other types.

    >>> from penstock.types.logical.kinds import BIGINT
    >>> print(as_decimal(BIGINT))
    DECIMAL(19, 0)
    """
    if isinstance(type_, DecimalType):
        return type_
    if isinstance(type_, IntegerType):
        return DecimalType(type_.precision, 0, nullable=type_.nullable)
    return None


def _fitted(precision: int, scale: int, nullable: bool) -> DecimalType:
    if precision > MAX_PRECISION:
        whole = precision - scale
        precision, scale = MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _KEPT_SCALE))
    return DecimalType(precision, scale, nullable=nullable)


def sum_type(a: DecimalType, b: DecimalType) -> DecimalType:
    """Returns the type of a + b and a - b.

    >>> print(sum_type(DecimalType(12, 2), DecimalType(10, 3)))
    DECIMAL(14, 3)
    """
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return _fitted(whole + scale + 1, scale, a.nullable or b.nullable)


def product_type(a: DecimalType, b: DecimalType) -> DecimalType:
    """Returns the type of a * b.

    >>> print(product_type(DecimalType(3, 3), DecimalType(19, 0)))
    DECIMAL(23, 3)
    """
    return _fitted(a.precision + b.precision + 1, a.scale + b.scale, a.nullable or b.nullable)


def quotient_type(a: DecimalType, b: DecimalType) -> DecimalType:
    """Returns the type of a / b.

    >>> print(quotient_type(DecimalType(12, 2), DecimalType(10, 3)))
    DECIMAL(26, 13)
    """
    scale = max(_KEPT_SCALE, a.scale + b.precision + 1)
    return _fitted(a.precision - a.scale + b.scale + scale, scale, a.nullable or b.nullable)


def remainder_type(a: DecimalType, b: DecimalType) -> DecimalType:
    """Returns the type of a % b."""
    scale = max(a.scale, b.scale)
    return _fitted(min(a.precision - a.scale, b.precision - b.scale) + scale, scale, a.nullable or b.nullable)


def rounded_type(a: DecimalType, digits: int) -> DecimalType:
    """Returns the type of a decimal rounded to a number of digits behind the point.

    >>> print(rounded_type(DecimalType(5, 3), 2))
    DECIMAL(5, 2)
    """
    if digits >= a.scale:
        return a
    whole = 1 + a.precision - a.scale
    if digits < 0:
        return DecimalType(min(MAX_PRECISION, whole), 0, nullable=a.nullable)
    return DecimalType(whole + digits, digits, nullable=a.nullable)


def average_type(a: DecimalType) -> DecimalType:
    """Returns the type of AVG over a decimal."""
    return quotient_type(DecimalType(MAX_PRECISION, a.scale, nullable=a.nullable), DecimalType(20, 0, nullable=False))


def total_type(a: DecimalType) -> DecimalType:
    """Returns the type of SUM over a decimal."""
    return DecimalType(MAX_PRECISION, a.scale, nullable=a.nullable)
