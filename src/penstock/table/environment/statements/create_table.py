"""CREATE TABLE, also LIKE another table, and AS a query."""

from __future__ import annotations

from penstock.table.catalog.definition import TableDraft, build
from penstock.table.catalog.manager import Path
from penstock.table.dialect.statements.create_table import CreateTable, CreateTableAs, CreateTableLike, TableDefinition
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.table.environment.statements.create_table_as import create_table_as
from penstock.table.environment.statements.create_table_like import merged
from penstock.table.environment.statements.table_drafts import table_draft


def create_table(session: Session, statement: TableDefinition, text: str) -> Answer:
    """Runs CREATE TABLE."""
    path = session.catalogs.path(statement.name.parts)
    if isinstance(statement, CreateTableAs):
        return create_table_as(session, statement, path, text)
    assert isinstance(statement, CreateTable | CreateTableLike)
    free = session.catalogs.may_create(path, statement.temporary, statement.if_not_exists)
    draft = table_draft(statement, text)
    if isinstance(statement, CreateTableLike):
        draft = merged(session, statement, draft)
    if free:
        store(session, path, draft, statement)
    else:
        build(draft)  # a wrong table is an error even if it is not created
    return ok()


def store(session: Session, path: Path, draft: TableDraft, statement: TableDefinition) -> None:
    """Checks a table and adds it to its catalog."""
    session.catalogs.create(path, build(draft), statement.temporary, statement.if_not_exists)
