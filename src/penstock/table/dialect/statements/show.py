"""SHOW of all kinds of objects."""

from __future__ import annotations

import msgspec

from penstock.table.dialect.statements.statement import ObjectName, PartitionValue, Statement

_KINDS = {
    "VIEWS": "ShowTables",
    "MATERIALIZED TABLES": "ShowTables",
    "USER FUNCTIONS": "ShowFunctions",
    "FULL MODULES": "ShowModules",
}


class LikeFilter(msgspec.Struct, frozen=True):
    """NOT LIKE 'pattern'. `operator` is LIKE or ILIKE."""

    operator: str
    pattern: str
    negated: bool = False


class Show(Statement, frozen=True):
    """SHOW TABLES FROM d LIKE 'a%'.

    what: TABLES, VIEWS, MATERIALIZED TABLES, COLUMNS, FUNCTIONS, USER FUNCTIONS, PROCEDURES, DATABASES, CATALOGS, MODULES,
        FULL MODULES, MODELS, CONNECTIONS, PARTITIONS, JARS, JOBS, CURRENT CATALOG or CURRENT DATABASE.
    source: the name after FROM or IN, or the table of PARTITIONS.
    """

    what: str
    source: ObjectName | None = None
    preposition: str | None = None
    like: LikeFilter | None = None
    partition: tuple[PartitionValue, ...] = ()

    def statement_kind(self) -> str:
        return _KINDS.get(self.what, f"Show{self.what.title().replace(' ', '')}")


class ShowCreate(Statement, frozen=True):
    """SHOW CREATE TABLE t. `object_type` is TABLE, VIEW, CATALOG, MODEL, CONNECTION or MATERIALIZED TABLE."""

    object_type: str
    name: ObjectName
    or_alter: bool = False

    def statement_kind(self) -> str:
        return f"ShowCreate{self.object_type.title().replace(' ', '')}"


class Describe(Statement, frozen=True):
    """DESCRIBE EXTENDED t. `object_type` is TABLE, CATALOG, DATABASE, FUNCTION, MODEL, CONNECTION or JOB, whose name is its id."""

    object_type: str
    name: ObjectName
    extended: bool = False

    def statement_kind(self) -> str:
        plain = self.object_type in ("CATALOG", "DATABASE", "JOB")
        return f"{'' if plain else 'Rich'}Describe{self.object_type.capitalize()}"
