"""The options of the connector 'jdbc'."""

from __future__ import annotations

from penstock.table.connectors.lookup.options import PARTIAL_CACHE_OPTIONS
from penstock.table.connectors.options import COMMON_SINK_OPTIONS, COMMON_SOURCE_OPTIONS, Option

_SHARED = "the filter is evaluated for each key of a batch; there is no second query by a filter."

JDBC_OPTIONS = (
    Option("url", required=True),
    Option("table-name", required=True),
    Option("driver", refused="the driver is the Python package psycopg. Leave the option out."),
    Option("compatible-mode", refused="it belongs to other databases than PostgreSQL."),
    Option("username"),
    Option("password"),
    Option("connection.max-retry-timeout", "duration", 60_000),
    Option("scan.partition.column"),
    Option("scan.partition.num", "int"),
    Option("scan.partition.lower-bound", "int"),
    Option("scan.partition.upper-bound", "int"),
    Option("scan.fetch-size", "int", 10_000),
    Option("scan.auto-commit", "boolean", True),
    *PARTIAL_CACHE_OPTIONS,
    Option("filter.handling.policy", refused=_SHARED),
    Option("sink.buffer-flush.max-rows", "int", 10_000),
    Option("sink.buffer-flush.interval", "duration", 1000),
    Option("sink.max-retries", "int", 3),
    *COMMON_SOURCE_OPTIONS,
    *COMMON_SINK_OPTIONS,
)
