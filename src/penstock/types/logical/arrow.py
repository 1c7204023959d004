"""The Arrow types of logical types: how columns of tables lie in memory."""

from __future__ import annotations

import pyarrow as pa

from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)

_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def timestamp_unit(precision: int) -> str:
    """Returns the unit in which timestamps of a precision are stored.

    >>> timestamp_unit(3), timestamp_unit(6), timestamp_unit(9)
    ('ms', 'us', 'ns')
    """
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def arrow_type(type_: LogicalType) -> pa.DataType:
    """Returns the Arrow type of the values of a logical type.

    Months are 32-bit integers, because Arrow has no kernels for its interval of months. A variant is its JSON text, a
    bitmap the list of its elements in order.

    >>> arrow_type(TimestampType(3, local=True))
    TimestampType(timestamp[ms, tz=UTC])
    """
    match type_:
        case BooleanType():
            return pa.bool_()
        case IntegerType():
            return _INTEGERS[type_.bits]
        case FloatType():
            return pa.float32() if type_.bits == 32 else pa.float64()
        case DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case CharType():
            return pa.string()
        case BinaryType():
            return pa.binary()
        case DateType():
            return pa.date32()
        case TimeType():
            return pa.time32("ms")
        case TimestampType():
            return pa.timestamp(timestamp_unit(type_.precision), "UTC" if type_.local else None)
        case YearMonthIntervalType():
            return pa.int32()
        case DayTimeIntervalType():
            return pa.duration("ms")
        case ArrayType():
            return pa.list_(arrow_type(type_.element))
        case MultisetType():
            return pa.map_(arrow_type(type_.element), pa.int32())
        case MapType():
            return pa.map_(arrow_type(type_.key), arrow_type(type_.value))
        case RowType():
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in type_.fields])
        case NullType():
            return pa.null()
        case VariantType():
            return pa.string()
        case BitmapType():
            return pa.list_(pa.uint32())
        case RawType():
            return pa.binary()
