"""Types of elements and state, with PyFlink's names.

A type checks values and converts other values to it. Values without a declared type are pickled.
"""

from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.catalogue import Types, type_information
from penstock.types.collection import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.decimal_type import DecimalTypeInfo
from penstock.types.fields import RowTypeInfo, TupleTypeInfo
from penstock.types.information import Misfit, PickledBytesTypeInfo, TypeInformation
from penstock.types.python import PythonTypeInfo
from penstock.types.temporal import DateTypeInfo, InstantTypeInfo, SqlTimeTypeInfo, TimestampTypeInfo, TimeTypeInfo

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "DecimalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "Misfit",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "PythonTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "type_information",
]
