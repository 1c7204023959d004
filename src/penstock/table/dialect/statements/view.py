"""CREATE VIEW and ALTER VIEW."""

from __future__ import annotations

from typing import ClassVar

from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName, Statement


class CreateView(Statement, frozen=True):
    """CREATE TEMPORARY VIEW v (a, b) COMMENT '...' AS query."""

    kind: ClassVar[str] = "CreateView"

    name: ObjectName
    query: Query
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False


class RenameView(Statement, frozen=True):
    """ALTER VIEW v RENAME TO w."""

    kind: ClassVar[str] = "AlterViewRename"

    name: ObjectName
    new_name: ObjectName


class ChangeView(Statement, frozen=True):
    """ALTER VIEW v AS query."""

    kind: ClassVar[str] = "AlterViewAs"

    name: ObjectName
    query: Query
