"""What stream programs use of PyFlink's Table API: a generated table that becomes a stream. The rest is not here yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

from penstock.connectors.datagen import DataGenSource, Field, RandomField, SequenceField
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import ConfigError, PlanError, UnsupportedOperation
from penstock.types import BasicType, BasicTypeInfo, TypeInformation, Types

_GENERATOR = "datagen"
_OF_FIELDS = ("kind", "min", "max", "length", "start", "end", "null-rate")


def _not_here(name: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "TABLE_API",
        f"{name} belongs to the Table API, which this version of Penstock does not have: a table of the connector "
        f"'{_GENERATOR}' can become a stream, and nothing else. Write the job with streams.",
    )


class _Partial:
    """A class of the Table API of which only a part is here; all else says so."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _not_here(f"{type(self).__name__}.{name}")


@dataclass(frozen=True)
class DataType:
    """The type of a column."""

    kind: BasicType | None  # None: one that only formats take
    length: int | None = None
    held: TypeInformation | None = None

    @property
    def type_info(self) -> TypeInformation:
        """The type of its values."""
        if self.held is not None:
            return self.held
        assert self.kind is not None
        return BasicTypeInfo(self.kind)


@dataclass(frozen=True)
class DataField:
    """A field of a row."""

    name: str
    data_type: DataType


class _PartialTypes(type):
    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _not_here(f"DataTypes.{name}")


class DataTypes(metaclass=_PartialTypes):
    """Types of columns.

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

    # -- for formats of files

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        return DataType(None, held=Types.BIG_DEC())

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        return DataType(None, held=Types.SQL_DATE())

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        return DataType(None, held=Types.SQL_TIME())

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        return DataType(None, held=Types.SQL_TIMESTAMP())

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        return DataType(None, held=Types.INSTANT())

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        return DataType(None, held=Types.BYTES())

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        return DataType(None, held=Types.LIST(element_type.type_info))

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        return DataType(None, held=Types.MAP(key_type.type_info, value_type.type_info))

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> DataField:
        return DataField(name, data_type)

    @staticmethod
    def ROW(row_fields: list[DataField], nullable: bool = True) -> DataType:
        names = [field.name for field in row_fields]
        return DataType(None, held=Types.ROW_NAMED(names, [field.data_type.type_info for field in row_fields]))


@dataclass(frozen=True)
class Schema:
    """The columns of a table."""

    columns: dict[str, DataType]

    @staticmethod
    def new_builder() -> Schema.Builder:
        return Schema.Builder()

    class Builder(_Partial):
        """Collects columns."""

        def __init__(self) -> None:
            self._columns: dict[str, DataType] = {}

        def column(self, column_name: str, data_type: Any) -> Self:
            if not isinstance(data_type, DataType) or data_type.kind is None:
                raise _not_here(f"A column of type {data_type!r}")
            self._columns[column_name] = data_type
            return self

        def build(self) -> Schema:
            return Schema(dict(self._columns))


@dataclass(frozen=True)
class TableDescriptor:
    """Where the rows of a table come from."""

    columns: dict[str, DataType]
    options: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        if connector != _GENERATOR:
            raise _not_here(f"The connector '{connector}'")
        return TableDescriptor.Builder()

    class Builder(_Partial):
        """Collects the schema and the options."""

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
    """A table that can become a stream."""

    name: str
    descriptor: TableDescriptor

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise _not_here(f"Table.{name}")


class StreamTableEnvironment(_Partial):
    """Makes streams of generated tables.

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
            raise _not_here("A table environment without a stream environment")
        return StreamTableEnvironment(stream_execution_environment)

    def create_temporary_table(self, path: str, descriptor: TableDescriptor) -> None:
        self._tables[path] = descriptor

    create_table = create_temporary_table

    def from_path(self, path: str) -> Table:
        if path not in self._tables:
            raise PlanError(
                "NO_TABLE", f"There is no table '{path}'. Tables: {', '.join(self._tables) or 'none'}. Create it first."
            )
        return Table(path, self._tables[path])

    def to_data_stream(self, table: Table) -> DataStream[Any]:
        """The rows of a generated table."""
        source = generated(table.name, table.descriptor)
        return self._env.from_source(source, None, table.name, source.row_type())


def generated(table: str, descriptor: TableDescriptor) -> DataGenSource:
    """The source of a generated table, by the options of Flink's connector."""
    left = dict(descriptor.options)
    rate, rows = left.pop("rows-per-second", None), left.pop("number-of-rows", None)
    fields = {name: _field(table, name, kind, left) for name, kind in descriptor.columns.items()}
    if left:
        raise ConfigError(
            "TABLE_OPTION",
            f"Table '{table}' has the options {', '.join(sorted(left))}, which are not known for its columns. Known: "
            f"rows-per-second, number-of-rows, and fields.<column>. with {', '.join(_OF_FIELDS)}.",
        )
    settings = {} if rate is None else {"rows_per_second": _number(table, "rows-per-second", rate)}
    return DataGenSource(
        fields, number_of_rows=None if rows is None else _number(table, "number-of-rows", rows), **settings
    )


def _field(table: str, name: str, data_type: DataType, left: dict[str, str]) -> Field:
    assert data_type.kind is not None
    given = {key: left.pop(f"fields.{name}.{key}", None) for key in _OF_FIELDS}
    if given["kind"] == "sequence":
        start, end = (_number(table, f"fields.{name}.{key}", given[key] or "") for key in ("start", "end"))
        return SequenceField(start, end, data_type.kind)
    number = float if data_type.kind in (BasicType.FLOAT, BasicType.DOUBLE) else int
    low, high = (
        None if given[key] is None else _number(table, f"fields.{name}.{key}", given[key] or "", number)
        for key in ("min", "max")
    )
    length = given["length"] or data_type.length
    rate = given["null-rate"] or "0"
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
        raise ConfigError("TABLE_OPTION", f"Table '{table}' has {option} = '{text}'; it takes a number.") from None
