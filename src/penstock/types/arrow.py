"""The Arrow types of all types, and the conversion of values to and from Arrow.

`LEAF_TYPES` is the only table from kinds of single values to Arrow types. It has one column for each use of Arrow: files
(Parquet, ORC, tables of the State Processor API), Spark DataFrames, and the wire format between workers.
"""

from __future__ import annotations

import datetime
import decimal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from penstock.time import Instant
from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.collection import BytesTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo, SequenceTypeInfo
from penstock.types.decimal_type import DecimalTypeInfo
from penstock.types.fields import FieldsTypeInfo, RowTypeInfo, TupleTypeInfo
from penstock.types.information import TypeInformation
from penstock.types.python import ClassTypeInfo, PythonTypeInfo, ScalarTypeInfo
from penstock.types.temporal import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from penstock.types.visitor import TypeVisitor

R_co = TypeVar("R_co", covariant=True)
Convert = Callable[[Any], Any]


class LeafType(NamedTuple):
    """The Arrow types of one kind of single value. None means that there is no such column."""

    file: pa.DataType
    spark: pa.DataType | None
    wire: pa.DataType


def _same(arrow: pa.DataType) -> LeafType:
    return LeafType(arrow, arrow, arrow)


_UTC = pa.timestamp("us", "UTC")
_BIG_INT = pa.decimal128(38, 0)
_DECIMAL = pa.decimal128(38, 18)  # Flink's table types use it for decimals without a declared precision

LEAF_TYPES: dict[str, LeafType] = {
    "str": _same(pa.string()),
    "bool": _same(pa.bool_()),
    "int8": _same(pa.int8()),
    "int16": _same(pa.int16()),
    "int32": _same(pa.int32()),
    "int64": _same(pa.int64()),
    "float32": _same(pa.float32()),
    "float64": _same(pa.float64()),
    # On the wire, numbers of any size are text because they must come back unchanged.
    "bigint": LeafType(_BIG_INT, _BIG_INT, wire=pa.string()),
    "decimal": LeafType(_DECIMAL, _DECIMAL, wire=pa.string()),
    "bytes": _same(pa.binary()),
    "date": _same(pa.date32()),
    # Spark has no type for a time of day.
    "time": LeafType(pa.time64("us"), None, wire=pa.time64("us")),
    # A datetime has no time zone here. Spark's default timestamp type is in UTC.
    "datetime": LeafType(pa.timestamp("us"), _UTC, wire=pa.timestamp("us")),
    # On the wire, an instant keeps its nanoseconds.
    "instant": LeafType(_UTC, _UTC, wire=pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])),
    # These kinds occur only in stored state.
    "timedelta": _same(pa.duration("us")),
    "uuid": _same(pa.string()),
    "none": _same(pa.null()),
}
_BASIC_LEAVES = {
    BasicType.STRING: "str",
    BasicType.CHAR: "str",
    BasicType.BOOLEAN: "bool",
    BasicType.BYTE: "int8",
    BasicType.SHORT: "int16",
    BasicType.INT: "int32",
    BasicType.LONG: "int64",
    BasicType.FLOAT: "float32",
    BasicType.DOUBLE: "float64",
    BasicType.BIG_INT: "bigint",
    BasicType.BIG_DEC: "decimal",
}
_SCALAR_LEAVES: dict[type, str] = {
    str: "str",
    bool: "bool",
    int: "int64",
    float: "float64",
    bytes: "bytes",
    decimal.Decimal: "decimal",
    datetime.date: "date",
    datetime.time: "time",
    datetime.datetime: "datetime",
}


