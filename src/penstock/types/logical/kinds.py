"""The logical types of tables: what a column or an expression contains, whether it may be null, and how precise it is.

They are plain data, so that they print, compare, hash and travel inside plans. The names are Flink's.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

MAX_LENGTH = 2**31 - 1
MAX_PRECISION = 38


class DataType(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of all logical types.

    >>> IntegerType(32, nullable=False) == INT
    False
    """

    nullable: bool = True

    def with_nullable(self, nullable: bool) -> LogicalType:
        """Returns the same type with the given nullability."""
        return self if self.nullable == nullable else msgspec.structs.replace(self, nullable=nullable)  # type: ignore[return-value]

    def __str__(self) -> str:
        from penstock.types.logical.text import summary  # the printer imports the classes

        return summary(self)  # type: ignore[arg-type]


class BooleanType(DataType, frozen=True, tag="BOOLEAN"):
    """TRUE, FALSE or unknown."""


class IntegerType(DataType, frozen=True, tag="INTEGER"):
    """TINYINT, SMALLINT, INT and BIGINT by their number of bits."""

    bits: Literal[8, 16, 32, 64]

    NAMES: ClassVar[dict[int, str]] = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
    DIGITS: ClassVar[dict[int, int]] = {8: 3, 16: 5, 32: 10, 64: 19}

    @property
    def precision(self) -> int:
        """The number of decimal digits of the largest value."""
        return self.DIGITS[self.bits]


class FloatType(DataType, frozen=True, tag="FLOAT"):
    """FLOAT and DOUBLE by their number of bits."""

    bits: Literal[32, 64]


class DecimalType(DataType, frozen=True, tag="DECIMAL"):
    """DECIMAL(precision, scale)."""

    precision: int = 10
    scale: int = 0


class CharType(DataType, frozen=True, tag="CHAR"):
    """CHAR(n), VARCHAR(n) if it is varying, and STRING, the longest VARCHAR."""

    length: int = MAX_LENGTH
    varying: bool = True


class BinaryType(DataType, frozen=True, tag="BINARY"):
    """BINARY(n), VARBINARY(n) if it is varying, and BYTES, the longest VARBINARY."""

    length: int = MAX_LENGTH
    varying: bool = True


class DateType(DataType, frozen=True, tag="DATE"):
    """A day."""


class TimeType(DataType, frozen=True, tag="TIME"):
    """TIME(precision), a time of day. Flink stores milliseconds whatever the precision is."""

    precision: int = 0


class TimestampType(DataType, frozen=True, tag="TIMESTAMP"):
    """TIMESTAMP(precision), or TIMESTAMP_LTZ(precision), an instant, if `local` is set.

    A time attribute is a rowtime (event time, from a watermark) or a proctime (the clock of the machine).
    """

    precision: int = 6
    local: bool = False
    attribute: Literal["", "ROWTIME", "PROCTIME"] = ""


class YearMonthIntervalType(DataType, frozen=True, tag="INTERVAL_YEAR_MONTH"):
    """A number of months."""


class DayTimeIntervalType(DataType, frozen=True, tag="INTERVAL_DAY_TIME"):
    """A number of milliseconds."""


class ArrayType(DataType, frozen=True, tag="ARRAY"):
    """ARRAY<element>."""

    element: LogicalType


class MultisetType(DataType, frozen=True, tag="MULTISET"):
    """MULTISET<element>: elements with their counts."""

    element: LogicalType


class MapType(DataType, frozen=True, tag="MAP"):
    """MAP<key, value>."""

    key: LogicalType
    value: LogicalType


class Field(msgspec.Struct, frozen=True):
    """A field of a row."""

    name: str
    type: LogicalType
    description: str | None = None


class RowType(DataType, frozen=True, tag="ROW"):
    """ROW<`name` type, ...>."""

    fields: tuple[Field, ...]

    def index(self, name: str) -> int | None:
        """Returns the position of a field, or None."""
        return next((i for i, field in enumerate(self.fields) if field.name == name), None)


class NullType(DataType, frozen=True, tag="NULL"):
    """The type of a NULL literal that no other operand has given a type."""


class VariantType(DataType, frozen=True, tag="VARIANT"):
    """A semi-structured value."""


class BitmapType(DataType, frozen=True, tag="BITMAP"):
    """A set of 32-bit integers."""


class RawType(DataType, frozen=True, tag="RAW"):
    """Values of a class that tables do not look into."""

    class_name: str = "?"


LogicalType = (
    BooleanType
    | IntegerType
    | FloatType
    | DecimalType
    | CharType
    | BinaryType
    | DateType
    | TimeType
    | TimestampType
    | YearMonthIntervalType
    | DayTimeIntervalType
    | ArrayType
    | MultisetType
    | MapType
    | RowType
    | NullType
    | VariantType
    | BitmapType
    | RawType
)

BOOLEAN = BooleanType()
TINYINT, SMALLINT, INT, BIGINT = IntegerType(8), IntegerType(16), IntegerType(32), IntegerType(64)
FLOAT, DOUBLE = FloatType(32), FloatType(64)
STRING, BYTES = CharType(), BinaryType()
DATE, TIME = DateType(), TimeType()
TIMESTAMP_3, TIMESTAMP_LTZ_3 = TimestampType(3), TimestampType(3, local=True)
MONTHS, MILLISECONDS = YearMonthIntervalType(), DayTimeIntervalType()
NULL = NullType()

NUMERIC = (IntegerType, FloatType, DecimalType)
EXACT = (IntegerType, DecimalType)
INTERVALS = (YearMonthIntervalType, DayTimeIntervalType)
DATETIME = (DateType, TimeType, TimestampType)
COLLECTIONS = (ArrayType, MultisetType, MapType, RowType)


def varchar(length: int, nullable: bool = True) -> CharType:
    """Returns VARCHAR(length), at most STRING."""
    return CharType(min(length, MAX_LENGTH), varying=True, nullable=nullable)
