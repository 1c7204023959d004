"""Statements of Spark's SQL that create and change tables and databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.table.catalog.catalog import CatalogDatabase, Partition
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.spark.tables import PROPERTY, stored_property
from penstock.table.catalog.table import CatalogTable, TableColumn
from penstock.types.logical.kinds import Field
from penstock.types.logical.spark import quoted_name, quoted_text, spark_columns

_PROPERTIES = "properties."


def create_statement(name: str, table: CatalogTable) -> str:
    """Returns CREATE TABLE of Spark.

    >>> from penstock.types.logical.kinds import INT
    >>> table = CatalogTable((TableColumn("id", INT),), (("provider", "parquet"), ("option.compression", "zstd")))
    >>> create_statement("`c`.`d`.`t`", table)
    "CREATE TABLE `c`.`d`.`t` (`id` INT) USING `parquet` OPTIONS ('compression' = 'zstd')"
    """
    options = dict(table.options)
    fields = [_field(c) for c in table.columns if c.kind == "physical"]
    text = f"CREATE TABLE {name}" + (f" ({spark_columns(fields)})" if fields else "")
    if "provider" in options:
        text += f" USING {quoted_name(options['provider'])}"
    if own := _after("option.", options):
        text += f" OPTIONS {_pairs(own)}"
    if table.partition_keys:
        text += f" PARTITIONED BY ({', '.join(map(quoted_name, table.partition_keys))})"
    if table.comment:
        text += f" COMMENT {quoted_text(table.comment)}"
    if "location" in options:
        text += f" LOCATION {quoted_text(options['location'])}"
    if properties := _properties(table):
        text += f" TBLPROPERTIES {_pairs(properties)}"
    return text


def alter_statements(name: str, old: CatalogTable, new: CatalogTable) -> Iterator[str]:
    """Yields the statements that turn a table into another one: options, comments, new columns and what Spark does not store."""
    before, after = dict(old.options), dict(new.options)
    for key in ("provider", "location", "table"):
        if before.get(key) != after.get(key):
            raise refusal("SQL_OPTION", f"Option '{key}' of a table of Spark cannot be changed. Create another table.")
    if _after("option.", before) != _after("option.", after):
        raise refusal("SQL_OPTION", "Options 'option.*' of a table of Spark cannot be changed. Create another table.")
    if old.partition_keys != new.partition_keys or old.distribution != new.distribution:
        raise _no_change("its partitions")
    yield from _alter_columns(name, old, new)
    if old.comment != new.comment:
        yield f"COMMENT ON TABLE {name} IS {quoted_text(new.comment or '')}"
    stored, wanted = _properties(old), _properties(new)
    changed = {key: value for key, value in wanted.items() if stored.get(key) != value}
    gone = [key for key in stored if key not in wanted]
    if changed:
        yield f"ALTER TABLE {name} SET TBLPROPERTIES {_pairs(changed)}"
    if gone:
        yield f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(quoted_text, gone))})"


def _alter_columns(name: str, old: CatalogTable, new: CatalogTable) -> Iterator[str]:
    before = [_field(c) for c in old.columns if c.kind == "physical"]
    after = [_field(c) for c in new.columns if c.kind == "physical"]
    if [(f.name, f.type) for f in after[: len(before)]] != [(f.name, f.type) for f in before]:
        raise _no_change("its columns, except for new ones at the end,")
    for one, other in zip(before, after, strict=False):
        if one.description != other.description:
            yield f"ALTER TABLE {name} ALTER COLUMN {quoted_name(one.name)} COMMENT {quoted_text(other.description or '')}"
    if after[len(before) :]:
        yield f"ALTER TABLE {name} ADD COLUMNS ({spark_columns(after[len(before) :])})"


def _no_change(what: str) -> Exception:
    return refusal("SQL_ALTER", f"ALTER TABLE of a table of Spark cannot change {what} here. Use Spark's ALTER TABLE.")


def create_database_statement(name: str, database: CatalogDatabase) -> str:
    """Returns CREATE NAMESPACE of Spark."""
    text = f"CREATE NAMESPACE {name}"
    if database.comment:
        text += f" COMMENT {quoted_text(database.comment)}"
    options = dict(database.options)
    if "location" in options:
        text += f" LOCATION {quoted_text(options.pop('location'))}"
    return text + (f" WITH DBPROPERTIES {_pairs(options)}" if options else "")


def alter_database_statements(name: str, old: CatalogDatabase, new: CatalogDatabase) -> Iterator[str]:
    """Yields the statements that turn the description of a database into another one."""
    changed = {key: value for key, value in new.options if dict(old.options).get(key) != value}
    if "location" in changed:
        yield f"ALTER NAMESPACE {name} SET LOCATION {quoted_text(changed.pop('location'))}"
    if changed:
        yield f"ALTER NAMESPACE {name} SET DBPROPERTIES {_pairs(changed)}"
    if old.comment != new.comment:
        yield f"COMMENT ON NAMESPACE {name} IS {quoted_text(new.comment or '')}"


def partition_statement(name: str, change: str, partition: Partition) -> str:
    """Returns ALTER TABLE with ADD or DROP PARTITION.

    >>> partition_statement("`t`", "ADD", (("day", "mon"),))
    "ALTER TABLE `t` ADD PARTITION (`day` = 'mon')"
    """
    values = ", ".join(f"{quoted_name(key)} = {quoted_text(value)}" for key, value in partition)
    return f"ALTER TABLE {name} {change} PARTITION ({values})"


def _field(column: TableColumn) -> Field:
    return Field(column.name, column.type, column.comment)


def _properties(table: CatalogTable) -> dict[str, str]:
    own = _after(_PROPERTIES, dict(table.options))
    stored = stored_property(table)
    return own if stored is None else {**own, PROPERTY: stored}


def _after(prefix: str, options: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)}


def _pairs(options: Mapping[str, str]) -> str:
    return f"({', '.join(f'{quoted_text(k)} = {quoted_text(v)}' for k, v in options.items())})"
