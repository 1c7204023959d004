"""The common type of several types: what the branches of CASE, the operands of a comparison or the elements of an array become."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.types.logical.decimals import as_decimal
from penstock.types.logical.kinds import (
    DATETIME,
    DOUBLE,
    EXACT,
    INTERVALS,
    MAX_PRECISION,
    NUMERIC,
    ArrayType,
    BinaryType,
    CharType,
    DateType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
)


def common_type(types: Sequence[LogicalType]) -> LogicalType | None:
    """Returns the type that all types convert to without loss of meaning, or None. NULL literals count for nullability only.

    >>> from penstock.types.logical.text import parse_type
    >>> print(common_type([parse_type("INT NOT NULL"), parse_type("DECIMAL(2, 1)")]))
    DECIMAL(11, 1)
    >>> print(common_type([parse_type("CHAR(1) NOT NULL"), parse_type("CHAR(3) NOT NULL")]))
    VARCHAR(3) NOT NULL
    """
    nullable = any(t.nullable for t in types)
    known = [t.with_nullable(True) for t in types if not isinstance(t, NullType)]
    if not known:
        return None
    found: LogicalType | None = known[0]
    for other in known[1:]:
        assert found is not None
        found = _pair(found, other)
        if found is None:
            return None
    assert found is not None
    return found.with_nullable(nullable)


def _pair(a: LogicalType, b: LogicalType) -> LogicalType | None:
    if a == b:
        return a
    if isinstance(a, NUMERIC) and isinstance(b, NUMERIC):
        return common_numeric(a, b)
    match a, b:
        case CharType(), CharType():
            same = not a.varying and not b.varying and a.length == b.length
            return CharType(max(a.length, b.length), varying=not same)
        case BinaryType(), BinaryType():
            same = not a.varying and not b.varying and a.length == b.length
            return BinaryType(max(a.length, b.length), varying=not same)
        case TimeType(), TimeType():
            return TimeType(max(a.precision, b.precision))
        case TimestampType(), TimestampType():
            return TimestampType(max(a.precision, b.precision), a.local or b.local)
        case (TimestampType(), DateType()):
            return a
        case (DateType(), TimestampType()):
            return b
        case ArrayType(), ArrayType():
            element = common_type([a.element, b.element])
            return None if element is None else ArrayType(element)
        case MultisetType(), MultisetType():
            element = common_type([a.element, b.element])
            return None if element is None else MultisetType(element)
        case MapType(), MapType():
            key, value = common_type([a.key, b.key]), common_type([a.value, b.value])
            return None if key is None or value is None else MapType(key, value)
        case RowType(), RowType():
            return _rows(a, b)
    if isinstance(a, DATETIME) and isinstance(b, INTERVALS):
        return a
    if isinstance(a, INTERVALS) and isinstance(b, DATETIME):
        return b
    return None


def common_numeric(a: LogicalType, b: LogicalType) -> LogicalType:
    """Returns the common type of two numeric types, which are nullable here."""
    if isinstance(a, IntegerType) and isinstance(b, IntegerType):
        return a if a.bits >= b.bits else b
    if isinstance(a, EXACT) and isinstance(b, EXACT):
        x, y = as_decimal(a), as_decimal(b)
        assert x is not None
        assert y is not None
        whole = min(max(x.precision - x.scale, y.precision - y.scale), MAX_PRECISION)
        scale = min(max(x.scale, y.scale), MAX_PRECISION - whole)
        return DecimalType(whole + scale, scale)
    if isinstance(a, DecimalType) or isinstance(b, DecimalType):
        return DOUBLE
    if isinstance(a, FloatType) and isinstance(b, FloatType):
        return a if a.bits >= b.bits else b
    return a if isinstance(a, FloatType) else b


def _rows(a: RowType, b: RowType) -> LogicalType | None:
    if len(a.fields) != len(b.fields):
        return None
    fields = []
    for x, y in zip(a.fields, b.fields, strict=True):
        found = common_type([x.type, y.type])
        if found is None:
            return None
        fields.append(Field(x.name, found, x.description))
    return RowType(tuple(fields))
