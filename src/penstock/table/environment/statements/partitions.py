"""Partitions that ALTER TABLE adds to the catalog, and SHOW PARTITIONS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.table.catalog.catalog import Partition
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.manager import Path
from penstock.table.catalog.table import CatalogTable
from penstock.table.dialect.statements.alter_table import AddPartitions, DropPartitions
from penstock.table.dialect.statements.show import Show
from penstock.table.dialect.statements.statement import PartitionValue
from penstock.table.environment.answer import Answer, names_answer
from penstock.table.environment.session import Session


def show_partitions(session: Session, statement: Show) -> Answer:
    """Runs SHOW PARTITIONS."""
    assert statement.source is not None
    path = session.catalogs.path(statement.source.parts)
    table = _partitioned(session, path)
    wanted = dict(_values(statement.partition))
    unknown = [name for name in wanted if name not in table.partition_keys]
    found = [] if unknown else session.catalogs.catalog(path[0]).partitions(path[1], path[2])
    shown = [p for p in found if wanted.items() <= dict(p).items()]
    return names_answer("partition name", ["/".join(f"{k}={v}" for k, v in p) for p in shown])


def add_partitions(session: Session, statement: AddPartitions, path: Path, table: CatalogTable) -> None:
    """Runs ALTER TABLE ADD PARTITION: the catalog remembers the partitions; the connector creates them when they are written."""
    _partitioned(session, path)
    catalog = session.catalogs.catalog(path[0])
    found = catalog.partitions(path[1], path[2])
    for values in statement.partitions:
        partition = _complete(_values(values), table)
        if partition not in found:
            found.append(partition)
        elif not statement.if_not_exists:
            raise refusal("SQL_PARTITION", f"The partition {_shown(partition)} exists already.")
    catalog.put_partitions(path[1], path[2], found)


def drop_partitions(session: Session, statement: DropPartitions, path: Path, table: CatalogTable) -> None:
    """Runs ALTER TABLE DROP PARTITION."""
    _partitioned(session, path)
    catalog = session.catalogs.catalog(path[0])
    found = catalog.partitions(path[1], path[2])
    for values in statement.partitions:
        partition = _complete(_values(values), table)
        if partition in found:
            found.remove(partition)
        elif not statement.if_partition_exists:
            raise refusal("SQL_PARTITION", f"There is no partition {_shown(partition)}.")
    catalog.put_partitions(path[1], path[2], found)


def _partitioned(session: Session, path: Path) -> CatalogTable:
    found = session.catalogs.get(path)
    if not isinstance(found, CatalogTable) or not found.partition_keys:
        raise refusal("SQL_PARTITION", f"'{path[2]}' is not partitioned. Write PARTITIONED BY in CREATE TABLE.")
    return found


def _complete(values: Partition, table: CatalogTable) -> Partition:
    given = dict(values)
    if set(given) != set(table.partition_keys):
        raise refusal(
            "SQL_PARTITION",
            f"The partition {_shown(values)} must have a value for each of {', '.join(table.partition_keys)}.",
        )
    return tuple((name, given[name]) for name in table.partition_keys)


def _shown(partition: Partition) -> str:
    return f"({', '.join(f'{k} = {v}' for k, v in partition)})"


def _values(values: Sequence[PartitionValue]) -> Partition:
    return tuple((v.column, _text(v.value)) for v in values)


def _text(value: Any) -> str:
    """The value of a literal as text."""
    if isinstance(value, exp.Neg):
        return f"-{_text(value.this)}"
    if isinstance(value, exp.Boolean):
        return "true" if value.this else "false"
    return str(value.args.get("text") or value.this)
