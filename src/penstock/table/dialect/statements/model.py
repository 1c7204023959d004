"""Models and connections: CREATE and ALTER."""

from __future__ import annotations

from typing import ClassVar

from penstock.table.dialect.statements.column import Column
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName, SqlOption, Statement


class CreateModel(Statement, frozen=True):
    """CREATE MODEL m INPUT (...) OUTPUT (...) WITH (...) AS query."""

    name: ObjectName
    inputs: tuple[Column, ...] = ()
    outputs: tuple[Column, ...] = ()
    comment: str | None = None
    options: tuple[SqlOption, ...] = ()
    query: Query | None = None
    temporary: bool = False
    if_not_exists: bool = False

    def statement_kind(self) -> str:
        return "CreateModel" if self.query is None else "CreateModelAs"


class CreateConnection(Statement, frozen=True):
    """CREATE CONNECTION c COMMENT '...' WITH (...)."""

    kind: ClassVar[str] = "CreateConnection"

    name: ObjectName
    options: tuple[SqlOption, ...]
    comment: str | None = None
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


class AlterOptions(Statement, frozen=True):
    """ALTER MODEL or ALTER CONNECTION. `object_type` is MODEL or CONNECTION; one of the three last fields is there."""

    object_type: str
    name: ObjectName
    if_exists: bool = False
    new_name: ObjectName | None = None
    options: tuple[SqlOption, ...] | None = None
    keys: tuple[str, ...] | None = None

    def statement_kind(self) -> str:
        action = "Rename" if self.new_name is not None else "Set" if self.options is not None else "Reset"
        return f"Alter{self.object_type.capitalize()}{action}"
