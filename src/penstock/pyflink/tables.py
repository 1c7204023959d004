"""The part of PyFlink's Table API that is supported: generated tables that are converted to streams, and column types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

from penstock.connectors.datagen import DataGenSource, Field, RandomField, SequenceField
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import ConfigError, PlanError, UnsupportedOperation
from penstock.types import BasicType, BasicTypeInfo, DecimalTypeInfo, TypeInformation, Types

_GENERATOR = "datagen"
_FIELD_OPTIONS = ("kind", "min", "max", "length", "start", "end", "null-rate")


def _unsupported(name: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "TABLE_API",
        f"{name} belongs to the Table API. This version of Penstock supports only tables of the connector '{_GENERATOR}' that are "
        "converted to streams. Use the DataStream API.",
    )


class _Partial:
    """A class of the Table API that is supported only in part. Other attributes raise UnsupportedOperation."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _unsupported(f"{type(self).__name__}.{name}")


@dataclass(frozen=True)
class DataType:
    """The type of a column."""

    kind: BasicType | None  # None: a type for file formats only, in `complex_type`
    length: int | None = None
    complex_type: TypeInformation | None = None

    def bridged_to(self, conversion_cls: str) -> Self:
        """Accepted for compatibility, has no effect. Values are those of Python, and not objects of a Java class."""
        return self

    @property
    def type_info(self) -> TypeInformation:
        """The type of the values of the column."""
        if self.complex_type is not None:
            return self.complex_type
        assert self.kind is not None
        return BasicTypeInfo(self.kind)


@dataclass(frozen=True)
class RowType(DataType):
    """The type of a column of rows, and of the rows of files."""


@dataclass(frozen=True)
class DataField:
    """A field of a row."""

    name: str
    data_type: DataType


class _PartialTypes(type):
    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _unsupported(f"DataTypes.{name}")


class DataTypes(metaclass=_PartialTypes):
    """Creates column types.

    >>> DataTypes.INT().kind.name
    'INT'
    """

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        return DataType(BasicType.BYTE)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        return DataType(BasicType.SHORT)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        return DataType(BasicType.INT)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        return DataType(BasicType.LONG)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        return DataType(BasicType.FLOAT)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        return DataType(BasicType.DOUBLE)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        return DataType(BasicType.BOOLEAN)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        return DataType(BasicType.STRING)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        return DataType(BasicType.STRING, length)

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        return DataType(BasicType.STRING, length)

    # -- for file formats

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        return DataType(None, complex_type=DecimalTypeInfo(precision, scale))

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.SQL_DATE())

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.SQL_TIME())

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.SQL_TIMESTAMP())

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.INSTANT())

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.BYTES())

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> DataType:
        return DataType(None, length, Types.BYTES())

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> DataType:
        return DataType(None, length, Types.BYTES())

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.LIST(element_type.type_info))

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        return DataType(None, complex_type=Types.MAP(key_type.type_info, value_type.type_info))

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> DataField:
        return DataField(name, data_type)

    @staticmethod
    def ROW(row_fields: list[DataField], nullable: bool = True) -> DataType:
        names = [field.name for field in row_fields]
        return RowType(None, complex_type=Types.ROW_NAMED(names, [field.data_type.type_info for field in row_fields]))


@dataclass(frozen=True)
class Schema:
    """The columns of a table."""

    columns: dict[str, DataType]

    @staticmethod
    def new_builder() -> Schema.Builder:
        return Schema.Builder()

    class Builder(_Partial):
        """Builder of a schema."""

        def __init__(self) -> None:
            self._columns: dict[str, DataType] = {}

        def column(self, column_name: str, data_type: Any) -> Self:
            if not isinstance(data_type, DataType) or data_type.kind is None:
                raise _unsupported(f"A column of type {data_type!r}")
            self._columns[column_name] = data_type
            return self

        def build(self) -> Schema:
            return Schema(dict(self._columns))


