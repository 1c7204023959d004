"""Columns of typed values as Arrow arrays, and back: the same Python values."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.row import RowKind, make_row
from penstock.time import Instant
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
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.information import has_none
from penstock.types.python import ClassTypeInfo, PlainTypeInfo


class NotColumns(Exception):  # noqa: N818 - elements that have to be pickled; nobody else hears of it
    """These values would not come back as they are."""


class Column(Protocol):
    """One column of a type."""

    @property
    def arrow(self) -> Any:
        """Its Arrow type."""
        ...

    @property
    def slow(self) -> bool:
        """Whether a pickle of the values is faster."""
        ...

    @property
    def parts(self) -> Sequence[Column]:
        """The columns inside it."""
        ...

    def encode(self, values: Sequence[Any]) -> Any: ...
    def decode(self, array: Any) -> list[Any]: ...


class SingleColumn:
    """Values that Arrow knows itself."""

    slow = False
    parts: Sequence[Column] = ()

    def __init__(self, arrow: Any) -> None:
        self.arrow = arrow

    def encode(self, values: Sequence[Any]) -> Any:
        return pa.array(values, self.arrow)

    def decode(self, array: Any) -> list[Any]:
        values: list[Any] = array.to_pylist()
        return values


class TextColumn(SingleColumn):
    """Numbers of any size, as text."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        super().__init__(pa.string())
        self._parse = parse

    def encode(self, values: Sequence[Any]) -> Any:
        return pa.array([None if v is None else str(v) for v in values], self.arrow)

    def decode(self, array: Any) -> list[Any]:
        parse = self._parse
        return [None if v is None else parse(v) for v in array.to_pylist()]


class ClockColumn(SingleColumn):
    """Times without a time zone; with one, they would come back without it."""

    def encode(self, values: Sequence[Any]) -> Any:
        if any(v is not None and v.tzinfo is not None for v in values):
            raise NotColumns
        return super().encode(values)


class InstantColumn:
    """Seconds and nanoseconds."""

    slow = False
    parts: Sequence[Column] = ()
    arrow = pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])

    def encode(self, values: Sequence[Any]) -> Any:
        seconds = pa.array([None if v is None else v.seconds for v in values], pa.int64())
        nanos = pa.array([None if v is None else v.nanos for v in values], pa.int32())
        return pa.StructArray.from_arrays([seconds, nanos], fields=list(self.arrow))

    def decode(self, array: Any) -> list[Any]:
        pairs = zip(array.field(0).to_pylist(), array.field(1).to_pylist(), strict=True)
        return [None if s is None else Instant(s, n) for s, n in pairs]


class ListColumn:
    """Lists: where each begins, and all elements in one column."""

    def __init__(self, element: Column) -> None:
        self._element = element
        self.parts: Sequence[Column] = [element]
        self.slow = not holds_objects(element)
        self.arrow = pa.list_(element.arrow)

    def encode(self, values: Sequence[Any]) -> Any:
        lengths = (0 if v is None else len(v) for v in values)
        offsets = np.fromiter(accumulate(lengths, initial=0), np.int32, len(values) + 1)
        elements = self._element.encode(list(chain.from_iterable(v for v in values if v is not None)))
        return pa.ListArray.from_arrays(pa.array(offsets), elements, type=self.arrow, mask=_mask(values))

    def decode(self, array: Any) -> list[Any]:
        elements = self._element.decode(array.values)
        offsets = array.offsets.to_pylist()
        lists: list[Any] = [elements[a:b] for a, b in pairwise(offsets)]
        return _with_none(lists, array)


class MapColumn:
    """Dicts: a list of keys and a list of values."""

    def __init__(self, key: Column, value: Column) -> None:
        self._keys, self._values = ListColumn(key), ListColumn(value)
        self.parts: Sequence[Column] = [key, value]
        self.slow = not (holds_objects(key) or holds_objects(value))
        self.arrow = pa.struct([("keys", self._keys.arrow), ("values", self._values.arrow)])

    def encode(self, values: Sequence[Any]) -> Any:
        keys = self._keys.encode([None if v is None else list(v) for v in values])
        items = self._values.encode([None if v is None else list(v.values()) for v in values])
        return pa.StructArray.from_arrays([keys, items], fields=list(self.arrow))

    def decode(self, array: Any) -> list[Any]:
        pairs = zip(self._keys.decode(array.field(0)), self._values.decode(array.field(1)), strict=True)
        return [None if k is None else dict(zip(k, v, strict=True)) for k, v in pairs]


