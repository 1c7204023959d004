"""Finds a connector by the option 'connector'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import ConfigError
from penstock.table.connectors.blackhole import BLACKHOLE_OPTIONS, BlackholeConnector
from penstock.table.connectors.datagen.connector import DATAGEN_OPTIONS, DatagenConnector
from penstock.table.connectors.filesystem.connector import FilesystemConnector
from penstock.table.connectors.filesystem.options import FILESYSTEM_OPTIONS
from penstock.table.connectors.interface import Connector, LookupConnector
from penstock.table.connectors.jdbc.connector import JdbcConnector
from penstock.table.connectors.jdbc.options import JDBC_OPTIONS
from penstock.table.connectors.kafka.connector import KafkaConnector
from penstock.table.connectors.kafka.options import KAFKA_OPTIONS, UPSERT_OPTIONS
from penstock.table.connectors.kafka.upsert import UpsertKafkaConnector
from penstock.table.connectors.materialized.connector import MATERIALIZED_OPTIONS, MaterializedConnector
from penstock.table.connectors.options import Option, nearest, owner
from penstock.table.connectors.print import PRINT_OPTIONS, PrintConnector
from penstock.table.connectors.python import PYTHON_OPTIONS, PythonConnector
from penstock.table.connectors.redis import REDIS_OPTIONS, RedisConnector
from penstock.table.connectors.spark.connector import SparkConnector
from penstock.table.connectors.spark.options import SPARK_OPTIONS

_CONNECTORS: dict[str, Connector] = {
    connector.name: connector
    for connector in (
        BlackholeConnector(),
        DatagenConnector(),
        FilesystemConnector(),
        JdbcConnector(),
        KafkaConnector(),
        MaterializedConnector(),
        PrintConnector(),
        PythonConnector(),
        RedisConnector(),
        SparkConnector(),
        UpsertKafkaConnector(),
    )
}

_OPTIONS: dict[str, tuple[Option, ...]] = {
    "blackhole": BLACKHOLE_OPTIONS,
    "datagen": DATAGEN_OPTIONS,
    "filesystem": FILESYSTEM_OPTIONS,
    "jdbc": JDBC_OPTIONS,
    "kafka": KAFKA_OPTIONS,
    "materialized": MATERIALIZED_OPTIONS,
    "print": PRINT_OPTIONS,
    "python": PYTHON_OPTIONS,
    "redis": REDIS_OPTIONS,
    "spark": SPARK_OPTIONS,
    "upsert-kafka": UPSERT_OPTIONS,
}


def connector_names() -> list[str]:
    """Returns the names of all connectors.

    >>> "kafka" in connector_names()
    True
    """
    return sorted(_CONNECTORS)


def connector_options(name: str) -> tuple[Option, ...]:
    """Returns the options of a connector, without those of formats.

    >>> [option.name for option in connector_options("print")]
    ['print-identifier', 'standard-error', 'sink.parallelism']
    """
    return _OPTIONS[name]


def find_connector(options: dict[str, str], path: Sequence[str]) -> Connector:
    """Returns the connector of a table."""
    name = options.get("connector")
    known = ", ".join(connector_names())
    if name is None:
        raise ConfigError(
            "TABLE_OPTION",
            f"{owner(path)}: Table options do not contain an option key 'connector' for discovering a connector. Add "
            f"'connector' = '...' with one of {known}.",
        )
    found = _CONNECTORS.get(name)
    if found is None:
        near = nearest(name, list(_CONNECTORS))
        hint = f" Did you mean '{near}'?" if near else ""
        raise ConfigError(
            "TABLE_CONNECTOR", f"{owner(path)}: Could not find a connector '{name}'.{hint} Known connectors: {known}."
        )
    return found


def find_lookup_connector(options: Mapping[str, str]) -> LookupConnector | None:
    """Returns the connector of a table if the table can be asked for the rows of a key, else None."""
    connector: Any = _CONNECTORS.get(options.get("connector", ""))
    return connector if hasattr(connector, "lookup") else None


def find_moment_option(options: Mapping[str, str]) -> str | None:
    """Returns the option of a table that chooses its rows at a moment, if its connector can read old versions of tables."""
    return getattr(_CONNECTORS.get(options.get("connector", "")), "moment_option", None)