@dataclass(frozen=True)
class TableDescriptor:
    """The schema and the connector options of a table."""

    columns: dict[str, DataType]
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        if connector != _GENERATOR:
            raise _unsupported(f"The connector '{connector}'")
        return TableDescriptor.Builder()

    class Builder(_Partial):
        """Builder of a table descriptor."""

        def __init__(self) -> None:
            self._columns: dict[str, DataType] = {}
            self._options: dict[str, str] = {}

        def schema(self, schema: Schema) -> Self:
            self._columns = schema.columns
            return self

        def option(self, key: Any, value: Any) -> Self:
            self._options[str(key)] = str(value)
            return self

        def build(self) -> TableDescriptor:
            return TableDescriptor(self._columns, self._options)


@dataclass(frozen=True)
class Table:
    """A table that can be converted to a stream."""

    name: str
    descriptor: TableDescriptor

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _unsupported(f"Table.{name}")


class StreamTableEnvironment(_Partial):
    """Converts generated tables to streams.

    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> tables = StreamTableEnvironment.create(env)
    >>> schema = Schema.new_builder().column("n", DataTypes.INT()).build()
    >>> tables.create_temporary_table("numbers", TableDescriptor.for_connector("datagen").schema(schema).build())
    >>> tables.to_data_stream(tables.from_path("numbers")).get_type()
    RowTypeInfo(n: Integer)
    """

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._tables: dict[str, TableDescriptor] = {}

    @staticmethod
    def create(
        stream_execution_environment: StreamExecutionEnvironment | None = None, environment_settings: Any = None
    ) -> StreamTableEnvironment:
        if stream_execution_environment is None:
            raise _unsupported("A table environment without a stream environment")
        return StreamTableEnvironment(stream_execution_environment)

    def create_temporary_table(self, path: str, descriptor: TableDescriptor) -> None:
        self._tables[path] = descriptor

    create_table = create_temporary_table

    def from_path(self, path: str) -> Table:
        if path not in self._tables:
            raise PlanError(
                "NO_TABLE",
                f"There is no table '{path}'. Existing tables: {', '.join(self._tables) or 'none'}. Create it first.",
            )
        return Table(path, self._tables[path])

    def to_data_stream(self, table: Table) -> DataStream[Any]:
        """Returns a stream of the rows of a generated table."""
        source = datagen_source(table.name, table.descriptor)
        return self._env.from_source(source, None, table.name, source.row_type())


def datagen_source(table: str, descriptor: TableDescriptor) -> DataGenSource:
    """Returns the source of a generated table, from the options of Flink's datagen connector."""
    unused = dict(descriptor.options)
    rate, rows = unused.pop("rows-per-second", None), unused.pop("number-of-rows", None)
    fields = {name: _field(table, name, kind, unused) for name, kind in descriptor.columns.items()}
    if unused:
        raise ConfigError(
            "TABLE_OPTION",
            f"Table '{table}' has unknown options: {', '.join(sorted(unused))}. Supported are rows-per-second, number-of-rows, and "
            f"fields.<column>. followed by {', '.join(_FIELD_OPTIONS)}.",
        )
    settings = {} if rate is None else {"rows_per_second": _number(table, "rows-per-second", rate)}
    return DataGenSource(
        fields, number_of_rows=None if rows is None else _number(table, "number-of-rows", rows), **settings
    )


def _field(table: str, name: str, data_type: DataType, unused: dict[str, str]) -> Field:
    assert data_type.kind is not None
    options = {key: unused.pop(f"fields.{name}.{key}", None) for key in _FIELD_OPTIONS}
    if options["kind"] == "sequence":
        start, end = (_number(table, f"fields.{name}.{key}", options[key] or "") for key in ("start", "end"))
        return SequenceField(start, end, data_type.kind)
    number = float if data_type.kind in (BasicType.FLOAT, BasicType.DOUBLE) else int
    low, high = (
        None if options[key] is None else _number(table, f"fields.{name}.{key}", options[key] or "", number)
        for key in ("min", "max")
    )
    length = options["length"] or data_type.length
    rate = options["null-rate"] or "0"
    settings: dict[str, Any] = (
        {} if length is None else {"length": _number(table, f"fields.{name}.length", str(length))}
    )
    return RandomField(
        data_type.kind, low, high, null_rate=_number(table, f"fields.{name}.null-rate", rate, float), **settings
    )


def _number(table: str, option: str, text: str, kind: Any = int) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(
            "TABLE_OPTION", f"Table '{table}' has {option} = '{text}', but the value must be a number."
        ) from None
