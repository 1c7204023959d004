"""Catalogs and databases: CREATE, ALTER and USE."""

from __future__ import annotations

from penstock.table.catalog.catalog import CatalogDatabase
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.factory import check_options, create_entry
from penstock.table.dialect.statements import catalog as written
from penstock.table.dialect.statements.statement import Statement
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.table.environment.statements.table_drafts import options_of


def create_catalog(session: Session, statement: written.CreateCatalog, text: str) -> Answer:
    """Runs CREATE CATALOG."""
    options = options_of(statement.options)
    session.catalogs.add_catalog(
        statement.name.name,
        lambda: create_entry(options, statement.comment, session.spark_session),
        statement.if_not_exists,
    )
    return ok()


def alter_catalog(session: Session, statement: Statement, text: str) -> Answer:
    """Runs ALTER CATALOG. Options are for the next session; a running catalog keeps its folder."""
    assert isinstance(statement, written.SetCatalogOptions | written.ResetCatalogOptions | written.CommentCatalog)
    entry = session.catalogs.entry(statement.name.name)
    if isinstance(statement, written.CommentCatalog):
        entry.comment = statement.comment
        return ok()
    if isinstance(statement, written.SetCatalogOptions):
        options = entry.options | options_of(statement.options)
    else:
        if not statement.keys:
            raise refusal("SQL_OPTION", "RESET needs at least one key.")
        options = {k: v for k, v in entry.options.items() if k not in statement.keys}
    check_options(options)
    entry.options = options
    return ok()


def create_database(session: Session, statement: written.CreateDatabase, text: str) -> Answer:
    """Runs CREATE DATABASE."""
    database = CatalogDatabase(statement.comment, tuple(options_of(statement.options).items()))
    path = session.catalogs.database_path(statement.name.parts)
    session.catalogs.create_database(path, database, statement.if_not_exists)
    return ok()


def alter_database(session: Session, statement: written.SetDatabaseOptions, text: str) -> Answer:
    """Runs ALTER DATABASE."""
    path = session.catalogs.database_path(statement.name.parts)
    database = session.catalogs.database(path)
    options = dict(database.options) | options_of(statement.options)
    session.catalogs.catalog(path[0]).put_database(path[1], CatalogDatabase(database.comment, tuple(options.items())))
    return ok()


def use(session: Session, statement: Statement, text: str) -> Answer:
    """Runs USE and USE CATALOG."""
    assert isinstance(statement, written.UseCatalog | written.UseDatabase)
    if isinstance(statement, written.UseCatalog):
        session.catalogs.use_catalog(statement.name.name)
    else:
        session.catalogs.use_database(session.catalogs.database_path(statement.name.parts))
    return ok()
