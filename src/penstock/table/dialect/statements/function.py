"""CREATE FUNCTION and ALTER FUNCTION."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.table.dialect.statements.statement import ObjectName, SqlOption, Statement


class FunctionResource(msgspec.Struct, frozen=True):
    """USING JAR 'path' or ARTIFACT 'path'."""

    type: str
    path: str


class CreateFunction(Statement, frozen=True):
    """CREATE TEMPORARY SYSTEM FUNCTION f AS 'module.function' LANGUAGE PYTHON."""

    kind: ClassVar[str] = "CreateFunction"

    name: ObjectName
    implementation: str
    language: str | None = None
    resources: tuple[FunctionResource, ...] = ()
    options: tuple[SqlOption, ...] = ()
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


class AlterFunction(Statement, frozen=True):
    """ALTER FUNCTION f AS 'module.function' LANGUAGE PYTHON."""

    kind: ClassVar[str] = "AlterFunction"

    name: ObjectName
    implementation: str
    language: str | None = None
    temporary: bool = False
    system: bool = False
    if_exists: bool = False