class FieldsColumn:
    """Tuples, rows and objects: one column per field."""

    def __init__(self, type_info: FieldsTypeInfo, fields: list[Column]) -> None:
        self.type_info = type_info
        self.parts: Sequence[Column] = fields
        self.slow = not any(map(holds_objects, fields))
        self.arrow = pa.struct([(str(i), f.arrow) for i, f in enumerate(fields)])

    def encode(self, values: Sequence[Any]) -> Any:
        if not has_none(values):
            return pa.StructArray.from_arrays(self._arrays(self.split(values)), fields=list(self.arrow))
        columns = self.split([v for v in values if v is not None])
        here = [v is not None for v in values]
        spread = []
        for column in columns:
            rest = iter(column)
            spread.append([next(rest) if h else None for h in here])
        return pa.StructArray.from_arrays(self._arrays(spread), fields=list(self.arrow), mask=_mask(values))

    def decode(self, array: Any) -> list[Any]:
        columns = [f.decode(array.field(i)) for i, f in enumerate(self.parts)]
        return _with_none(self.join(columns), array)

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        """The values, column by column."""
        return self.type_info.columns(values)

    def join(self, columns: list[list[Any]]) -> list[Any]:
        """The values of these columns."""
        return list(zip(*columns, strict=True))

    def _arrays(self, columns: Sequence[Sequence[Any]]) -> list[Any]:
        return [f.encode(c) for f, c in zip(self.parts, columns, strict=True)]


class RowColumn(FieldsColumn):
    """Rows: their fields, and their kind."""

    def __init__(self, type_info: RowTypeInfo, fields: list[Column]) -> None:
        super().__init__(type_info, [*fields, SingleColumn(pa.int8())])
        self.slow = False
        self._names = type_info.get_field_names()

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        return [*self.type_info.columns(values), [r._row_kind.value for r in values]]

    def join(self, columns: list[list[Any]]) -> list[Any]:
        *fields, kinds = columns
        names, known = self._names, _ROW_KINDS
        rows = zip(*fields, strict=True) if fields else (() for _ in kinds)
        return [make_row(names, list(v), known[k or 0]) for v, k in zip(rows, kinds, strict=True)]


class ObjectColumn(FieldsColumn):
    """Dataclasses, Structs and NamedTuples that their constructor makes from their fields, in order, and nothing else."""

    def __init__(self, type_info: ClassTypeInfo, fields: list[Column]) -> None:
        super().__init__(type_info, fields)
        self.slow = False
        self._class = type_info.python_class
        self._names = type_info.field_names
        self._has_dict = dataclasses.is_dataclass(self._class) and hasattr(self._class, "__dict__")
        self._makes_same: bool | None = None

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        if values and not self._is_made_of_fields(values):
            raise NotColumns
        return super().split(values)

    def join(self, columns: list[list[Any]]) -> list[Any]:
        return list(map(self._class, *columns))

    def _is_made_of_fields(self, values: Sequence[Any]) -> bool:
        if self._makes_same is None:
            self._makes_same = self._try(values[0])
        if not self._makes_same:
            return False
        with_dict = self._has_dict and hasattr(values[0], "__dict__")
        return not with_dict or set(map(len, map(attrgetter("__dict__"), values))) <= {len(self._names)}

    def _try(self, example: Any) -> bool:
        if hasattr(self._class, "__post_init__"):
            return False
        found = [getattr(example, n) for n in self._names]
        try:
            same = self._class(*found)
        except TypeError:
            return False
        return all(getattr(same, n) is v for n, v in zip(self._names, found, strict=True))


_ROW_KINDS = tuple(RowKind)


def holds_objects(column: Column) -> bool:
    """Whether there are rows or objects in a column: pickling these takes a call for each of them."""
    return isinstance(column, (RowColumn, ObjectColumn)) or any(map(holds_objects, column.parts))


def _mask(values: Sequence[Any]) -> Any:
    """Which values are None; nothing where none is."""
    return pa.array([v is None for v in values]) if has_none(values) else None


def _with_none(values: list[Any], array: Any) -> list[Any]:
    if not array.null_count:
        return values
    return [v if here else None for v, here in zip(values, array.is_valid().to_pylist(), strict=True)]


_BASIC: dict[BasicType, Any] = {
    BasicType.STRING: pa.string(),
    BasicType.CHAR: pa.string(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
}
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
        if type_info.basic_type in _BASIC:
            return SingleColumn(_BASIC[type_info.basic_type])
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
