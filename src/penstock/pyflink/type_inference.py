"""Names of `pyflink.table.types` that programs use although they are private: the types of Python and Arrow values."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.table.api.frames import logical_type
from penstock.table.data_types import DataType, data_type_of
from penstock.table.element_inference import ARRAY_TYPES, has_null, infer_type, merge_types, row_type
from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType

_array_signed_int_typecode_ctype_mappings = {
    "b": ctypes.c_byte,
    "h": ctypes.c_short,
    "i": ctypes.c_int,
    "l": ctypes.c_long,
}
_array_unsigned_int_typecode_ctype_mappings = {
    "B": ctypes.c_ubyte,
    "H": ctypes.c_ushort,
    "I": ctypes.c_uint,
    "L": ctypes.c_ulong,
}
_array_type_mappings = {code: DataType(type_) for code, type_ in ARRAY_TYPES.items()}


def _infer_type(obj: Any) -> Any:
    """Returns the type of a value.

    >>> _infer_type([None, 1])
    ArrayType(BigIntType(true), true)
    """
    return obj.__UDT__ if hasattr(obj, "__UDT__") else data_type_of(infer_type(obj))


def _infer_schema_from_data(elements: Sequence[Any], names: Sequence[str] | None = None) -> DataType:
    """Returns the type of rows. A row may have more fields than there are names."""
    if not elements:
        raise ValueError("Without elements the columns are not known.")
    found: LogicalType = kinds.NULL
    for row in elements:
        found = merge_types(found, row_type(row, names))
    if has_null(found):
        raise ValueError("The types of some columns are not known, because all values are None or empty.")
    return data_type_of(found)


def _merge_type(a: DataType, b: DataType, name: str | None = None) -> DataType:
    """Returns the type of two values, of which one may be NULL. Raises TypeError if they differ."""
    return data_type_of(merge_types(a.logical, b.logical))


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """Returns the type of values of an Arrow type."""
    return data_type_of(_of_arrow(arrow_type, nullable))


def _of_arrow(type_: pa.DataType, nullable: bool) -> LogicalType:
    found: LogicalType
    if pa.types.is_map(type_):
        found = kinds.MapType(_of_arrow(type_.key_type, False), _of_arrow(type_.item_type, type_.item_field.nullable))
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        found = kinds.ArrayType(_of_arrow(type_.value_type, type_.value_field.nullable))
    elif pa.types.is_struct(type_):
        found = kinds.RowType(tuple(kinds.Field(f.name, _of_arrow(f.type, f.nullable)) for f in type_))
    else:
        found = logical_type(type_)
    return found.with_nullable(nullable)


__all__ = [
    "_array_signed_int_typecode_ctype_mappings",
    "_array_type_mappings",
    "_array_unsigned_int_typecode_ctype_mappings",
    "_infer_schema_from_data",
    "_infer_type",
    "_merge_type",
    "from_arrow_type",
]