class LeafVisitor(TypeVisitor[R_co]):
    """A visitor that handles all types of single values by their row in `LEAF_TYPES`."""

    @abstractmethod
    def visit_leaf(self, leaf: str, type_info: TypeInformation) -> R_co:
        """Handles a type of single values. `leaf` is its key in `LEAF_TYPES`."""

    def visit_basic(self, type_info: BasicTypeInfo) -> R_co:
        return self.visit_leaf(_BASIC_LEAVES[type_info.basic_type], type_info)

    def visit_scalar(self, type_info: ScalarTypeInfo) -> R_co:
        return self.visit_leaf(_SCALAR_LEAVES[type_info.python_class], type_info)

    def visit_instant(self, type_info: BasicTypeInfo) -> R_co:
        return self.visit_leaf("instant", type_info)

    def visit_date(self, type_info: DateTypeInfo) -> R_co:
        return self.visit_leaf("date", type_info)

    def visit_time(self, type_info: TimeTypeInfo) -> R_co:
        return self.visit_leaf("time", type_info)

    def visit_timestamp(self, type_info: TimestampTypeInfo) -> R_co:
        return self.visit_leaf("datetime", type_info)

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> R_co:
        return self.visit_leaf("bytes", type_info)


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    """The Arrow type of a column and the conversion of its values, which are not None. No function means no conversion."""

    arrow: pa.DataType
    encode: Convert | None = None
    decode: Convert | None = None

    def array(self, values: Any) -> pa.Array:
        """Returns the values, some of which may be None, as an Arrow array."""
        encode = self.encode
        return pa.array(values if encode is None else [None if v is None else encode(v) for v in values], self.arrow)


def list_column(element: ArrowColumn) -> ArrowColumn:
    """Returns the column of lists."""
    return ArrowColumn(pa.list_(element.arrow), _each(element.encode), _each(element.decode))


def map_column(key: ArrowColumn, value: ArrowColumn) -> ArrowColumn:
    """Returns the column of dicts."""
    encode_key, encode_value = nullable(key.encode), nullable(value.encode)
    decode_key, decode_value = nullable(key.decode), nullable(value.decode)
    return ArrowColumn(
        pa.map_(key.arrow, value.arrow),
        lambda found: [(encode_key(k), encode_value(v)) for k, v in found.items()],
        lambda pairs: {decode_key(k): decode_value(v) for k, v in pairs},
    )


def struct_column(
    names: list[str],
    fields: list[ArrowColumn],
    split: Callable[[Any], Iterable[Any]],
    construct: Callable[[list[Any]], Any] = list,
) -> ArrowColumn:
    """Returns the column of values with fields. `split` returns the fields of a value, `construct` makes a value of them.

    Fields that are always None have no column.
    """
    encoders, decoders = [nullable(f.encode) for f in fields], [nullable(f.decode) for f in fields]
    return ArrowColumn(
        pa.struct([(n, f.arrow) for n, f in zip(names, fields, strict=True) if not pa.types.is_null(f.arrow)]),
        lambda value: {n: encode(v) for n, encode, v in zip(names, encoders, split(value), strict=True)},
        lambda found: construct([decode(found.get(n)) for n, decode in zip(names, decoders, strict=True)]),
    )


