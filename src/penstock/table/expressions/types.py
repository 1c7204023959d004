"""Types of programs as types of the dialect."""

from __future__ import annotations

from penstock.table.data_types import DataType
from penstock.table.dialect import nodes
from penstock.table.dialect.data_type import IntervalQualifier, SqlField, SqlType
from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType


def logical_of(data_type: object) -> LogicalType:
    """Returns the type that a program gave as `DataTypes.INT()` and the like."""
    if not isinstance(data_type, DataType):
        raise TypeError(f"Unsupported data type: {data_type}. Use a type of DataTypes, such as DataTypes.INT().")
    return data_type.logical


def type_reference(type_: LogicalType) -> nodes.TypeReference:
    """Returns the node of a type, as CAST has it."""
    return nodes.TypeReference(this=written_type(type_))


def written_type(type_: LogicalType) -> SqlType:
    """Returns a type as it is written in SQL.

    >>> print(written_type(kinds.ArrayType(kinds.DecimalType(10, 2))))
    ARRAY<DECIMAL(10, 2)>
    """
    name, arguments, children = _parts(type_)
    nullable = None if type_.nullable else False
    qualifier = _QUALIFIERS.get(type(type_))
    return SqlType(name, arguments, nullable, children, qualifier)


_QUALIFIERS = {
    kinds.YearMonthIntervalType: IntervalQualifier("MONTH"),
    kinds.DayTimeIntervalType: IntervalQualifier("DAY", "SECOND", None, 3),
}
_PLAIN: dict[type, str] = {
    kinds.BooleanType: "BOOLEAN",
    kinds.DateType: "DATE",
    kinds.VariantType: "VARIANT",
    kinds.BitmapType: "BITMAP",
    kinds.NullType: "NULL",
    kinds.YearMonthIntervalType: "INTERVAL",
    kinds.DayTimeIntervalType: "INTERVAL",
}


def _parts(type_: LogicalType) -> tuple[str, tuple[int | str, ...], tuple[SqlField, ...]]:
    """Returns name, arguments and children."""
    match type_:
        case kinds.IntegerType():
            return kinds.IntegerType.NAMES[type_.bits], (), ()
        case kinds.FloatType():
            return "FLOAT" if type_.bits == 32 else "DOUBLE", (), ()
        case kinds.DecimalType():
            return "DECIMAL", (type_.precision, type_.scale), ()
        case kinds.CharType():
            return "VARCHAR" if type_.varying else "CHAR", (type_.length,), ()
        case kinds.BinaryType():
            return "VARBINARY" if type_.varying else "BINARY", (type_.length,), ()
        case kinds.TimeType():
            return "TIME", (type_.precision,), ()
        case kinds.TimestampType():
            return "TIMESTAMP_LTZ" if type_.local else "TIMESTAMP", (type_.precision,), ()
        case kinds.ArrayType():
            return "ARRAY", (), (SqlField(written_type(type_.element)),)
        case kinds.MultisetType():
            return "MULTISET", (), (SqlField(written_type(type_.element)),)
        case kinds.MapType():
            return "MAP", (), (SqlField(written_type(type_.key)), SqlField(written_type(type_.value)))
        case kinds.RowType():
            return "ROW", (), tuple(SqlField(written_type(f.type), f.name, f.description) for f in type_.fields)
        case kinds.RawType():
            return "RAW", (type_.class_name,), ()
    return _PLAIN[type(type_)], (), ()
