"""`StreamTableEnvironment` runs SQL statements in the DataStream environment of a program."""

from __future__ import annotations

from typing import Any, Literal

from penstock.config.execution_options import RUNTIME_MODE
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.row import Row, RowKind
from penstock.table.api.stream_fields import converted_table, table_of_fields
from penstock.table.api.table import Table
from penstock.table.environment.changelog_mode import ChangelogMode
from penstock.table.environment.descriptor import Schema
from penstock.table.environment.environment import TableEnvironment, environment_settings_of
from penstock.table.environment.session import Session
from penstock.table.environment.settings import EnvironmentSettings
from penstock.table.streams.from_stream import scan_of_stream
from penstock.types import Types


class StreamTableEnvironment(TableEnvironment):
    """A table environment whose jobs belong to a DataStream environment, so that both layers mix in one job."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None, environment_settings: Any = None
    ) -> StreamTableEnvironment:
        """Creates an environment on top of a DataStream environment, or of a new one. Without settings, it has the mode of that."""
        env = stream_execution_environment or StreamExecutionEnvironment.get_execution_environment()
        if environment_settings is None and env.configuration.get(RUNTIME_MODE) == "BATCH":
            environment_settings = EnvironmentSettings.in_batch_mode()
        return StreamTableEnvironment(Session(environment_settings_of(environment_settings), env))

    def to_data_stream(self, table: Table) -> DataStream[Row]:
        """Returns the rows of a table as a stream. The table must be one that only adds rows."""
        return self.session.executor.to_data_stream(table.relation)

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream[Row]:
        """Returns the changes of a table as a stream of rows with kinds.

        target_schema: its physical columns are those of the rows, by their order. changelog_mode: `upsert` leaves out rows before
        updates, and `insert_only` takes tables that only add rows.
        """
        relation = table.relation if target_schema is None else converted_table(table, target_schema).relation
        mode = "retract" if changelog_mode is None else changelog_mode.mode
        if mode == "append":
            return self.session.executor.to_data_stream(relation)
        return self.session.executor.to_changelog_stream(relation, mode == "upsert")

    def to_append_stream(self, table: Table, type_info: Any) -> DataStream[Row]:
        """Returns the rows of a table as a stream, as `to_data_stream` does. The types of the fields are those of the columns."""
        return self.to_data_stream(table)

    def to_retract_stream(self, table: Table, type_info: Any) -> DataStream[Any]:
        """Returns the changes of a table as pairs: whether a row is added, and the row."""
        stream = self.session.executor.to_changelog_stream(table.relation)
        return stream.map(_flagged, Types.TUPLE([Types.BOOLEAN(), stream.get_type()]))

    def from_data_stream(self, data_stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        """Reads a stream as a table: the fields of its elements are the columns.

        A `Schema` adds computed columns, the timestamps of the stream (metadata column "rowtime") and a watermark. Names rename the
        columns.
        """
        return self._stream_table(data_stream, fields_or_schema, "append")

    def from_changelog_stream(
        self, data_stream: DataStream[Any], schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> Table:
        """Reads a stream of rows with kinds as the changes of a table."""
        mode = "retract" if changelog_mode is None else changelog_mode.mode
        return self._stream_table(data_stream, () if schema is None else (schema,), mode)

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any) -> None:
        """Creates a temporary view of a Table, a stream, or a frame of pandas or Spark."""
        if isinstance(table_or_data_stream, DataStream):
            table_or_data_stream, fields_or_schema = self.from_data_stream(table_or_data_stream, *fields_or_schema), ()
        super().create_temporary_view(view_path, table_or_data_stream, *fields_or_schema)

    def _stream_table(
        self, stream: DataStream[Any], fields: tuple[Any, ...], mode: Literal["append", "upsert", "retract"]
    ) -> Table:
        if len(fields) == 1 and isinstance(fields[0], Schema):
            return Table(self, scan_of_stream(stream, fields[0].draft, mode))
        if fields and not all(isinstance(field, str) for field in fields):
            return table_of_fields(self, stream, fields)
        return Table(self, scan_of_stream(stream, None, mode, tuple(str(f) for f in fields)))


def _flagged(row: Row) -> tuple[bool, Row]:
    """A row with the flag that older versions of Flink have instead of kinds."""
    added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    row.set_row_kind(RowKind.INSERT)
    return added, row
