"""The types of columns as programs write them: `DataTypes.INT()`."""

# ruff: noqa: N802 - the names of Flink

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.errors import UnsupportedOperation
from penstock.table.type_names import class_text
from penstock.table.type_values import python_value, stored_value
from penstock.types import BasicType, BasicTypeInfo, DecimalTypeInfo, TypeInformation, Types
from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType
from penstock.types.logical.text import summary

LIST_VIEW, MAP_VIEW = "ListView", "MapView"  # classes of the values of accumulators
_BASIC = {8: BasicType.BYTE, 16: BasicType.SHORT, 32: BasicType.INT, 64: BasicType.LONG}


class DataType:
    """The type of a column. `logical` is the type that SQL knows.

    >>> print(DataTypes.DECIMAL(10, 2).not_null())
    DECIMAL(10, 2) NOT NULL
    """

    def __init__(self, logical: LogicalType = kinds.NULL, nullable: bool | None = None) -> None:
        self.logical = logical if nullable is None else logical.with_nullable(nullable)

    def not_null(self) -> DataType:
        """Returns the same type without NULL."""
        return data_type_of(self.logical.with_nullable(False))

    def nullable(self) -> DataType:
        """Returns the same type with NULL."""
        return data_type_of(self.logical.with_nullable(True))

    def to_sql_type(self, obj: Any) -> Any:
        """Returns a value as a number of days or microseconds if its type is one of dates or times."""
        return stored_value(obj, self.logical)

    def from_sql_type(self, obj: Any) -> Any:
        """Returns a number of days or microseconds as the date or time that it stands for.

        >>> DataTypes.DATE().from_sql_type(0)
        datetime.date(1970, 1, 1)
        """
        return python_value(obj, self.logical)

    def __getattr__(self, name: str) -> Any:
        """Returns what only some types have: `element_type`, `key_type`, `value_type`, `precision`, `scale`, `_nullable`."""
        logical = self.__dict__.get("logical")
        if logical is not None:
            if name == "_nullable":
                return logical.nullable
            part = getattr(logical, _PARTS.get(name, name), None) if name in _PARTS else None
            if part is not None:
                return part if isinstance(part, int) else data_type_of(part)
        raise AttributeError(f"The type {type(self).__name__} has no attribute '{name}'.", name=name, obj=self)

    def bridged_to(self, conversion_cls: str) -> DataType:
        """Accepted for compatibility, has no effect. Values are those of Python, and not objects of a Java class."""
        return self

    @property
    def kind(self) -> BasicType | None:
        """The basic type, or None for the others."""
        info = self.type_info
        return info.basic_type if isinstance(info, BasicTypeInfo) else None

    @property
    def length(self) -> int | None:
        """The length of CHAR(n) and the like, or None."""
        found = getattr(self.logical, "length", None)
        return None if found == kinds.MAX_LENGTH else found

    @property
    def type_info(self) -> TypeInformation:
        """The type of the values in a stream."""
        return _type_info(self.logical)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and other.logical == self.logical

    def __hash__(self) -> int:
        return hash(self.logical)

    def __str__(self) -> str:
        return summary(self.logical)

    def __repr__(self) -> str:
        return class_text(self.logical)


_PARTS = {
    "element_type": "element",
    "key_type": "key",
    "value_type": "value",
    "precision": "precision",
    "scale": "scale",
}  # attributes of types by their names in PyFlink


class RowType(DataType):
    """The type of a column of rows, and of the rows of files.

    >>> print(RowType().add("a", DataTypes.INT()).add("b", DataTypes.STRING()))
    ROW<`a` INT, `b` STRING>
    """

    def __init__(self, fields: Sequence[DataField] | LogicalType = (), nullable: bool = True) -> None:
        if isinstance(fields, kinds.RowType):
            nullable = fields.nullable
            fields = [DataField(f.name, data_type_of(f.type), f.description) for f in fields.fields]
        assert isinstance(fields, Sequence)
        self.fields = list(fields)
        super().__init__(_row_of(self.fields, nullable))

    def add(self, field: str | DataField, data_type: DataType | None = None) -> RowType:
        """Adds a field to this type and returns it."""
        if isinstance(field, str):
            if data_type is None:
                raise ValueError(f"Field '{field}' needs a type such as DataTypes.INT().")
            field = DataField(field, data_type)
        self.fields.append(field)
        self.logical = _row_of(self.fields, self.logical.nullable)
        return self

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return self.field_names()

    def field_names(self) -> list[str]:
        """Returns the names of the fields."""
        return [f.name for f in self.fields]

    def field_types(self) -> list[DataType]:
        """Returns the types of the fields."""
        return [f.data_type for f in self.fields]

    def __iter__(self) -> Iterator[DataField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: str | int | slice) -> DataField | RowType:
        """Returns the field with this name or position, or a type with some of the fields."""
        if isinstance(key, slice):
            return RowType(self.fields[key])
        if isinstance(key, str):
            found = next((f for f in self.fields if f.name == key), None)
            if found is None:
                raise KeyError(f"There is no field '{key}'. The fields are {', '.join(self.names)}.")
            return found
        return self.fields[key]

    def __contains__(self, name: object) -> bool:
        return any(f.name == name for f in self.fields)


