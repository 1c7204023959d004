"""Which types INSERT converts to the type of the sink's column without a CAST."""

from __future__ import annotations

from penstock.types.logical.kinds import (
    NUMERIC,
    ArrayType,
    BinaryType,
    CharType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)


def is_assignable(source: LogicalType, target: LogicalType) -> bool:
    """Whether INSERT takes a value of one type for a column of another. Nullability is checked when rows are written.

    >>> from penstock.types.logical.kinds import BIGINT, INT
    >>> is_assignable(INT, BIGINT), is_assignable(BIGINT, INT)
    (True, False)
    """
    match source, target:
        case IntegerType(), IntegerType():
            return source.bits <= target.bits
        case ((IntegerType() | FloatType() | DecimalType()), (FloatType() | DecimalType())):
            if isinstance(source, FloatType) and isinstance(target, FloatType):
                return source.bits <= target.bits
            return isinstance(source, NUMERIC)
        case CharType(), CharType():
            return target.varying or not source.varying
        case BinaryType(), BinaryType():
            return target.varying or not source.varying
        case TimestampType(), TimestampType():
            return True
        case TimestampType(), (DateType() | TimeType()):
            return not source.local
        case TimeType(), TimeType():
            return True
        case ArrayType(), ArrayType():
            return is_assignable(source.element, target.element)
        case MultisetType(), MultisetType():
            return is_assignable(source.element, target.element)
        case MapType(), MapType():
            return is_assignable(source.key, target.key) and is_assignable(source.value, target.value)
        case RowType(), RowType():
            if len(source.fields) != len(target.fields):
                return False
            pairs = zip(source.fields, target.fields, strict=True)
            return all(is_assignable(a.type, b.type) for a, b in pairs)
    return source.with_nullable(True) == target.with_nullable(True)
