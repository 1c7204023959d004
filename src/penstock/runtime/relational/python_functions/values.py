"""Columns as the Python values that functions get and return.

Numbers, booleans, text, bytes and Decimal are as they are; DATE, TIME and TIMESTAMP are objects of `datetime`, TIMESTAMP_LTZ with
the time zone of the session; ARRAY is a list, MAP a dict, ROW a `Row` with names.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import numbers
import operator
from array import array
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ExpressionError
from penstock.row import Row
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.functions.zones import zone_of
from penstock.types.logical import kinds
from penstock.types.logical.arrow import arrow_type, timestamp_unit
from penstock.types.logical.kinds import INT, LogicalType
from penstock.types.logical.text import summary

_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_ZERO = _EPOCH.toordinal()
_FIRST, _LAST = np.datetime64(datetime.datetime.min, "us"), np.datetime64(datetime.datetime.max, "us")
_MICROSECOND = datetime.timedelta(microseconds=1)
_DIGITS = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)

# Values of these classes become columns as they are.
_DIRECT: dict[type, frozenset[type]] = {
    kinds.BooleanType: frozenset((bool, type(None))),
    kinds.IntegerType: frozenset((int, type(None))),
    kinds.FloatType: frozenset((float, int, type(None))),
    kinds.CharType: frozenset((str, type(None))),
    kinds.BinaryType: frozenset((bytes, type(None))),
    kinds.DateType: frozenset((datetime.date, type(None))),
    kinds.DecimalType: frozenset((decimal.Decimal, type(None))),
    kinds.TimestampType: frozenset((datetime.datetime, type(None))),
}
_LISTS = frozenset((list, type(None)))


class ResultMisfit(Exception):  # noqa: N818 - the caller turns it into an error with the arguments
    """A value does not fit its type. `index` is its position in the column."""

    def __init__(self, problem: str, index: int = -1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.index = index


# ------------------------------------------------------------------------------------------- columns to values


def python_values(column: pa.Array, type_: LogicalType, zone: str = "UTC") -> list[Any]:
    """Returns the values of a column as functions get them.

    >>> python_values(pa.array([0], pa.timestamp("ms")), kinds.TimestampType(3))
    [datetime.datetime(1970, 1, 1, 0, 0)]
    """
    match type_:
        case kinds.TimestampType():
            return _datetimes(column, type_.local, zone)
        case kinds.ArrayType():
            return _lists(column, python_values(column.flatten(), type_.element, zone))
        case kinds.MapType() | kinds.MultisetType():
            return _maps(column, type_, zone)
        case kinds.RowType():
            return _rows(column, type_, zone)
    return column.to_pylist()  # type: ignore[no-any-return]


def _datetimes(column: pa.Array, local: bool, zone: str) -> list[Any]:
    """numpy makes datetimes much faster than Arrow does."""
    moments = column.to_numpy(zero_copy_only=False).astype("datetime64[us]")
    if ((moments > _LAST) | (moments < _FIRST)).any():
        raise ExpressionError(
            "INVALID_ARGUMENT",
            "A Python function gets a timestamp that is not in the years 1 to 9999, which datetime.datetime cannot have. Filter "
            "such rows, or cast the column to STRING.",
        )
    values: list[Any] = moments.astype(object).tolist()
    if not local:
        return values
    here = _zone(zone)
    if here is datetime.UTC:
        return [None if v is None else v.replace(tzinfo=datetime.UTC) for v in values]
    return [None if v is None else v.replace(tzinfo=datetime.UTC).astimezone(here) for v in values]


@functools.cache
def _zone(name: str) -> datetime.tzinfo:
    return zone_of(name) or datetime.UTC


def _lists(column: pa.Array, flat: list[Any]) -> list[Any]:
    result: list[Any] = []
    at = 0
    for length in pc.list_value_length(column).to_pylist():
        if length is None:
            result.append(None)
        else:
            result.append(flat[at : at + length])
            at += length
    return result


def _maps(column: pa.Array, type_: kinds.MapType | kinds.MultisetType, zone: str) -> list[Any]:
    key = type_.key if isinstance(type_, kinds.MapType) else type_.element
    value = type_.value if isinstance(type_, kinds.MapType) else INT
    entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
    flat = entries.flatten()
    pairs = zip(python_values(flat.field(0), key, zone), python_values(flat.field(1), value, zone), strict=True)
    return [None if found is None else dict(found) for found in _lists(entries, list(pairs))]


def _rows(column: pa.Array, type_: kinds.RowType, zone: str) -> list[Any]:
    fields = [python_values(part, f.type, zone) for part, f in zip(column.flatten(), type_.fields, strict=True)]
    made = rows_of(fields, [f.name for f in type_.fields], len(column))
    if column.null_count:
        return [row if valid else None for row, valid in zip(made, column.is_valid().to_pylist(), strict=True)]
    return made


def rows_of(columns: Sequence[Sequence[Any]], names: Sequence[str], length: int) -> list[Any]:
    """Returns rows with names from lists of values."""
    names = list(names)
    made = []
    for values in zip(*columns, strict=True) if columns else (() for _ in range(length)):
        row = Row(*values)
        row.set_field_names(names)
        made.append(row)
    return made


# ------------------------------------------------------------------------------------------- values to columns


def column_of(values: Sequence[Any], type_: LogicalType, zone: str = "UTC") -> pa.Array:
    """Returns the column of values that a function has returned. Raises ResultMisfit for a value of another type.

    >>> column_of([1, None], kinds.BIGINT).to_pylist()
    [1, None]
    """
    column = _fast_column(values, type_, zone)
    if column is not None and (type_.nullable or not column.null_count):
        return column
    written = []
    for index, value in enumerate(values):
        try:
            written.append(plain_value(value, type_, zone))
        except ResultMisfit as misfit:
            misfit.index = index
            raise
    return from_values(written, type_)


def _fast_column(values: Sequence[Any], type_: LogicalType, zone: str) -> pa.Array | None:
    """Returns the column if Arrow can make it of the values as they are. Checks their classes, because Arrow accepts too many."""
    if isinstance(type_, kinds.RowType):
        return _row_column(values, type_, zone)
    given = values
    if isinstance(type_, kinds.ArrayType):
        if not _LISTS.issuperset(map(type, values)) or not type_.element.nullable:
            return None
        given, element = list(chain.from_iterable(v for v in values if v is not None)), type_.element
    else:
        element = type_
    direct = _DIRECT.get(type(element))
    if direct is None or not direct.issuperset(map(type, given)):
        return None
    try:
        if isinstance(element, kinds.TimestampType):
            return _timestamp_column(values, element) if element is type_ and not element.local else None
        column = pa.array(values, arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None  # such as a number that is too large: the slow way finds it
    if isinstance(element, kinds.DecimalType) and (element is not type_ or column.null_count != _missing(values)):
        return None  # NaN is NULL for Arrow, and no decimal here
    return column


def _missing(values: Sequence[Any]) -> int:
    return sum(value is None for value in values)


def _timestamp_column(values: Sequence[Any], type_: kinds.TimestampType) -> pa.Array | None:
    if any(value is not None and value.tzinfo is not None for value in values):
        return None
    moments = pa.array(values, pa.timestamp("us"))
    missing = moments.is_null().to_numpy(zero_copy_only=False)
    microseconds = moments.cast(pa.int64()).fill_null(0).to_numpy()
    step = 10 ** max(0, 6 - type_.precision)
    microseconds = microseconds // step * step
    unit = timestamp_unit(type_.precision)
    number = microseconds // 1000 if unit == "ms" else microseconds * 1000 if unit == "ns" else microseconds
    return pa.array(number, pa.int64(), mask=missing).cast(arrow_type(type_))


def _row_column(values: Sequence[Any], type_: kinds.RowType, zone: str) -> pa.Array | None:
    """Returns the column of rows, field by field; None if there are no fields or values that are no rows."""
    if not type_.fields:
        return None
    blank: Sequence[Any] = (None,) * len(type_.fields)
    try:
        rows = [blank if value is None else row_parts(value, type_) for value in values]
    except (TypeError, ResultMisfit):
        return None
    missing = np.fromiter((value is None for value in values), bool, len(values))
    parts = list(zip(*rows, strict=True)) if rows else [()] * len(type_.fields)
    columns = []
    for part, field in zip(parts, type_.fields, strict=True):
        own = field.type.with_nullable(True) if missing.any() else field.type
        columns.append(column_of(part, own, zone))
    if missing.any() and any(
        c.null_count > missing.sum() for c, f in zip(columns, type_.fields, strict=True) if not f.type.nullable
    ):
        return None
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(type_)), mask=pa.array(missing))


def plain_value(value: Any, type_: LogicalType, zone: str = "UTC") -> Any:
    """Returns a value that a function has returned as one of `expressions/values.py`. Raises ResultMisfit if it does not fit.

    >>> plain_value(datetime.date(1970, 1, 2), kinds.DATE)
    1
    """
    if value is None:
        if not type_.nullable:
            raise ResultMisfit(f"returned None, which does not fit {summary(type_)}")
        return None
    write = _WRITERS.get(type(type_))
    try:
        return value if write is None else write(value, type_, zone)
    except (TypeError, ValueError, OverflowError) as error:
        raise _misfit(value, type_) from error


def _misfit(value: Any, type_: LogicalType) -> ResultMisfit:
    try:
        shown = repr(value)
    except Exception:
        shown = "a value"
    shown = shown if len(shown) <= 100 else shown[:97] + "..."
    return ResultMisfit(f"returned {shown} ({type(value).__name__}), which does not fit {summary(type_)}")


def _boolean(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, bool | np.bool_):
        raise TypeError
    return bool(value)


def _integer(value: Any, type_: kinds.IntegerType, zone: str) -> Any:
    number = operator.index(value)
    if not -(1 << type_.bits - 1) <= number < 1 << type_.bits - 1:
        raise OverflowError
    return number


def _float(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, numbers.Real | decimal.Decimal):
        raise TypeError
    return float(value)


def _decimal(value: Any, type_: kinds.DecimalType, zone: str) -> Any:
    if isinstance(value, float) or not isinstance(value, decimal.Decimal | numbers.Integral):
        raise TypeError
    found = decimal.Decimal(value if isinstance(value, decimal.Decimal) else int(value))
    if not found.is_finite():
        raise ValueError
    found = found.quantize(decimal.Decimal(1).scaleb(-type_.scale), context=_DIGITS)
    # A number with too many digits becomes NULL, as in Flink.
    return found if found == 0 or found.adjusted() < type_.precision - type_.scale else None


def _text(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, str):
        raise TypeError
    return str(value)


def _binary(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError
    return bytes(value)


def _date(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, datetime.date):
        raise TypeError
    return value.toordinal() - _DAY_ZERO


def _time(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, datetime.time):
        raise TypeError
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _timestamp(value: Any, type_: kinds.TimestampType, zone: str) -> Any:
    if not isinstance(value, datetime.datetime):
        raise TypeError
    if type_.local and value.tzinfo is None:
        value = value.replace(tzinfo=_zone(zone))
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC if type_.local else _zone(zone)).replace(tzinfo=None)
    microseconds = (value - _EPOCH) // _MICROSECOND
    step = 10 ** max(0, 6 - type_.precision)
    return microseconds // step * step * 1000


def _interval(value: Any, type_: Any, zone: str) -> Any:
    if not isinstance(value, datetime.timedelta):
        raise TypeError
    return value // datetime.timedelta(milliseconds=1)


def _array(value: Any, type_: kinds.ArrayType, zone: str) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple | array | range):
        raise TypeError
    return [plain_value(v, type_.element, zone) for v in value]


def _map(value: Any, type_: kinds.MapType, zone: str) -> Any:
    if not isinstance(value, dict):
        raise TypeError
    return [(plain_value(k, type_.key, zone), plain_value(v, type_.value, zone)) for k, v in value.items()]


def _multiset(value: Any, type_: kinds.MultisetType, zone: str) -> Any:
    if not isinstance(value, dict):
        raise TypeError
    return [(plain_value(k, type_.element, zone), operator.index(n)) for k, n in value.items()]


def _row(value: Any, type_: kinds.RowType, zone: str) -> Any:
    parts = row_parts(value, type_)
    return tuple(plain_value(v, f.type, zone) for v, f in zip(parts, type_.fields, strict=True))


def row_parts(value: Any, type_: kinds.RowType) -> Sequence[Any]:
    """Returns the values of a row in the order of its fields: by name for a dict or a `Row` with the same names, else as given."""
    names = [field.name for field in type_.fields]
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, Row):
        own = getattr(value, "_fields", None)
        parts: Sequence[Any] = [value[n] for n in names] if own and sorted(own) == sorted(names) else tuple(value)
    elif isinstance(value, tuple | list):
        parts = value
    else:
        raise TypeError
    if len(parts) != len(names):
        raise ResultMisfit(f"returned {len(parts)} fields for the {len(names)} fields of {summary(type_)}")
    return parts


_WRITERS: dict[type, Callable[[Any, Any, str], Any]] = {
    kinds.BooleanType: _boolean,
    kinds.IntegerType: _integer,
    kinds.FloatType: _float,
    kinds.DecimalType: _decimal,
    kinds.CharType: _text,
    kinds.BinaryType: _binary,
    kinds.DateType: _date,
    kinds.TimeType: _time,
    kinds.TimestampType: _timestamp,
    kinds.DayTimeIntervalType: _interval,
    kinds.YearMonthIntervalType: lambda value, type_, zone: operator.index(value),
    kinds.ArrayType: _array,
    kinds.MapType: _map,
    kinds.MultisetType: _multiset,
    kinds.RowType: _row,
    kinds.VariantType: _text,
}
