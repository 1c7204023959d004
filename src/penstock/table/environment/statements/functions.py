"""CREATE FUNCTION and ALTER FUNCTION."""

from __future__ import annotations

from penstock.table.catalog.function import CatalogFunction
from penstock.table.dialect.statements.function import AlterFunction, CreateFunction
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.table.environment.statements.table_drafts import options_of


def create_function(session: Session, statement: CreateFunction, text: str) -> Answer:
    """Runs CREATE FUNCTION. The Python object is imported when a query calls the function."""
    options = tuple(options_of(statement.options).items())
    function = CatalogFunction(statement.implementation, statement.language or "PYTHON", options)
    session.functions.create(
        statement.name.parts, function, statement.temporary, statement.system, statement.if_not_exists
    )
    return ok()


def alter_function(session: Session, statement: AlterFunction, text: str) -> Answer:
    """Runs ALTER FUNCTION."""
    function = CatalogFunction(statement.implementation, statement.language or "PYTHON")
    session.functions.replace(
        statement.name.parts, function, statement.temporary, statement.system, statement.if_exists
    )
    return ok()
