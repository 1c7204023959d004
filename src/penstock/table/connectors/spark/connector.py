"""The connector 'spark'."""

from __future__ import annotations

from penstock.connectors.dataframe.tables.described import FILE_FORMATS
from penstock.connectors.dataframe.tables.reference import TableReference
from penstock.connectors.dataframe.tables.sink import SparkTableSink, TableWrite
from penstock.connectors.dataframe.tables.sources import SparkTableRows, SparkTableStream
from penstock.connectors.dataframe.tables.writing import no_merge
from penstock.formats.columns.arrow_files import BatchDecoder
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.options import OptionValues, owner
from penstock.table.connectors.spark.batches import ChangeBatchEncoder
from penstock.table.connectors.spark.moment import moment_in_utc
from penstock.table.connectors.spark.options import MOMENT, SPARK_OPTIONS, STREAMING, TABLE, VERSION
from penstock.types.logical.kinds import VariantType


class SparkConnector:
    """Reads and writes a table that Spark knows by a name. Only jobs on Spark can use it."""

    name = "spark"
    moment_option = MOMENT  # of FOR SYSTEM_TIME AS OF a constant

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns nothing."""
        return {}

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a source of record batches: the rows of now or of a version, or also those that are added later."""
        values = OptionValues(owner(request.path), self.name, request.options, SPARK_OPTIONS)
        streams = values[STREAMING] and not request.batch_mode
        if values[VERSION] is not None and values[MOMENT] is not None:
            raise values.error(f"Options '{VERSION}' and '{MOMENT}' exclude each other. Set one of them.")
        for name in (VERSION, MOMENT):
            if streams and values[name] is not None:
                raise values.error(
                    f"Option '{name}' reads a version that does not change. Remove it, or '{STREAMING}'. Formats with versions "
                    "have options of Spark for the start of a stream, such as 'scan.option.startingVersion' of Delta."
                )
        reference = TableReference(
            values[TABLE],
            tuple(field.name for field in request.columns),
            values[VERSION],
            _moment(values, request.zone),
            values.after("scan.option."),
            frozenset(field.name for field in request.columns if isinstance(field.type, VariantType)),
        )
        source = SparkTableStream(reference) if streams else SparkTableRows(reference)
        return TableSource(source, BatchDecoder(request.columns))

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink that appends, overwrites, or replaces rows by the primary key."""
        values = OptionValues(owner(request.path), self.name, request.options, SPARK_OPTIONS)
        merges = bool(request.primary_key) and not request.overwrite
        if merges and (values["provider"] or "").lower() in FILE_FORMATS:
            raise no_merge(".".join(request.path))
        fields = tuple(request.columns)
        write = TableWrite(
            values[TABLE],
            fields,
            "overwrite" if request.overwrite else "merge" if merges else "append",
            tuple(fields[i].name for i in request.primary_key) if merges else (),
            values.after("sink.option."),
        )
        return TableSink(SparkTableSink(write), ChangeBatchEncoder(fields), "upsert" if merges else "append")


def _moment(values: OptionValues, zone: str) -> str | None:
    text = values[MOMENT]
    try:
        return None if text is None else moment_in_utc(text, zone)
    except ValueError:
        raise values.error(
            f"Option '{MOMENT}' has the value '{text}'; expected a time such as '2026-01-31 12:00:00'."
        ) from None
