"""Rows of Python values as columns."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import ElementError
from penstock.runtime.failure import short_repr
from penstock.runtime.relational.functions.numbers import fitted
from penstock.runtime.relational.steps.rows import FromElements
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import BinaryType, CharType, DecimalType, Field, LogicalType


def to_columns(rows: Sequence[Sequence[Any]], fields: Sequence[Field], origin: str) -> list[pa.Array]:
    """Returns the columns of rows, whose values are in the order of the fields. `origin` is named in errors.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> [c.to_pylist() for c in to_columns([(1, "a")], [Field("i", INT), Field("s", STRING)], "t")]
    [[1], ['a']]
    """
    if not rows:
        return [pa.array([], arrow_type(field.type)) for field in fields]
    columns = []
    for i, field in enumerate(fields):
        convert = _converter(field.type)
        values = [row[i] for row in rows]
        if convert is not None:
            values = [None if v is None else convert(v) for v in values]
        try:
            [column] = (
                FromElements([field.type], [field.name], [0], whole=True, with_kinds=False).convert(values).columns
            )
        except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as error:
            bad = next((v for v in values if not _fits(v, field)), None)
            raise ElementError(
                "LOOKUP_VALUE",
                f"{origin}: column '{field.name}' has the type {field.type}, and a row has the value {short_repr(bad)} "
                f"({type(bad).__name__}). Declare another type, or return another value.",
            ) from error
        columns.append(column)
    return columns


def _fits(value: Any, field: Field) -> bool:
    try:
        FromElements([field.type], [field.name], [0], whole=True, with_kinds=False).convert([value])
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError):
        return False
    return True


def _converter(type_: LogicalType) -> Callable[[Any], Any] | None:
    match type_:
        case DecimalType():
            return lambda v: fitted(v if isinstance(v, decimal.Decimal) else decimal.Decimal(str(v)), type_)
        case CharType():
            return _text
        case BinaryType():
            return lambda v: bytes(v) if isinstance(v, memoryview | bytearray) else v
    return None


def _text(value: Any) -> Any:
    """Types of databases that have no type in Flink are read as text: UUID, JSON and so on."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, dict | list) else str(value)
