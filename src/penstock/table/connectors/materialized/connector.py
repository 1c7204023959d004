"""The storage of materialized tables as a connector. CREATE MATERIALIZED TABLE sets its options."""

from __future__ import annotations

from penstock.errors import ConfigError
from penstock.formats.columns.arrow_files import BatchDecoder
from penstock.table.catalog.table import CatalogTable
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.materialized.result import Result
from penstock.table.connectors.materialized.sink import ResultEncoder, ResultSink
from penstock.table.connectors.materialized.source import ResultSource
from penstock.table.connectors.options import COMMON_SINK_OPTIONS, Option, OptionValues, owner
from penstock.types.logical.kinds import Field

MATERIALIZED_OPTIONS = (Option("path", required=True), *COMMON_SINK_OPTIONS)
NAME = "materialized"


class MaterializedConnector:
    """Stores a result: by key if the table has a primary key, else whole rows."""

    name = NAME

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing."""
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a source of the rows after the last committed batch."""
        result = _result(request.table, request.path, request.options)
        names = [field.name for field in request.columns]
        return TableSource(ResultSource(result, names), BatchDecoder(request.columns))

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink that takes changes of all kinds."""
        result = _result(request.table, request.path, request.options)
        encoder = ResultEncoder(result.columns, bool(result.key))
        return TableSink(ResultSink(result), encoder, "upsert" if result.key else "retract")


def _result(table: CatalogTable, path: tuple[str, ...], options: dict[str, str]) -> Result:
    if table.refresh is None:
        raise ConfigError(
            "TABLE_CONNECTOR",
            f"{owner(path)}: the connector '{NAME}' belongs to materialized tables. Use CREATE MATERIALIZED TABLE.",
        )
    values = OptionValues(owner(path), NAME, options, MATERIALIZED_OPTIONS)
    columns = [Field(c.name, c.type) for c in table.columns]
    return Result(values["path"], columns, table.primary_key)
