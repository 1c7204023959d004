"""CREATE VIEW and ALTER VIEW."""

from __future__ import annotations

import msgspec
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.sql_text.queries import expanded_query
from penstock.table.catalog.table import CatalogView
from penstock.table.dialect import parse_query
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName
from penstock.table.dialect.statements.view import ChangeView, CreateView, RenameView
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.types.logical.kinds import Field, RowType


def create_view(session: Session, statement: CreateView, text: str) -> Answer:
    """Runs CREATE VIEW."""
    path = session.catalogs.path(statement.name.parts)
    # Flink parses OR REPLACE and creates the view as if it was not there.
    free = session.catalogs.may_create(path, statement.temporary, statement.if_not_exists)
    view = bound_view(session, statement.query, text, statement.name, statement.columns, statement.comment)
    if free:
        session.catalogs.create(path, view, statement.temporary, statement.if_not_exists)
    return ok()


def rename_view(session: Session, statement: RenameView, text: str) -> Answer:
    """Runs ALTER VIEW RENAME TO."""
    path = session.catalogs.path(statement.name.parts)
    _permanent(session, statement.name)
    new = statement.new_name.parts
    session.catalogs.rename(path, session.catalogs.path(new) if len(new) > 1 else (path[0], path[1], new[0]))
    return ok()


def change_view(session: Session, statement: ChangeView, text: str) -> Answer:
    """Runs ALTER VIEW AS."""
    old = _permanent(session, statement.name)
    view = bound_view(session, statement.query, text, statement.name, (), old.comment)
    session.catalogs.replace(session.catalogs.path(statement.name.parts), view)
    return ok()


def _permanent(session: Session, name: ObjectName) -> CatalogView:
    path = session.catalogs.path(name.parts)
    found = session.catalogs.find_permanent(path)
    if path in session.catalogs.temporary:
        raise refusal("SQL_TABLE", f"'{name}' is temporary. Drop it and create it again.")
    if found is None:
        raise session.catalogs.missing(path, "view")
    if not isinstance(found, CatalogView):
        raise refusal("SQL_TABLE", f"'{name}' is a table. Use ALTER TABLE.")
    return found


def bound_view(
    session: Session,
    query: Query,
    text: str,
    name: ObjectName,
    columns: tuple[str, ...] = (),
    comment: str | None = None,
) -> CatalogView:
    """Binds the query of a view, and writes its text with full names, so that it means the same in another database."""
    relation = session.bind(query.query, text)
    row_type = relation.row_type
    place = name.line, name.column
    names = list(columns) or _written_names(query.query, [field.name for field in row_type.fields])
    if len(names) != len(row_type.fields):
        found = ", ".join(field.name for field in row_type.fields)
        raise refusal(
            "SQL_COLUMN",
            f"The view has {len(names)} columns, and its query has {len(row_type.fields)}: {found}.",
            *place,
        )
    repeated = next((n for n in names if names.count(n) > 1), None)
    if repeated is not None:
        raise refusal("SQL_COLUMN", f"The view has two columns '{repeated}'. Give one of them an alias.", *place)
    fields = tuple(Field(n, f.type) for n, f in zip(names, row_type.fields, strict=True))
    expanded = expanded_query(query.query, text, max(text.find(query.text), 0), session)
    view = CatalogView(query.text, expanded, RowType(fields, nullable=False), comment)
    return view if _same(session, view) else msgspec.structs.replace(view, expanded=query.text)


def _written_names(query: exp.Expr, bound: list[str]) -> list[str]:
    """The names of the columns as the query has them. The binder adds numbers to repeated names, which a view refuses."""
    if not isinstance(query, exp.Select) or len(query.expressions) != len(bound):
        return bound
    names = []
    for item, name in zip(query.expressions, bound, strict=True):
        if isinstance(item, exp.Alias):
            names.append(item.alias)
        elif isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
            names.append(item.name)
        else:
            names.append(name)
    return names


def _same(session: Session, view: CatalogView) -> bool:
    """Whether the text with full names has the same columns. A form that the writer gets wrong must not be stored."""
    try:
        found = session.bind(parse_query(view.expanded), view.expanded).row_type
    except PenstockError:
        return False
    return [f.type for f in found.fields] == [f.type for f in view.row_type.fields]
