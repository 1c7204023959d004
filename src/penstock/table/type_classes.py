"""The classes of types of `pyflink.table.types`. They create types, and `isinstance` checks which type a column has."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar, NoReturn

from penstock.errors import UnsupportedOperation
from penstock.table.data_types import DataField, DataType
from penstock.table.type_names import class_name
from penstock.table.type_values import LocalZone
from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType

RowField = DataField


class _OfKind(type):
    """Classes whose instances are the types with their name, because all types are instances of DataType."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, DataType) and class_name(instance.logical) == cls.__name__


class _Simple(metaclass=_OfKind):
    """A type without parameters."""

    LOGICAL: ClassVar[LogicalType]

    def __new__(cls, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(cls.LOGICAL, nullable)


class NullType(_Simple):
    """NULL."""

    LOGICAL = kinds.NULL


class BooleanType(_Simple):
    """BOOLEAN."""

    LOGICAL = kinds.BOOLEAN


class TinyIntType(_Simple):
    """TINYINT."""

    LOGICAL = kinds.TINYINT


class SmallIntType(_Simple):
    """SMALLINT."""

    LOGICAL = kinds.SMALLINT


class IntType(_Simple):
    """INT."""

    LOGICAL = kinds.INT


class BigIntType(_Simple):
    """BIGINT.

    >>> isinstance(BigIntType(), BigIntType), isinstance(IntType(), BigIntType)
    (True, False)
    """

    LOGICAL = kinds.BIGINT


class FloatType(_Simple):
    """FLOAT."""

    LOGICAL = kinds.FLOAT


class DoubleType(_Simple):
    """DOUBLE."""

    LOGICAL = kinds.DOUBLE


class DateType(_Simple):
    """DATE."""

    LOGICAL = kinds.DATE


class CharType(metaclass=_OfKind):
    """CHAR(length)."""

    def __new__(cls, length: int = 1, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.CharType(length, varying=False), nullable)


class VarCharType(metaclass=_OfKind):
    """VARCHAR(length)."""

    def __new__(cls, length: int, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.CharType(length), nullable)


class BinaryType(metaclass=_OfKind):
    """BINARY(length)."""

    def __new__(cls, length: int, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.BinaryType(length, varying=False), nullable)


class VarBinaryType(metaclass=_OfKind):
    """VARBINARY(length)."""

    def __new__(cls, length: int, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.BinaryType(length), nullable)


class DecimalType(metaclass=_OfKind):
    """DECIMAL(precision, scale)."""

    def __new__(cls, precision: int = 10, scale: int = 0, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.DecimalType(precision, scale), nullable)


class TimeType(metaclass=_OfKind):
    """TIME(precision)."""

    def __new__(cls, precision: int = 0, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.TimeType(precision), nullable)


class TimestampType(metaclass=_OfKind):
    """TIMESTAMP(precision)."""

    def __new__(cls, precision: int = 6, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.TimestampType(precision), nullable)


class _Zoned(_OfKind):
    @property
    def EPOCH_ORDINAL(cls) -> int:  # noqa: N802 - the name of PyFlink
        """The microseconds between UTC and the zone of the machine."""
        return LocalZone.EPOCH_ORDINAL

    @EPOCH_ORDINAL.setter
    def EPOCH_ORDINAL(cls, value: int) -> None:  # noqa: N802
        LocalZone.EPOCH_ORDINAL = value


class LocalZonedTimestampType(metaclass=_Zoned):
    """TIMESTAMP_LTZ(precision)."""

    def __new__(cls, precision: int = 6, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.TimestampType(precision, local=True), nullable)


class ZonedTimestampType:
    """TIMESTAMP(precision) WITH TIME ZONE, which a column cannot have."""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        self.precision = precision
        self._nullable = nullable

    @property
    def logical(self) -> NoReturn:
        """Refuses to be the type of a column."""
        raise UnsupportedOperation(
            "TABLE_TYPE", "A column cannot have the type TIMESTAMP WITH TIME ZONE. Use DataTypes.TIMESTAMP_LTZ()."
        )

    def to_sql_type(self, dt: datetime.datetime | None) -> tuple[int, int] | None:
        """Returns the microseconds of the local time and the seconds of its zone."""
        if dt is None:
            return None
        local = dt.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
        offset = dt.utcoffset() or datetime.timedelta()
        return local // datetime.timedelta(microseconds=1), offset // datetime.timedelta(seconds=1)

    def from_sql_type(self, zoned_ts: tuple[int, int] | None) -> datetime.datetime | None:
        """Returns the local time in its zone."""
        if zoned_ts is None:
            return None
        microseconds, offset = zoned_ts
        zone = datetime.timezone(datetime.timedelta(seconds=offset))
        return datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(microseconds=microseconds)


class ArrayType(metaclass=_OfKind):
    """ARRAY of an element type."""

    def __new__(cls, element_type: DataType, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.ArrayType(element_type.logical), nullable)


class MultisetType(metaclass=_OfKind):
    """MULTISET of an element type."""

    def __new__(cls, element_type: DataType, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.MultisetType(element_type.logical), nullable)


class MapType(metaclass=_OfKind):
    """MAP of a key type and a value type."""

    def __new__(cls, key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.MapType(key_type.logical, value_type.logical), nullable)


class YearMonthIntervalType(metaclass=_OfKind):
    """INTERVAL YEAR TO MONTH."""

    def __new__(cls, *resolution: Any, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.MONTHS, nullable)


class DayTimeIntervalType(metaclass=_OfKind):
    """INTERVAL DAY TO SECOND."""

    def __new__(cls, *resolution: Any, nullable: bool = True) -> DataType:  # type: ignore[misc]
        return DataType(kinds.MILLISECONDS, nullable)


__all__ = [
    "ArrayType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntType",
    "LocalZonedTimestampType",
    "MapType",
    "MultisetType",
    "NullType",
    "RowField",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]
