"""The words that the completion proposes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache

from penstock.cli.sql.client_options import DOCS
from penstock.config.registry import options as registered_options
from penstock.table.connectors.formats.registry import format_names
from penstock.table.connectors.options import Option
from penstock.table.connectors.registry import connector_names
from penstock.table.dialect.keywords import KEYWORDS
from penstock.table.environment.session import Session
from penstock.table.functions.catalogue import function_names

# Keywords that begin or continue the statements that people type. The grammar has hundreds of others.
_COMMON = """
    ADD ALTER AND AS ASC BEGIN BETWEEN BY CASE CAST CATALOG CATALOGS CLEAR COLUMNS COMMENT CREATE CROSS CUMULATE CURRENT DATABASE
    DATABASES DELETE DESC DESCRIBE DESCRIPTOR DISTINCT DROP ELSE END ESCAPE EXCEPT EXECUTE EXISTS EXIT EXPLAIN FETCH FIRST FOLLOWING
    FRESHNESS FROM FULL FUNCTION FUNCTIONS GROUP GROUPING HAVING HELP HOP IF IN INNER INSERT INTERSECT INTERVAL INTO IS JOB JOBS
    JOIN KEY LANGUAGE LAST LEFT LIKE LIMIT MATCH_RECOGNIZE MATERIALIZED METADATA NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER
    OVERWRITE PARTITION PARTITIONED PRECEDING PRIMARY PYTHON QUIT RANGE RESET RESUME RIGHT ROLLUP ROW ROWS SAVEPOINT SELECT SESSION
    SET SETS SHOW STATEMENT STOP SUSPEND TABLE TABLES TEMPORARY THEN TUMBLE UNBOUNDED UNION UNNEST USE USING VALUES VIEW VIEWS
    VIRTUAL WATERMARK WHEN WHERE WITH
    ARRAY BIGINT BOOLEAN BYTES CHAR DATE DECIMAL DOUBLE FLOAT INT MAP MULTISET SMALLINT STRING TIME TIMESTAMP TIMESTAMP_LTZ TINYINT
    VARBINARY VARCHAR
    """

_OF_QUERIES = (
    "table.exec.emit.early-fire.delay",
    "table.exec.emit.early-fire.enabled",
    "table.exec.emit.late-fire.delay",
    "table.exec.emit.late-fire.enabled",
    "table.exec.mini-batch.allow-latency",
    "table.exec.mini-batch.enabled",
    "table.exec.mini-batch.size",
    "table.exec.sink.not-null-enforcer",
    "table.exec.sink.upsert-materialize",
    "table.exec.source.idle-timeout",
    "table.exec.state.ttl",
    "table.local-time-zone",
)
_VALUES = {
    "sql-client.execution.result-mode": ("changelog", "plot", "table", "tableau"),
    "execution.runtime-mode": ("batch", "streaming"),
    "execution.engine": ("local", "spark"),
    "table.exec.sink.not-null-enforcer": ("DROP", "ERROR"),
    "table.exec.sink.upsert-materialize": ("AUTO", "FORCE", "NONE"),
}
_FLAGS = ("false", "true")


@cache
def option_keys() -> tuple[str, ...]:
    """The keys of SET and RESET."""
    return tuple(sorted({*DOCS, *_OF_QUERIES, *(option.key for option in registered_options())}))


def option_values(key: str) -> tuple[str, ...]:
    """The values of an option, if there are few of them."""
    if key in _VALUES:
        return _VALUES[key]
    return _FLAGS if key.endswith((".enabled", "sync", "verbose", "print-time-cost")) else ()


@cache
def functions() -> tuple[str, ...]:
    """The names of built-in functions that are not keywords of the grammar."""
    return tuple(sorted(name for name in function_names() if name.isidentifier()))


@cache
def keywords() -> tuple[str, ...]:
    """The keywords that are proposed."""
    return tuple(word for word in _COMMON.split() if word in KEYWORDS or word in ("CLEAR", "EXIT", "HELP", "QUIT"))


@cache
def connector_options(connector: str, form: str) -> tuple[str, ...]:
    """The names of the options of a connector and a format."""
    names = {"connector", *(option.name for option in _connector_options(connector))}
    names |= {f"{form}.{option.name}" for option in _format_options(form)}
    return tuple(sorted(names))


def _connector_options(connector: str) -> Iterable[Option]:
    from penstock.table.connectors.registry import find_connector

    if connector not in connector_names():
        return ()
    # A connector checks its options with the tables of its module. The connector itself has no list of them.
    module = sys.modules[type(find_connector({"connector": connector}, ("", "", ""))).__module__]
    tables = [value for name, value in vars(module).items() if name.endswith("OPTIONS") and isinstance(value, tuple)]
    return [option for table in tables for option in table if isinstance(option, Option) and not option.refused]


def _format_options(form: str) -> Iterable[Option]:
    from penstock.table.connectors.formats.registry import choose_format

    if form not in format_names():
        return ()
    chosen = choose_format("", {"format": form}, "format")
    return () if chosen is None else chosen.format.options


def values_of_table_option(key: str) -> list[str]:
    """The values of an option of a table, if they are known."""
    if key == "connector":
        return connector_names()
    return format_names() if key.endswith("format") else []


def columns_of(session: Session, name: str) -> list[str]:
    """The columns of a table or view, or none if it does not exist."""
    parts = tuple(part.strip("`") for part in name.split("."))
    found = session.catalogs.find(session.catalogs.path(parts)) if 1 <= len(parts) <= 3 else None
    return [] if found is None else [field.name for field in found.row_type.fields]
