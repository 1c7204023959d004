"""The options of the connector 'spark'."""

from __future__ import annotations

from penstock.table.connectors.options import COMMON_SINK_OPTIONS, COMMON_SOURCE_OPTIONS, Option

# What describes a table in its catalog: CREATE TABLE in a catalog of Spark passes it to Spark, jobs do not use it.
DESCRIPTION_OPTIONS = (Option("provider"), Option("location"), Option("properties.*"), Option("option.*"))
TABLE, STREAMING, VERSION, MOMENT = "table", "streaming-source.enable", "scan.version", "scan.timestamp"

SPARK_OPTIONS = (
    Option(TABLE, required=True),
    Option(STREAMING, "boolean", False),
    Option(VERSION),
    Option(MOMENT),
    Option("scan.option.*"),
    Option("sink.option.*"),
    *DESCRIPTION_OPTIONS,
    *COMMON_SOURCE_OPTIONS,
    *COMMON_SINK_OPTIONS,
)