def _row_of(fields: Sequence[DataField], nullable: bool) -> kinds.RowType:
    parts = tuple(kinds.Field(f.name, f.data_type.logical, f.description) for f in fields)
    return kinds.RowType(parts, nullable=nullable)


def data_type_of(type_: LogicalType) -> DataType:
    """Returns the type as programs write it. A type of rows has its fields."""
    return RowType(type_) if isinstance(type_, kinds.RowType) else DataType(type_)


class ListViewType(DataType):
    """The type of a ListView, which only accumulators have."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(kinds.RawType(class_name=LIST_VIEW, nullable=False))
        self.element_type = element_type


class MapViewType(DataType):
    """The type of a MapView, which only accumulators have."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(kinds.RawType(class_name=MAP_VIEW, nullable=False))
        self.key_type = key_type
        self.value_type = value_type


class DataField:
    """A field of a row."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        self.name = name
        self.data_type = data_type
        self.description = description

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataField) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description or '...'})"


def _type_info(type_: LogicalType) -> TypeInformation:
    match type_:
        case kinds.BooleanType():
            return Types.BOOLEAN()
        case kinds.IntegerType():
            return BasicTypeInfo(_BASIC[type_.bits])
        case kinds.FloatType():
            return Types.FLOAT() if type_.bits == 32 else Types.DOUBLE()
        case kinds.DecimalType():
            return DecimalTypeInfo(type_.precision, type_.scale)
        case kinds.CharType():
            return Types.STRING()
        case kinds.BinaryType():
            return Types.BYTES()
        case kinds.DateType():
            return Types.SQL_DATE()
        case kinds.TimeType():
            return Types.SQL_TIME()
        case kinds.TimestampType():
            return Types.INSTANT() if type_.local else Types.SQL_TIMESTAMP()
        case kinds.ArrayType():
            return Types.LIST(_type_info(type_.element))
        case kinds.MultisetType():
            return Types.MAP(_type_info(type_.element), Types.INT())
        case kinds.MapType():
            return Types.MAP(_type_info(type_.key), _type_info(type_.value))
        case kinds.RowType():
            return Types.ROW_NAMED([f.name for f in type_.fields], [_type_info(f.type) for f in type_.fields])
        case kinds.YearMonthIntervalType() | kinds.DayTimeIntervalType():
            return Types.LONG()
    raise UnsupportedOperation("TABLE_API", f"{summary(type_)} is not a type of streams. Cast the column to STRING.")


def _nullable(type_: LogicalType, nullable: bool) -> DataType:
    return data_type_of(type_.with_nullable(nullable))


class DataTypes:
    """Creates types of columns.

    >>> print(DataTypes.ARRAY(DataTypes.STRING()))
    ARRAY<STRING>
    """

    @staticmethod
    def NULL() -> DataType:
        return DataType(kinds.NULL)

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        return _nullable(kinds.CharType(length, varying=False), nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        return _nullable(kinds.CharType(length), nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        return _nullable(kinds.STRING, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        return _nullable(kinds.BOOLEAN, nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> DataType:
        return _nullable(kinds.BinaryType(length, varying=False), nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> DataType:
        return _nullable(kinds.BinaryType(length), nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        return _nullable(kinds.BYTES, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        return _nullable(kinds.DecimalType(precision, scale), nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        return _nullable(kinds.TINYINT, nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        return _nullable(kinds.SMALLINT, nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        return _nullable(kinds.INT, nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        return _nullable(kinds.BIGINT, nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        return _nullable(kinds.FLOAT, nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        return _nullable(kinds.DOUBLE, nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        return _nullable(kinds.DATE, nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        return _nullable(kinds.TimeType(precision), nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        return _nullable(kinds.TimestampType(precision), nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        return _nullable(kinds.TimestampType(precision, local=True), nullable)

    TIMESTAMP_WITH_LOCAL_TIME_ZONE = TIMESTAMP_LTZ

    @staticmethod
    def INTERVAL(upper_resolution: Any, lower_resolution: Any = None) -> DataType:
        months = str(upper_resolution).upper().startswith(("YEAR", "MONTH", "QUARTER"))
        return DataType(kinds.MONTHS if months else kinds.MILLISECONDS)

    @staticmethod
    def YEAR(precision: int = 2) -> str:
        return "YEAR"

    @staticmethod
    def MONTH() -> str:
        return "MONTH"

    @staticmethod
    def DAY(precision: int = 2) -> str:
        return "DAY"

    @staticmethod
    def HOUR() -> str:
        return "HOUR"

    @staticmethod
    def MINUTE() -> str:
        return "MINUTE"

    @staticmethod
    def SECOND(precision: int = 6) -> str:
        return "SECOND"

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        return _nullable(kinds.ArrayType(element_type.logical), nullable)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> DataType:
        return _nullable(kinds.MultisetType(element_type.logical), nullable)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        return _nullable(kinds.MapType(key_type.logical, value_type.logical), nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> DataType:
        return ListViewType(element_type)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> DataType:
        return MapViewType(key_type, value_type)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> DataField:
        return DataField(name, data_type, description)

    @staticmethod
    def ROW(row_fields: Sequence[DataField] = (), nullable: bool = True) -> RowType:
        return RowType(row_fields, nullable)
