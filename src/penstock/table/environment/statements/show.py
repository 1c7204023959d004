"""SHOW of lists, and of the current catalog and database."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.table.catalog.errors import refusal
from penstock.table.dialect.statements.show import Show
from penstock.table.environment.answer import Answer, names_answer, table_answer
from penstock.table.environment.session import Session
from penstock.table.environment.statements.describe import show_columns
from penstock.table.environment.statements.like_filter import accepts
from penstock.table.environment.statements.partitions import show_partitions
from penstock.table.functions.catalogue import function_names
from penstock.types.logical.kinds import BOOLEAN, STRING

_EMPTY_LISTS = {"JARS": "jars", "MODELS": "model name"}


def run_show(session: Session, statement: Show, text: str) -> Answer:
    """Runs SHOW."""
    catalogs = session.catalogs
    match statement.what:
        case "TABLES" | "VIEWS" | "MATERIALIZED TABLES":
            return _tables(session, statement)
        case "COLUMNS":
            return show_columns(session, statement, text)
        case "DATABASES":
            catalog = statement.source.parts[0] if statement.source is not None else catalogs.current_catalog
            return _names("database name", catalogs.catalog(catalog).databases(), statement)
        case "CATALOGS":
            return _names("catalog name", catalogs.catalogs(), statement)
        case "FUNCTIONS" | "USER FUNCTIONS":
            return _functions(session, statement)
        case "CURRENT CATALOG":
            return names_answer("current catalog name", [catalogs.current_catalog])
        case "CURRENT DATABASE":
            return table_answer([("current database name", STRING)], [[catalogs.current_database]])
        case "MODULES":
            return names_answer("module name", ["core"])
        case "FULL MODULES":
            return table_answer([("module name", STRING), ("used", BOOLEAN)], [["core", True]])
        case "JARS" | "MODELS":  # there are none: the statements that create them are rejected
            return names_answer(_EMPTY_LISTS[statement.what], [])
        case "PARTITIONS":
            return show_partitions(session, statement)
        case "JOBS":
            return session.show_jobs()
        case other:
            raise refusal("SQL_STATEMENT", f"SHOW {other} is not supported.")


def _names(column: str, names: Iterable[str], statement: Show) -> Answer:
    return names_answer(column, [name for name in names if accepts(statement.like, name)])


def _database(session: Session, statement: Show) -> tuple[str, str]:
    catalogs = session.catalogs
    if statement.source is None:
        if catalogs.current_database is None:
            raise refusal("SQL_DATABASE", "There is no current database. USE one, or write FROM and its name.")
        return catalogs.current_catalog, catalogs.current_database
    path = catalogs.database_path(statement.source.parts)
    catalogs.database(path)
    return path


def _tables(session: Session, statement: Show) -> Answer:
    catalog, database = _database(session, statement)
    names = session.catalogs.names(catalog, database)
    if statement.what == "VIEWS":
        views = [name for name in names if session.catalogs.is_view((catalog, database, name))]
        return _names("view name", views, statement)
    if statement.what == "MATERIALIZED TABLES":
        found = [name for name in names if session.catalogs.is_materialized((catalog, database, name))]
        return _names("materialized table", found, statement)
    return _names("table name", names, statement)


def _functions(session: Session, statement: Show) -> Answer:
    names = set(session.functions.names(*_database(session, statement)))
    if statement.what == "FUNCTIONS":
        names.update(name.lower() for name in function_names())
    return _names("function name", sorted(names), statement)
