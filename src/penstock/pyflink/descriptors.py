"""The descriptors of `pyflink.table.descriptors`, which Flink has deprecated: columns and times as properties of text."""

from __future__ import annotations

from typing import Self

from penstock.errors import PlanError, UnsupportedOperation
from penstock.table.catalog.sql_text.types import stored_type
from penstock.table.data_types import DataType
from penstock.table.environment.schema import TableSchema

__all__ = ["Rowtime", "Schema"]

# The older names of types, which are no types of SQL.
_OLDER_NAMES = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "LONG": "BIGINT",
    "SQL_DATE": "DATE",
    "SQL_TIME": "TIME(0)",
    "SQL_TIMESTAMP": "TIMESTAMP(3)",
    "LOCAL_DATE": "DATE",
    "LOCAL_TIME": "TIME(0)",
    "LOCAL_DATE_TIME": "TIMESTAMP(3)",
    "INSTANT": "TIMESTAMP_LTZ(3)",
}


class Rowtime:
    """Where the times of rows come from, and how watermarks follow them.

    >>> Rowtime().timestamps_from_field("ts").to_properties()
    {'rowtime.timestamps.type': 'from-field', 'rowtime.timestamps.from': 'ts'}
    """

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def timestamps_from_field(self, field_name: str) -> Self:
        """Takes the times from a column."""
        return self._set("timestamps", type="from-field", **{"from": field_name})

    def timestamps_from_source(self) -> Self:
        """Takes the times that the records of the source have."""
        return self._set("timestamps", type="from-source")

    def timestamps_from_extractor(self, extractor: str) -> Self:
        """Refuses a class of Java."""
        raise _java(extractor)

    def watermarks_periodic_ascending(self) -> Self:
        """Lets the watermark follow the highest time."""
        return self._set("watermarks", type="periodic-ascending")

    def watermarks_periodic_bounded(self, delay: int) -> Self:
        """Lets the watermark follow the highest time with a delay in milliseconds."""
        return self._set("watermarks", type="periodic-bounded", delay=str(delay))

    def watermarks_from_source(self) -> Self:
        """Takes the watermarks of the source."""
        return self._set("watermarks", type="from-source")

    def watermarks_from_strategy(self, strategy: str) -> Self:
        """Refuses a class of Java."""
        raise _java(strategy)

    def to_properties(self) -> dict[str, str]:
        """Returns the properties."""
        return dict(self._properties)

    def _set(self, group: str, **values: str) -> Self:
        prefix = f"rowtime.{group}."
        self._properties = {key: value for key, value in self._properties.items() if not key.startswith(prefix)}
        self._properties.update({prefix + key: value for key, value in values.items()})
        return self


class Schema:
    """Columns with their types, and which of them are times.

    >>> from penstock.table.data_types import DataTypes
    >>> Schema().field("a", DataTypes.INT()).to_properties()
    {'schema.0.name': 'a', 'schema.0.data-type': 'INT'}
    """

    def __init__(
        self,
        schema: TableSchema | None = None,
        fields: dict[str, DataType | str] | None = None,
        rowtime: Rowtime | None = None,
    ) -> None:
        self._columns: dict[str, dict[str, str]] = {}
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Self:
        """Replaces the columns by those of a table."""
        self._columns = {}
        types = table_schema.get_field_data_types()
        return self.fields(dict(zip(table_schema.get_field_names(), types, strict=True)))

    def field(self, field_name: str, field_type: DataType | str) -> Self:
        """Adds a column. Its type is a data type or a text."""
        if field_name in self._columns:
            raise PlanError("DESCRIPTOR", f"Duplicate field name {field_name}. Add each column once.")
        text = (
            _OLDER_NAMES.get(field_type, field_type) if isinstance(field_type, str) else stored_type(field_type.logical)
        )
        self._columns[field_name] = {"data-type": text}
        return self

    def fields(self, fields: dict[str, DataType | str]) -> Self:
        """Adds columns."""
        if not isinstance(fields, dict):
            raise TypeError(f"Columns are a dict of names and types, not {type(fields).__name__}.")
        for name, type_ in fields.items():
            self.field(name, type_)
        return self

    def from_origin_field(self, origin_field_name: str) -> Self:
        """Says which field of the connector or format the last column comes from."""
        self._last()["from"] = origin_field_name
        return self

    def proctime(self) -> Self:
        """Makes the last column the processing time."""
        self._last()["proctime"] = "true"
        return self

    def rowtime(self, rowtime: Rowtime) -> Self:
        """Makes the last column the event time."""
        self._last().update(rowtime.to_properties())
        return self

    def to_properties(self) -> dict[str, str]:
        """Returns the properties."""
        properties = {}
        for number, (name, column) in enumerate(self._columns.items()):
            properties[f"schema.{number}.name"] = name
            properties.update({f"schema.{number}.{key}": value for key, value in column.items()})
        return properties

    def _last(self) -> dict[str, str]:
        if not self._columns:
            raise PlanError("DESCRIPTOR", "There is no column yet. Call field() first.")
        return self._columns[next(reversed(self._columns))]


def _java(name: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "DESCRIPTOR", f"{name} is a class of Java. Use the times of a column, or a WATERMARK of a table in SQL."
    )
