"""The types of columns, found from Python values."""

from __future__ import annotations

import array
import datetime
import decimal
from collections.abc import Sequence
from typing import Any

from penstock.errors import ElementTypeError, PlanError
from penstock.row import Row
from penstock.types.logical import kinds
from penstock.types.logical.kinds import Field, LogicalType
from penstock.types.logical.text import summary

_TYPES: dict[type, LogicalType] = {
    bool: kinds.BOOLEAN,
    int: kinds.BIGINT,
    float: kinds.DOUBLE,
    str: kinds.STRING,
    bytes: kinds.BYTES,
    bytearray: kinds.BYTES,
    decimal.Decimal: kinds.DecimalType(38, 18),
    datetime.date: kinds.DATE,
    datetime.datetime: kinds.TimestampType(6, local=True),
    datetime.time: kinds.TimeType(0),
}

ARRAY_TYPES: dict[str, LogicalType] = {
    "f": kinds.FLOAT,
    "d": kinds.DOUBLE,
    "u": kinds.CharType(1, varying=False),
    **{code: kinds.IntegerType(8 * array.array(code).itemsize) for code in "bhil"},  # type: ignore[arg-type]
    "B": kinds.SMALLINT,
    "H": kinds.INT,
    "I": kinds.BIGINT,
}  # of the elements of Python's arrays. Unsigned integers need one bit more, which those of 64 bits do not have


def is_row(value: Any) -> bool:
    """Whether a value has fields by position."""
    return isinstance(value, Row | tuple | list)


def infer_row_type(rows: Sequence[Any], names: Sequence[str] | None = None) -> kinds.RowType:
    """Returns the type of rows. Columns without a name are `_1`, `_2` and so on.

    >>> summary(infer_row_type([(1, None), (2, "b")]))
    'ROW<`_1` BIGINT, `_2` STRING>'
    """
    if not rows:
        raise PlanError(
            "TABLE_SCHEMA", "Without elements the columns are not known. Pass a schema: DataTypes.ROW([...])."
        )
    found: LogicalType = kinds.NULL
    seen: set[tuple[type, ...]] = set()
    for row in rows:
        classes = tuple(map(type, row)) if type(row) is tuple else ()
        if classes in seen:
            continue  # as most rows: a row of the same classes has the same type
        found = merge_types(found, row_type(row, names))
        if classes and all(c in _TYPES or c is type(None) for c in classes):
            seen.add(classes)
    assert isinstance(found, kinds.RowType)
    unknown = [field.name for field in found.fields if has_null(field.type)]
    if unknown:
        raise PlanError(
            "TABLE_SCHEMA",
            f"The type of column '{unknown[0]}' is not known, because all values are None or empty. Pass a schema: "
            "DataTypes.ROW([...]).",
        )
    return found


def row_type(row: Any, names: Sequence[str] | None = None) -> kinds.RowType:
    """Returns the type of one row, dictionary or object with attributes."""
    if isinstance(row, dict):
        items = sorted(row.items())
    elif is_row(row):
        own = getattr(row, "_fields", None) or names or ()
        items = [(own[i] if i < len(own) else f"_{i + 1}", value) for i, value in enumerate(row)]
    elif hasattr(row, "__dict__"):
        items = sorted(vars(row).items())
    else:
        raise ElementTypeError(
            "ELEMENT_TYPE", f"{row!r} ({type(row).__name__}) is no row. Pass tuples, or the type of the only column."
        )
    return kinds.RowType(tuple(Field(name, infer_type(value)) for name, value in items))


def infer_type(value: Any) -> LogicalType:
    """Returns the type of a value. None has the type NULL."""
    if value is None:
        return kinds.NULL
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        key: LogicalType = kinds.NULL
        item: LogicalType = kinds.NULL
        for k, v in value.items():
            key, item = merge_types(key, infer_type(k)), merge_types(item, infer_type(v))
        return kinds.MapType(key.with_nullable(False), item)
    if isinstance(value, list):
        element: LogicalType = kinds.NULL
        for v in value:
            element = merge_types(element, infer_type(v))
        return kinds.ArrayType(element)
    if isinstance(value, array.array):
        if value.typecode not in ARRAY_TYPES:
            raise ElementTypeError(
                "ELEMENT_TYPE",
                f"An array of the type '{value.typecode}' has no SQL type. Use one of {', '.join(sorted(ARRAY_TYPES))}.",
            )
        return kinds.ArrayType(ARRAY_TYPES[value.typecode].with_nullable(False))
    return row_type(value)


def merge_types(one: LogicalType, other: LogicalType) -> LogicalType:
    """Returns the type of both values. NULL fits all types."""
    if isinstance(one, kinds.NullType) or isinstance(other, kinds.NullType):
        return other if isinstance(one, kinds.NullType) else one
    match one, other:
        case kinds.RowType(), kinds.RowType() if [f.name for f in one.fields] == [f.name for f in other.fields]:
            pairs = zip(one.fields, other.fields, strict=True)
            return kinds.RowType(tuple(Field(a.name, merge_types(a.type, b.type)) for a, b in pairs))
        case kinds.ArrayType(), kinds.ArrayType():
            return kinds.ArrayType(merge_types(one.element, other.element))
        case kinds.MapType(), kinds.MapType():
            return kinds.MapType(merge_types(one.key, other.key), merge_types(one.value, other.value))
    if one != other:
        raise ElementTypeError(
            "ELEMENT_TYPE",
            f"The values of a column have the types {summary(one)} and {summary(other)}. Pass a schema: DataTypes.ROW([...]).",
        )
    return one


def has_null(type_: LogicalType) -> bool:
    """Returns whether a part of a type is not known."""
    match type_:
        case kinds.NullType():
            return True
        case kinds.ArrayType():
            return has_null(type_.element)
        case kinds.MapType():
            return has_null(type_.key) or has_null(type_.value)
        case kinds.RowType():
            return any(has_null(field.type) for field in type_.fields)
    return False
