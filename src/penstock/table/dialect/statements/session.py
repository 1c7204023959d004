"""Statements about the session: settings, modules, jars, jobs, procedures and statistics."""

from __future__ import annotations

from typing import ClassVar

from penstock.table.dialect.nodes import Call
from penstock.table.dialect.statements.statement import ObjectName, PartitionValue, SqlOption, Statement


class SetOption(Statement, frozen=True):
    """SET 'key' = 'value'. SET alone lists the settings: then there is no key."""

    kind: ClassVar[str] = "Set"

    key: str | None = None
    value: str | None = None
    line: int = 0
    column: int = 0


class ResetOption(Statement, frozen=True):
    """RESET 'key'. RESET alone resets all settings."""

    kind: ClassVar[str] = "Reset"

    key: str | None = None
    line: int = 0
    column: int = 0


class ClientCommand(Statement, frozen=True):
    """HELP, CLEAR, QUIT or EXIT of the SQL client."""

    command: str

    def statement_kind(self) -> str:
        return "Quit" if self.command == "EXIT" else self.command.capitalize()


class LoadModule(Statement, frozen=True):
    """LOAD MODULE m WITH (...)."""

    kind: ClassVar[str] = "LoadModule"

    name: str
    options: tuple[SqlOption, ...] = ()


class UnloadModule(Statement, frozen=True):
    """UNLOAD MODULE m."""

    kind: ClassVar[str] = "UnloadModule"

    name: str


class UseModules(Statement, frozen=True):
    """USE MODULES a, b."""

    kind: ClassVar[str] = "UseModules"

    names: tuple[str, ...]


class AddJar(Statement, frozen=True):
    """ADD JAR 'path'."""

    kind: ClassVar[str] = "AddJar"

    path: str


class RemoveJar(Statement, frozen=True):
    """REMOVE JAR 'path'."""

    kind: ClassVar[str] = "RemoveJar"

    path: str


class StopJob(Statement, frozen=True):
    """STOP JOB 'id' WITH SAVEPOINT WITH DRAIN."""

    kind: ClassVar[str] = "StopJob"

    job: str
    savepoint: bool = False
    drain: bool = False


class CallProcedure(Statement, frozen=True):
    """CALL c.d.procedure(arguments)."""

    kind: ClassVar[str] = "PROCEDURE_CALL"

    name: ObjectName
    call: Call


class AnalyzeTable(Statement, frozen=True):
    """ANALYZE TABLE t PARTITION (...) COMPUTE STATISTICS FOR COLUMNS a, b."""

    kind: ClassVar[str] = "AnalyzeTable"

    table: ObjectName
    partition: tuple[PartitionValue, ...] = ()
    columns: tuple[str, ...] = ()
    all_columns: bool = False
