"""The column of each type."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable

import pyarrow as pa

from penstock.engine.arrow_columns import (
    ClockColumn,
    Column,
    InstantColumn,
    ListColumn,
    MapColumn,
    SingleColumn,
    TextColumn,
)
from penstock.engine.arrow_fields import FieldsColumn, ObjectColumn, RowColumn
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    PythonTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.arrow import BASIC
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.python import ClassTypeInfo, PlainTypeInfo

_PLAIN: dict[type, Callable[[], Column]] = {
    str: lambda: SingleColumn(pa.string()),
    bool: lambda: SingleColumn(pa.bool_()),
    int: lambda: SingleColumn(pa.int64()),
    float: lambda: SingleColumn(pa.float64()),
    bytes: lambda: SingleColumn(pa.binary()),
    decimal.Decimal: lambda: TextColumn(decimal.Decimal),
    datetime.date: lambda: SingleColumn(pa.date32()),
    datetime.time: lambda: ClockColumn(pa.time64("us")),
    datetime.datetime: lambda: ClockColumn(pa.timestamp("us")),
}
_WHOLE: dict[type, Callable[[], Column]] = {
    InstantTypeInfo: InstantColumn,
    DateTypeInfo: _PLAIN[datetime.date],
    TimeTypeInfo: _PLAIN[datetime.time],
    TimestampTypeInfo: _PLAIN[datetime.datetime],
    BytesTypeInfo: _PLAIN[bytes],
}


def column_of(type_info: TypeInformation) -> Column | None:
    """The column of a type; None when a part of it is pickled."""
    if type(type_info) in _WHOLE:
        return _WHOLE[type(type_info)]()
    if isinstance(type_info, BasicTypeInfo):
        if type_info.basic_type in BASIC:
            return SingleColumn(BASIC[type_info.basic_type])
        return TextColumn(int if type_info.basic_type is BasicType.BIG_INT else decimal.Decimal)
    if isinstance(type_info, PlainTypeInfo):
        return _PLAIN[type_info.kind]()
    if isinstance(type_info, PythonTypeInfo):
        return None if type_info.shape is None else column_of(type_info.shape)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.binary:
        return SingleColumn(pa.binary())
    if isinstance(type_info, SequenceTypeInfo):
        element = column_of(type_info.element_type)
        return None if element is None else ListColumn(element)
    if isinstance(type_info, MapTypeInfo):
        key, value = column_of(type_info.key_type), column_of(type_info.value_type)
        return None if key is None or value is None else MapColumn(key, value)
    return _fields_column(type_info) if isinstance(type_info, FieldsTypeInfo) else None


def _fields_column(type_info: FieldsTypeInfo) -> Column | None:
    known = [column_of(t) for t in type_info.field_types]
    fields = [c for c in known if c is not None]
    if len(fields) < len(known) or not fields:
        return None
    if isinstance(type_info, RowTypeInfo):
        return RowColumn(type_info, fields)
    if isinstance(type_info, ClassTypeInfo):
        return ObjectColumn(type_info, fields)
    return FieldsColumn(type_info, fields) if isinstance(type_info, TupleTypeInfo) else None