def nullable(convert: Convert | None) -> Convert:
    """Returns the same conversion for a value that may be None."""
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _each(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: [None if v is None else convert(v) for v in values]


class NoArrowType(Exception):  # noqa: N818 - callers raise an error that names the column
    """Raised for a type that has no Arrow column. `path` leads from the visited type to it."""

    def __init__(self, type_info: TypeInformation, path: tuple[str, ...] = ()) -> None:
        super().__init__(type_info, path)
        self.type_info = type_info
        self.path = path


class HasFileColumn(ABC):
    """A type of unknown structure elsewhere that has a column in files, such as a union of Avro."""

    @abstractmethod
    def file_column(self, columns: FileColumns) -> ArrowColumn:
        """Returns the column of this type."""


class FileColumns(LeafVisitor[ArrowColumn]):
    """The columns of files. `as_dicts` reads rows and objects as dicts. Tuples are refused because their fields have no names.

    >>> from penstock.types import Types
    >>> FileColumns().visit(Types.LIST(Types.BIG_INT())).arrow
    ListType(list<item: decimal128(38, 0)>)
    """

    def __init__(self, as_dicts: bool = False) -> None:
        self._as_dicts = as_dicts

    def visit_leaf(self, leaf: str, type_info: TypeInformation) -> ArrowColumn:
        if isinstance(type_info, DecimalTypeInfo):
            return ArrowColumn(pa.decimal128(type_info.precision, type_info.scale))
        encode, decode = _LEAF_CONVERSIONS.get(leaf, (None, None))
        return ArrowColumn(LEAF_TYPES[leaf].file, encode, decode)

    def visit_list(self, type_info: SequenceTypeInfo) -> ArrowColumn:
        return list_column(self.visit(type_info.element_type))

    def visit_map(self, type_info: MapTypeInfo) -> ArrowColumn:
        return map_column(self.visit(type_info.key_type), self.visit(type_info.value_type))

    def visit_row(self, type_info: RowTypeInfo) -> ArrowColumn:
        return self._struct(type_info, iter)

    def visit_class(self, type_info: ClassTypeInfo) -> ArrowColumn:
        names = type_info.field_names
        return self._struct(type_info, lambda value: [getattr(value, n) for n in names])

    def visit_tuple(self, type_info: TupleTypeInfo) -> ArrowColumn:
        raise NoArrowType(type_info)

    def visit_opaque(self, type_info: TypeInformation) -> ArrowColumn:
        if isinstance(type_info, HasFileColumn):
            return type_info.file_column(self)
        raise NoArrowType(type_info)

    def constructor(self, type_info: FieldsTypeInfo) -> Callable[[list[Any]], Any]:
        """Returns the function that makes a value of its fields."""
        if not self._as_dicts:
            return type_info.constructor()
        names = type_info.get_field_names()
        return lambda fields: dict(zip(names, fields, strict=True))

    def fields(self, type_info: FieldsTypeInfo) -> list[ArrowColumn]:
        """Returns the columns of the fields of a type."""
        columns = []
        for name, field_type in zip(type_info.get_field_names(), type_info.field_types, strict=True):
            try:
                columns.append(self.visit(field_type))
            except NoArrowType as error:
                raise NoArrowType(error.type_info, (name, *error.path)) from None
        return columns

    def _struct(self, type_info: FieldsTypeInfo, split: Callable[[Any], Iterable[Any]]) -> ArrowColumn:
        names, fields = type_info.get_field_names(), self.fields(type_info)
        return struct_column(names, fields, split, self.constructor(type_info))


class SparkColumns(FileColumns):
    """The columns of Spark DataFrames. Values are only encoded, and lists and bytes may be of similar classes.

    >>> from penstock.types import Types
    >>> SparkColumns().visit(Types.TUPLE([Types.STRING(), Types.SQL_TIMESTAMP()])).arrow
    StructType(struct<f0: string, f1: timestamp[us, tz=UTC]>)
    """

    def visit_leaf(self, leaf: str, type_info: TypeInformation) -> ArrowColumn:
        arrow = LEAF_TYPES[leaf].spark
        if arrow is None:
            raise NoArrowType(type_info)
        column = super().visit_leaf(leaf, type_info)
        return column if isinstance(type_info, DecimalTypeInfo) else ArrowColumn(arrow, column.encode)

    def visit_bytes(self, type_info: BytesTypeInfo | PrimitiveArrayTypeInfo) -> ArrowColumn:
        return ArrowColumn(super().visit_bytes(type_info).arrow, bytes)

    def visit_list(self, type_info: SequenceTypeInfo) -> ArrowColumn:
        column = super().visit_list(type_info)
        return ArrowColumn(column.arrow, column.encode or list)

    def visit_tuple(self, type_info: TupleTypeInfo) -> ArrowColumn:
        return self._struct(type_info, iter)


def structure(type_info: TypeInformation) -> TypeInformation:
    """Returns the structure of a Python annotation, or the type itself.

    >>> from penstock.types import Types
    >>> structure(Types.of(list[int]))
    ListTypeInfo<int>
    """
    shape = type_info.shape if isinstance(type_info, PythonTypeInfo) else None
    return type_info if shape is None else shape


def instant_to_micros(instant: Instant) -> int:
    """Returns an instant as microseconds since 1970."""
    return instant.seconds * 1_000_000 + instant.nanos // 1000


def _instant_of_datetime(moment: datetime.datetime) -> Instant:
    since = moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


# Conversions of single values for files and DataFrames, where Arrow needs one.
_LEAF_CONVERSIONS: dict[str, tuple[Convert, Convert]] = {
    "instant": (instant_to_micros, _instant_of_datetime),
    "bigint": (decimal.Decimal, int),
}
