"""Statements that the parser accepts and Penstock does not execute. They are rejected by name, so that none is silently ignored.

An entry is removed when its statement is implemented. The page docs/reference/sql/statements.md lists the same statements.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import UnsupportedOperation
from penstock.table.dialect.statements import create_table, function, insert, model, session, show
from penstock.table.dialect.statements.drop import Drop
from penstock.table.dialect.statements.statement import Statement


class Rejection(NamedTuple):
    """How the statement is called in SQL, and why it is rejected, with what to use instead."""

    name: str
    reason: str


_MODEL = "Penstock has no models. Call the model in a Python function: CREATE FUNCTION ... LANGUAGE PYTHON."
_CONNECTION = "Penstock has no connections. Write the settings in the WITH clause of the table."
_ROWS = "The connectors cannot change stored rows. Write a changelog to a table with a primary key."
_MODULE = "All functions belong to the module core, which is always loaded."
_JAR = "Functions are written in Python, so that jars have no use."

_BY_CLASS: dict[type[Statement], Rejection] = {
    create_table.ReplaceTableAs: Rejection("REPLACE TABLE AS", "Drop the table, and write CREATE TABLE AS."),
    model.CreateModel: Rejection("CREATE MODEL", _MODEL),
    model.CreateConnection: Rejection("CREATE CONNECTION", _CONNECTION),
    insert.Delete: Rejection("DELETE", _ROWS),
    insert.Update: Rejection("UPDATE", _ROWS),
    insert.TruncateTable: Rejection("TRUNCATE TABLE", _ROWS),
    session.LoadModule: Rejection("LOAD MODULE", _MODULE),
    session.UnloadModule: Rejection("UNLOAD MODULE", _MODULE),
    session.AddJar: Rejection("ADD JAR", _JAR),
    session.RemoveJar: Rejection("REMOVE JAR", _JAR),
    session.CallProcedure: Rejection("CALL", "The catalogs of Penstock have no procedures."),
    session.AnalyzeTable: Rejection("ANALYZE TABLE", "Plans do not depend on statistics. Remove the statement."),
}
_OBJECTS = {"MODEL": _MODEL, "CONNECTION": _CONNECTION}
_LISTS = {"CONNECTIONS": _CONNECTION, "PROCEDURES": "The catalogs of Penstock have no procedures."}


def rejection(statement: Statement) -> Rejection | None:
    """Returns why a statement is rejected, or None if it is executed.

    >>> from penstock.table.dialect import parse_statement
    >>> rejection(parse_statement("ADD JAR 'a.jar'")).name
    'ADD JAR'
    """
    found = _BY_CLASS.get(type(statement))
    if found is not None:
        return found
    if isinstance(statement, model.AlterOptions):
        return Rejection(f"ALTER {statement.object_type}", _OBJECTS[statement.object_type])
    if isinstance(statement, Drop | show.ShowCreate | show.Describe) and statement.object_type in _OBJECTS:
        verb = {Drop: "DROP", show.ShowCreate: "SHOW CREATE", show.Describe: "DESCRIBE"}[type(statement)]
        return Rejection(f"{verb} {statement.object_type}", _OBJECTS[statement.object_type])
    if isinstance(statement, show.Show) and statement.what in _LISTS:
        return Rejection(f"SHOW {statement.what}", _LISTS[statement.what])
    if isinstance(statement, session.UseModules) and statement.names != ("core",):
        return Rejection("USE MODULES", _MODULE)
    if isinstance(statement, insert.Insert) and statement.upsert:
        return Rejection("UPSERT INTO", "Write INSERT INTO. A table with a primary key is written by key.")
    if isinstance(statement, function.CreateFunction | function.AlterFunction) and statement.language != "PYTHON":
        name = "CREATE FUNCTION" if isinstance(statement, function.CreateFunction) else "ALTER FUNCTION"
        language = statement.language or "JAVA"
        return Rejection(f"{name} ... LANGUAGE {language}", "Functions are written in Python. Write LANGUAGE PYTHON.")
    return None


def check_supported(statement: Statement) -> None:
    """Raises an error for a statement that is rejected."""
    found = rejection(statement)
    if found is not None:
        raise UnsupportedOperation("SQL_STATEMENT", f"{found.name} is not supported. {found.reason}")
