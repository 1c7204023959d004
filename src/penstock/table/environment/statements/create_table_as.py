"""CREATE TABLE AS a query."""

from __future__ import annotations

from penstock.table.catalog.definition import ColumnDraft, TableDraft, build
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.manager import Path
from penstock.table.dialect.statements.create_table import CreateTableAs, TableDefinition
from penstock.table.dialect.statements.insert import Insert
from penstock.table.dialect.statements.statement import ObjectName
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.table.environment.statements.queries import insert_relation, run_inserts
from penstock.table.environment.statements.table_drafts import table_draft
from penstock.types.logical.kinds import RowType


def create_table_as(session: Session, statement: CreateTableAs, path: Path, text: str) -> Answer:
    """Creates the table and starts the job that writes to it. A job that cannot start leaves no table."""
    if not session.catalogs.may_create(path, statement.temporary, statement.if_not_exists):
        return ok()
    insert = create(session, statement, path, text)
    try:
        return run_inserts(session, [insert_relation(session, insert, text)])
    except BaseException:
        session.catalogs.drop(path, view=False, temporary=statement.temporary, if_exists=True)
        raise


def create(session: Session, statement: CreateTableAs, path: Path, text: str) -> Insert:
    """Adds the table to its catalog and returns the INSERT that fills it."""
    source = session.bind(statement.query.query, text).row_type
    draft = with_query_columns(statement, table_draft(statement, text), source)
    session.catalogs.create(path, build(draft), statement.temporary, statement.if_not_exists)
    names = tuple((field.name,) for field in source.fields)
    return Insert(ObjectName(path, statement.name.line, statement.name.column), statement.query, names)


def with_query_columns(statement: TableDefinition, draft: TableDraft, source: RowType) -> TableDraft:
    """Adds the columns of a query to those of the statement, which come first and whose types replace those of the query."""
    place = statement.name.line, statement.name.column
    if statement.schema.identifiers:
        wanted = [".".join(name) for name in statement.schema.identifiers]
        known = {field.name: field.type for field in source.fields}
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise refusal("SQL_COLUMN", f"The query has no column '{unknown[0]}'. It has {', '.join(known)}.", *place)
        if len(wanted) != len(known):
            raise refusal(
                "SQL_COLUMN",
                f"The list has {len(wanted)} columns, and the query has {len(known)}: {', '.join(known)}.",
                *place,
            )
        draft.columns = [ColumnDraft(name, type=known[name]) for name in wanted]
        return draft
    for field in source.fields:
        written = draft.find(field.name)
        if written is None:
            draft.columns.append(ColumnDraft(field.name, type=field.type))
        elif written.kind == "computed" or written.virtual:
            raise refusal(
                "SQL_COLUMN",
                f"The query has a column '{field.name}', and the {written.kind} column with this name cannot be written.",
                written.line,
                written.column,
            )
    return draft
