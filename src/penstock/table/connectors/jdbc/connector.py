"""The connector 'jdbc'."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.table.connectors.interface import (
    LookupRequest,
    LookupSource,
    ScanRequest,
    SinkRequest,
    TableSink,
    TableSource,
)
from penstock.table.connectors.jdbc.database import Database, library, read_url
from penstock.table.connectors.jdbc.lookup import DatabaseTable
from penstock.table.connectors.jdbc.options import JDBC_OPTIONS
from penstock.table.connectors.jdbc.sink import DatabaseEncoder, DatabaseSink
from penstock.table.connectors.jdbc.source import DatabaseSource, RowDecoder, part_ranges
from penstock.table.connectors.lookup.options import cache_settings
from penstock.table.connectors.options import OptionValues, owner
from penstock.types.logical.kinds import CharType, IntegerType

_PARTITION = ("scan.partition.column", "scan.partition.num", "scan.partition.lower-bound", "scan.partition.upper-bound")


class JdbcConnector:
    """Reads, looks up and writes tables of PostgreSQL, with Flink's options and the driver psycopg."""

    name = "jdbc"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing: tables of databases have no metadata."""
        return {}

    def _opened(self, path: tuple[str, ...], options: dict[str, str]) -> tuple[OptionValues, Database]:
        values = OptionValues(owner(path), self.name, options, JDBC_OPTIONS)
        library()
        try:
            return values, read_url(values["url"], values["username"], values["password"])
        except ValueError as error:
            raise values.error(f"Option 'url' {error}") from None

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a bounded source of all rows."""
        values, database = self._opened(request.path, request.options)
        given = [name for name in _PARTITION if values[name] is not None]
        column = ranges = None
        if given:
            if len(given) < len(_PARTITION):
                missing = ", ".join(f"'{name}'" for name in _PARTITION if name not in given)
                raise values.error(f"Option '{given[0]}' needs {missing}, too.")
            column, number, lower, upper = (values[name] for name in _PARTITION)
            if upper < lower:
                raise values.error("'scan.partition.upper-bound' is less than 'scan.partition.lower-bound'.")
            ranges = part_ranges(lower, upper, number)
        names = [field.name for field in request.columns]
        source = DatabaseSource(database, values["table-name"], names, values["scan.fetch-size"], column, ranges)
        return TableSource(source, RowDecoder(request.columns, values["table-name"]))

    def lookup(self, request: LookupRequest) -> LookupSource:
        """Returns a table that is asked for the keys of a batch."""
        values, database = self._opened(request.path, request.options)
        database = replace(database, retries=values["lookup.max-retries"])
        equal = [(c, v) for c, v in request.equal if isinstance(request.columns[c].type, IntegerType | CharType)]
        table = DatabaseTable(database, values["table-name"], request.columns, request.keys, equal)
        return LookupSource(table, request.keys, cache_settings(values))

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink of INSERT statements, which replace rows if the table has a primary key."""
        values, database = self._opened(request.path, request.options)
        database = replace(database, retries=values["sink.max-retries"])
        names = [field.name for field in request.columns]
        sink: Any = DatabaseSink(
            database, values["table-name"], names, request.primary_key, values["sink.buffer-flush.max-rows"]
        )
        return TableSink(sink, DatabaseEncoder(request.columns), "upsert" if request.primary_key else "append")
