"""Structs of msgspec for the columns of a table, and the Arrow columns of their values: the fast path of JSON.

msgspec creates only the fields that are wanted. A value that has another JSON type than its column raises an exception; then the
record is read again by `json_exact`, which converts as Flink does and returns the same structs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import chain, repeat
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.formats.columns.record_error import no_such_type
from penstock.formats.columns.temporal_text import parse_dates, parse_times, parse_timestamps
from penstock.types.logical.arrow import arrow_type, timestamp_unit
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
)

Build = Callable[[list[Any]], pa.Array]
Path = tuple[int, ...]  # positions of fields, from the outermost row
Paths = dict[
    int, Any
]  # the fields of a row that are read, by position; each with the paths inside it, or None for all of it
_DECIMALS = Context(prec=100)


class StructColumns:
    """The struct of some fields, and their columns.

    >>> from penstock.types.logical.kinds import INT
    >>> columns = StructColumns([Field("a b", INT)], " ")
    >>> [c.to_pylist() for c in columns.build([columns.struct(5), columns.struct()])]
    [[5, None]]

    With `paths`, only some fields of rows are read. The others are null.
    """

    def __init__(
        self, fields: Sequence[Field], separator: str, required: bool = False, paths: Paths | None = None
    ) -> None:
        self.read = [i for i in range(len(fields)) if paths is None or i in paths]
        self._unread = {i: arrow_type(f.type) for i, f in enumerate(fields) if i not in set(self.read)}
        inside = [None if paths is None else paths[i] for i in self.read]
        fields = [fields[i] for i in self.read]
        self.nested = [_nested(f.type, separator, required, p) for f, p in zip(fields, inside, strict=True)]
        readers = [_reader(f.type, separator, required, n) for f, n in zip(fields, self.nested, strict=True)]
        names = [f"f{i}" for i in range(len(fields))]
        definitions: list[Any] = [
            (name, annotation | None) if required else (name, annotation | None, None)
            for name, (annotation, _) in zip(names, readers, strict=True)
        ]
        renamed = {name: field.name for name, field in zip(names, fields, strict=True)}
        self.struct: Any = msgspec.defstruct("Record", definitions, rename=renamed, gc=False)
        self._columns = [(_getter(name), build) for name, (_, build) in zip(names, readers, strict=True)]

    def leaves(self, paths: Paths) -> list[Path]:
        """Returns the fields that `build_leaves` makes columns of: those that are read as a whole."""
        found: list[Path] = []
        for i in self.read:
            inside = paths[i]
            nested = self.nested[self.read.index(i)]
            found += [(i,)] if inside is None or nested is None else [(i, *path) for path in nested.leaves(inside)]
        return found

    def build_leaves(self, rows: list[Any], paths: Paths) -> list[pa.Array]:
        """Returns one column per field that is read as a whole, also of rows in rows. It is null where a row around it is.

        So no columns of rows are made, of which only some fields are read.
        """
        columns: list[pa.Array] = []
        for i, nested, (get, build) in zip(self.read, self.nested, self._columns, strict=True):
            values, inside = get(rows), paths[i]
            if inside is None or nested is None:
                columns.append(build(values))
            elif None not in values:
                columns += nested.build_leaves(values, inside)
            else:
                columns += nested.build_present_leaves(values, inside)
        return columns

    def build_present_leaves(self, rows: list[Any], paths: Paths) -> list[pa.Array]:
        """Returns the columns of `build_leaves` for rows of which some are None."""
        present = [row for row in rows if row is not None]
        if len(present) * 2 > len(rows):
            empty = self.struct(*[None] * len(self._columns))
            return self.build_leaves([empty if row is None else row for row in rows], paths)
        if not present:
            return [c.take(pa.nulls(len(rows), pa.int32())) for c in self.build_leaves([], paths)]
        places = np.fromiter(map(operator.is_not, rows, repeat(None)), np.bool_, len(rows))
        at = pa.array(np.cumsum(places, dtype=np.int32) - 1, mask=~places)
        return [column.take(at) for column in self.build_leaves(present, paths)]

    def build(self, rows: list[Any]) -> list[pa.Array]:
        """Returns one column per field. Raises an exception if a value does not fit its type."""
        columns = [build(get(rows)) for get, build in self._columns]
        for place, kind in self._unread.items():  # in ascending order, so places are right
            columns.insert(place, pa.nulls(len(rows), kind))
        return columns


def _getter(name: str) -> Callable[[list[Any]], list[Any]]:
    """Returns the function from rows to the values of a field: twice as fast as attrgetter, if each field has code of its own."""
    found: Callable[[list[Any]], list[Any]] = eval(f"lambda rows: [row.{name} for row in rows]")
    return found


def _nested(type_: LogicalType, separator: str, required: bool, paths: Paths | None = None) -> StructColumns | None:
    """Returns the columns of the row that a type contains, if there is one."""
    match type_:
        case RowType():
            return StructColumns(type_.fields, separator, required, paths)
        case ArrayType():
            return _nested(type_.element, separator, required)
        case MapType():
            return _nested(type_.value, separator, required)
    return None


def _reader(type_: LogicalType, separator: str, required: bool, nested: StructColumns | None) -> tuple[Any, Build]:
    """Returns the annotation of a type for msgspec, and the function from its values to a column."""
    arrow = arrow_type(type_)
    match type_:
        case BooleanType():
            return bool, lambda values: pa.array(values, arrow)
        case IntegerType():
            return int, lambda values: pa.array(values, arrow)
        case FloatType():
            return float, lambda values: pa.array(values, arrow)
        case DecimalType():
            return Decimal, lambda values: decimal_column(values, type_)
        case CharType():
            return str, lambda values: pa.array(values, arrow)
        case BinaryType():
            return bytes, lambda values: pa.array(values, arrow)
        case DateType():
            return str, lambda values: parse_dates(pa.array(values, pa.string()))
        case TimeType():
            return str, lambda values: parse_times(pa.array(values, pa.string()))
        case TimestampType():
            unit, suffix = timestamp_unit(type_.precision), "Z" if type_.local else ""
            return str, lambda values: parse_timestamps(pa.array(values, pa.string()), unit, separator, suffix)
        case ArrayType():
            annotation, build = _reader(type_.element, separator, required, nested)
            return list[annotation | None], lambda values: list_column(values, build)  # type: ignore[valid-type]
        case MapType() | MultisetType():
            check_key(type_)
            if isinstance(type_, MapType):
                annotation, build = _reader(type_.value, separator, required, nested)
            else:
                annotation, build = int, lambda values: pa.array(values, pa.int32())
            return dict[str, annotation | None], lambda values: map_column(values, arrow.key_type, build)  # type: ignore[valid-type]
        case RowType():
            assert nested is not None
            return nested.struct, lambda values: row_column(values, nested, arrow)
        case NullType():
            return None, lambda values: pa.nulls(len(values))
    raise no_such_type("json", type_)


def check_key(type_: MapType | MultisetType) -> None:
    """Refuses maps whose keys are not text, because JSON has no others."""
    if not isinstance(type_.key if isinstance(type_, MapType) else type_.element, CharType):
        raise no_such_type("json", type_, "JSON format doesn't support non-string as key type of map")


def decimal_column(values: list[Any], type_: DecimalType) -> pa.Array:
    """Returns a column of decimals, rounded to the scale. Numbers with too many digits become null, as in Flink."""
    kind = pa.decimal128(type_.precision, type_.scale)
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, TypeError):
        return pa.array([None if v is None else fit_decimal(v, type_) for v in values], kind)


def fit_decimal(value: Decimal, type_: DecimalType) -> Decimal | None:
    """Rounds half up to the scale. Returns None if there are more digits than the precision allows.

    >>> fit_decimal(Decimal("1.005"), DecimalType(5, 2)), fit_decimal(Decimal("1000"), DecimalType(5, 2))
    (Decimal('1.01'), None)
    """
    if not value.is_finite() or value.adjusted() > type_.precision:
        return Decimal(0).scaleb(-type_.scale) if value.is_finite() and not value else None
    rounded = value.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, _DECIMALS)
    return rounded if len(rounded.as_tuple().digits) <= type_.precision else None


def list_column(values: list[Any], build: Build) -> pa.Array:
    """Returns a column of lists from Python lists or None."""
    elements = build(list(chain.from_iterable(v for v in values if v)))
    offsets, nulls = _offsets(values)
    return pa.ListArray.from_arrays(pa.array(offsets), elements, mask=nulls)


def map_column(values: list[Any], key: pa.DataType, build: Build) -> pa.Array:
    """Returns a column of maps with text keys from dicts or None."""
    present = [v for v in values if v]
    keys = pa.array(list(chain.from_iterable(present)), key)
    items = build(list(chain.from_iterable(v.values() for v in present)))
    offsets, nulls = _offsets(values)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items, mask=nulls)


def _offsets(values: list[Any]) -> tuple[Any, pa.Array | None]:
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(v) if v else 0 for v in values], out=offsets[1:])
    nulls = [v is None for v in values]
    return offsets, pa.array(nulls, pa.bool_()) if any(nulls) else None


def row_column(values: list[Any], nested: StructColumns, kind: pa.DataType) -> pa.Array:
    """Returns a column of rows from structs or None."""
    mask = None
    if None in values:
        present = [v for v in values if v is not None]
        if len(present) * 2 < len(values) and len(kind):  # only the rows that are there become columns
            places = np.fromiter(map(operator.is_not, values, repeat(None)), np.bool_, len(values))
            return row_column(present, nested, kind).take(pa.array(places.cumsum() - 1, mask=~places))
        empty = nested.struct(*[None] * len(nested._columns))
        mask = pa.array([v is None for v in values], pa.bool_())
        values = [empty if v is None else v for v in values]
    columns = nested.build(values)
    if not columns:
        return pa.array([None if m else {} for m in (mask or [False] * len(values))], kind)
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)
