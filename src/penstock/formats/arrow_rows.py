"""Elements as Arrow's record batches and back: what Parquet and ORC files are made of."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.errors import PlanError
from penstock.formats.fitting import as_type
from penstock.formats.java_text import instant_of, is_binary, moment_of_instant
from penstock.row import make_row
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PythonTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.types.arrow import DECIMAL, WITH_DECIMALS
from penstock.types.collection import SequenceTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.python import ClassTypeInfo, PlainTypeInfo

Convert = Callable[[Any], Any]

_BASIC = {**WITH_DECIMALS, BasicType.INSTANT: pa.timestamp("us", "UTC")}
_PLAIN = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    bytes: pa.binary(),
    decimal.Decimal: DECIMAL,
    datetime.date: pa.date32(),
    datetime.time: pa.time64("us"),
    datetime.datetime: pa.timestamp("us"),
}


class ArrowRows:
    """Elements of one type, as record batches.

    >>> from penstock.types import Types
    >>> kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.STRING())])
    >>> rows = ArrowRows(kind)
    >>> rows.elements(rows.batch([(1, ["x"]), (None, None)]))
    [Row(a=1, b=['x']), Row(a=None, b=None)]
    """

    def __init__(self, kind: TypeInformation, as_dicts: bool = False) -> None:
        shape = kind.shape if isinstance(kind, PythonTypeInfo) else kind
        if not isinstance(shape, (RowTypeInfo, ClassTypeInfo)):
            raise PlanError(
                "ROW_TYPE_EXPECTED",
                f"A file of columns got the type {kind!r}; it needs one of rows, such as Types.ROW_NAMED([names], [types]), "
                "or of a class with declared fields: Types.of(Order).",
            )
        self.kind = kind
        self.shape = shape
        self.names = _names(shape)
        self.schema = pa.schema([(n, arrow_type(t)) for n, t in zip(self.names, shape.field_types, strict=True)])
        self._to = [to_arrow(t) for t in shape.field_types]
        self._from = [from_arrow(t, as_dicts) for t in shape.field_types]
        self._make = _maker(shape, as_dicts)

    def batch(self, values: list[Any]) -> pa.RecordBatch:
        """The columns of elements."""
        rows = as_type("A file of columns", self.shape, values)
        columns = []
        for name, convert, column, kind in zip(
            self.names, self._to, self.shape.columns(rows), self.schema.types, strict=True
        ):
            held = column if convert is None else [None if v is None else convert(v) for v in column]
            try:
                columns.append(pa.array(held, kind))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                raise ValueError(f"field '{name}' does not fit a column of {kind}: {error}") from None
        return pa.record_batch(columns, schema=self.schema)

    def elements(self, batch: Any) -> list[Any]:
        """The elements of columns that have the right types; columns that are not there are None."""
        columns = []
        for name, convert, kind in zip(self.names, self._from, self.schema.types, strict=True):
            at = batch.schema.get_field_index(name)
            if at < 0:
                columns.append([None] * batch.num_rows)
                continue
            column = batch.column(at)
            try:
                held = (column if column.type == kind else column.cast(kind)).to_pylist()
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise ValueError(f"column '{name}' is {column.type} and cannot be read as {kind}: {error}") from None
            columns.append(held if convert is None else [None if v is None else convert(v) for v in held])
        make = self._make
        return [make(list(values)) for values in zip(*columns, strict=True)]


def _names(shape: FieldsTypeInfo) -> list[str]:
    if isinstance(shape, RowTypeInfo):
        return shape.get_field_names()
    assert isinstance(shape, ClassTypeInfo)
    return shape.field_names


def _maker(shape: FieldsTypeInfo, as_dicts: bool) -> Convert:
    names = _names(shape)
    if as_dicts:
        return lambda values: dict(zip(names, values, strict=True))
    if isinstance(shape, ClassTypeInfo):
        made = shape.python_class
        return lambda values: made(**dict(zip(names, values, strict=True)))
    return lambda values: make_row(names, values)


def arrow_type(kind: TypeInformation) -> Any:
    """The type of a column."""
    if isinstance(kind, PythonTypeInfo) and kind.shape is not None:
        return arrow_type(kind.shape)
    if isinstance(kind, PlainTypeInfo):
        return _PLAIN[kind.kind]
    if isinstance(kind, BasicTypeInfo):
        return _BASIC[kind.basic_type]
    if isinstance(kind, DateTypeInfo):
        return pa.date32()
    if isinstance(kind, TimeTypeInfo):
        return pa.time64("us")
    if isinstance(kind, TimestampTypeInfo):
        return pa.timestamp("us")
    if is_binary(kind):
        return pa.binary()
    if isinstance(kind, SequenceTypeInfo):
        return pa.list_(arrow_type(kind.element_type))
    if isinstance(kind, MapTypeInfo):
        return pa.map_(arrow_type(kind.key_type), arrow_type(kind.value_type))
    if isinstance(kind, (RowTypeInfo, ClassTypeInfo)):
        return pa.struct([(n, arrow_type(t)) for n, t in zip(_names(kind), kind.field_types, strict=True)])
    raise PlanError("COLUMN_TYPE", f"Files of columns have no column for {kind!r}. Declare the type of every field.")


def to_arrow(kind: TypeInformation) -> Convert | None:
    """What makes a value (not None) one that Arrow takes; None where it takes it as it is."""
    if isinstance(kind, PythonTypeInfo) and kind.shape is not None:
        return to_arrow(kind.shape)
    if isinstance(kind, InstantTypeInfo):
        return lambda value: moment_of_instant(value).replace(tzinfo=datetime.UTC)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.BIG_INT:
        return decimal.Decimal
    if isinstance(kind, SequenceTypeInfo) and not is_binary(kind):
        inner = to_arrow(kind.element_type)
        return None if inner is None else lambda value: [None if v is None else inner(v) for v in value]
    if isinstance(kind, MapTypeInfo):
        key, part = _always(to_arrow(kind.key_type)), _always(to_arrow(kind.value_type))
        return lambda value: [(key(k), part(v)) for k, v in value.items()]
    if isinstance(kind, (RowTypeInfo, ClassTypeInfo)):
        names, parts = _names(kind), [_always(to_arrow(t)) for t in kind.field_types]
        if isinstance(kind, RowTypeInfo):
            return lambda row: {n: part(v) for n, part, v in zip(names, parts, row, strict=True)}
        return lambda value: {n: part(getattr(value, n)) for n, part in zip(names, parts, strict=True)}
    return None


def from_arrow(kind: TypeInformation, as_dicts: bool) -> Convert | None:
    """The other way round."""
    if isinstance(kind, PythonTypeInfo) and kind.shape is not None:
        return from_arrow(kind.shape, as_dicts)
    if isinstance(kind, InstantTypeInfo):
        return lambda value: instant_of(value.replace(tzinfo=None))
    if isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.BIG_INT:
        return int
    if isinstance(kind, SequenceTypeInfo) and not is_binary(kind):
        inner = from_arrow(kind.element_type, as_dicts)
        return None if inner is None else lambda value: [None if v is None else inner(v) for v in value]
    if isinstance(kind, MapTypeInfo):
        key, part = _always(from_arrow(kind.key_type, as_dicts)), _always(from_arrow(kind.value_type, as_dicts))
        return lambda value: {key(k): part(v) for k, v in value}
    if isinstance(kind, (RowTypeInfo, ClassTypeInfo)):
        names, make = _names(kind), _maker(kind, as_dicts)
        parts = [_always(from_arrow(t, as_dicts)) for t in kind.field_types]
        return lambda value: make([part(value[n]) for n, part in zip(names, parts, strict=True)])
    return None


def _always(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)
