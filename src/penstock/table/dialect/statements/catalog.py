"""Catalogs and databases: CREATE, ALTER and USE."""

from __future__ import annotations

from typing import ClassVar

from penstock.table.dialect.statements.statement import ObjectName, SqlOption, Statement


class CreateCatalog(Statement, frozen=True):
    """CREATE CATALOG c COMMENT '...' WITH (...)."""

    kind: ClassVar[str] = "CreateCatalog"

    name: ObjectName
    options: tuple[SqlOption, ...] = ()
    comment: str | None = None
    if_not_exists: bool = False


class SetCatalogOptions(Statement, frozen=True):
    """ALTER CATALOG c SET ('k' = 'v')."""

    kind: ClassVar[str] = "AlterCatalogOptions"

    name: ObjectName
    options: tuple[SqlOption, ...]


class ResetCatalogOptions(Statement, frozen=True):
    """ALTER CATALOG c RESET ('k')."""

    kind: ClassVar[str] = "AlterCatalogReset"

    name: ObjectName
    keys: tuple[str, ...]


class CommentCatalog(Statement, frozen=True):
    """ALTER CATALOG c COMMENT '...'."""

    kind: ClassVar[str] = "AlterCatalogComment"

    name: ObjectName
    comment: str


class UseCatalog(Statement, frozen=True):
    """USE CATALOG c."""

    kind: ClassVar[str] = "UseCatalog"

    name: ObjectName


class CreateDatabase(Statement, frozen=True):
    """CREATE DATABASE d COMMENT '...' WITH (...)."""

    kind: ClassVar[str] = "CreateDatabase"

    name: ObjectName
    options: tuple[SqlOption, ...] = ()
    comment: str | None = None
    if_not_exists: bool = False


class SetDatabaseOptions(Statement, frozen=True):
    """ALTER DATABASE d SET ('k' = 'v')."""

    kind: ClassVar[str] = "AlterDatabase"

    name: ObjectName
    options: tuple[SqlOption, ...]


class UseDatabase(Statement, frozen=True):
    """USE d."""

    kind: ClassVar[str] = "UseDatabase"

    name: ObjectName
