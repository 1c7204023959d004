"""Definitions of materialized tables, and the INSERT that their job runs. The SQL client starts and stops the jobs."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from penstock.errors import PenstockError
from penstock.table.binder.queries.insert import bind_insert
from penstock.table.catalog.definition import ColumnDraft, TableDraft, build, draft_of
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.file import FileCatalog
from penstock.table.catalog.manager import Path
from penstock.table.catalog.table import CatalogTable, CatalogView, Refresh
from penstock.table.connectors.materialized.connector import MATERIALIZED_OPTIONS, NAME
from penstock.table.connectors.options import OptionValues, owner
from penstock.table.dialect import parse_query
from penstock.table.dialect.position import position
from penstock.table.dialect.statements.create_table import CreateMaterializedTable
from penstock.table.dialect.statements.insert import Insert
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName
from penstock.table.environment.session import Session
from penstock.table.environment.statements.create_table_as import with_query_columns
from penstock.table.environment.statements.freshness import freshness
from penstock.table.environment.statements.table_drafts import table_draft
from penstock.table.environment.statements.views import bound_view
from penstock.table.passes.time_attributes import plain
from penstock.table.passes.traversal import bottom_up
from penstock.table.relations import Relation, Scan, Sink
from penstock.types.logical.text import summary

_FIRST_STARTS = ("FROM_BEGINNING", "RESUME_OR_FROM_BEGINNING")


class Found(NamedTuple):
    """A materialized table of a catalog."""

    path: Path
    table: CatalogTable
    refresh: Refresh
    folder: str  # what belongs to it besides its definition: data, checkpoints, savepoints, the script of its job


def defined(session: Session, statement: CreateMaterializedTable, path: Path, text: str) -> CatalogTable:
    """Returns the table of CREATE MATERIALIZED TABLE. It has the columns of the query, and those of the statement come first."""
    name = statement.name
    folder = table_folder(session, path, name)
    _check_parts(statement)
    view = _query(session, statement.query, text, name)
    draft = table_draft(statement, text)
    _check_columns(draft, view, name)
    draft = with_query_columns(statement, draft, view.row_type)
    for column in draft.columns:
        column.type = None if column.type is None else plain(column.type)
    own = {key: value for key, value in draft.options.items() if key != "connector"}
    if len(own) < len(draft.options):
        raise refusal(
            "SQL_MATERIALIZED",
            "A materialized table is stored by its catalog, so it has no option 'connector'. Remove it, or write the query as "
            "INSERT INTO a table with this connector.",
            *_option_place(statement, "connector"),
        )
    if "path" in own:
        raise refusal(
            "SQL_MATERIALIZED",
            "The data of a materialized table is in the folder of its catalog. Remove the option 'path'.",
            *_option_place(statement, "path"),
        )
    draft.options = {"connector": NAME, "path": f"{folder}/result", **own}
    table = build(draft)
    refresh = Refresh(view.text, view.expanded, freshness(session, statement.freshness, text))
    table = msgspec.structs.replace(table, refresh=refresh)
    _check_options(table, path, draft.options)
    return table


def changed_query(session: Session, found: Found, query: Query, text: str, name: ObjectName) -> CatalogTable:
    """Returns a materialized table with another query. Its columns stay, and new ones follow them, as in Flink."""
    if not found.table.primary_key:
        raise refusal(
            "SQL_MATERIALIZED",
            f"The query of '{name}' cannot be changed, because the table has no primary key: the new query could not find the rows "
            "of the old one. Drop the table and create it again.",
            name.line,
            name.column,
        )
    view = _query(session, query, text, name)
    old = found.table.columns
    fields = [(f.name, plain(f.type)) for f in view.row_type.fields]
    draft = draft_of(found.table)
    for column, (field, type_) in zip(old, fields, strict=False):
        same = column.name == field and column.type.with_nullable(True) == type_.with_nullable(True)
        if not same or (type_.nullable and not column.type.nullable and column.name not in found.table.primary_key):
            raise refusal(
                "SQL_MATERIALIZED",
                f"The table has the column '{column.name}' of type {summary(column.type)}, and the new query has '{field}' of "
                f"type {summary(type_)} in its place. A new query has the same columns, and may have more behind them. To change "
                "the others, drop the table and create it again.",
                name.line,
                name.column,
            )
    if len(fields) < len(old):
        raise refusal(
            "SQL_MATERIALIZED",
            f"The new query has no column '{old[len(fields)].name}', which the table has. To remove a column, drop the table and "
            "create it again.",
            name.line,
            name.column,
        )
    for field, type_ in fields[len(old) :]:
        draft.columns.append(ColumnDraft(field, type=type_.with_nullable(True)))  # older rows do not have it
    refresh = msgspec.structs.replace(found.refresh, text=view.text, expanded=view.expanded)
    return msgspec.structs.replace(build(draft), refresh=refresh)


def find_materialized(session: Session, name: ObjectName) -> Found:
    """Returns a materialized table, or raises an error that says what has the name."""
    path = session.catalogs.path(name.parts)
    table = session.catalogs.find_permanent(path)
    if table is None:
        raise session.catalogs.missing(path, "materialized table")
    if isinstance(table, CatalogView):
        raise refusal("SQL_TABLE", f"'{name}' is a view, not a materialized table.", name.line, name.column)
    if table.refresh is None:
        raise refusal("SQL_TABLE", f"'{name}' is a table, not a materialized table.", name.line, name.column)
    return Found(path, table, table.refresh, table_folder(session, path, name))


def refresh_sink(session: Session, found: Found) -> Sink:
    """Returns what the job of a materialized table runs: INSERT of all its columns."""
    text = found.refresh.expanded
    names = tuple((column.name,) for column in found.table.columns)
    insert = Insert(ObjectName(found.path), Query(parse_query(text), text), _in_query_order(session, text, names))
    sink = bind_insert(insert, session, session.binder_settings(), text)
    return msgspec.structs.replace(sink, options=(*found.table.options, *found.refresh.options.items()))


def _in_query_order(session: Session, text: str, names: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """The columns of the query by their names; the statement may have written them in another order."""
    fields = tuple((f.name,) for f in session.bind(parse_query(text), text).row_type.fields)
    return fields if set(fields) == set(names) else names


def table_folder(session: Session, path: Path, name: ObjectName) -> str:
    """Returns the folder of a materialized table."""
    catalog = session.catalogs.catalog(path[0])
    if not isinstance(catalog, FileCatalog):
        raise refusal(
            "SQL_MATERIALIZED",
            f"The catalog '{path[0]}' cannot keep the materialized table '{path[2]}', whose job does not end with the session. "
            "Use a catalog of type 'file': CREATE CATALOG c WITH ('type' = 'file', 'path' = '...').",
            name.line,
            name.column,
        )
    return catalog.result_folder(path[1], path[2])


def resume_options(found: Found, options: dict[str, str]) -> dict[str, str]:
    """Checks the options of RESUME WITH. They hold until the next RESUME."""
    _check_options(found.table, found.path, {**dict(found.table.options), **options})
    if "path" in options:
        raise refusal("SQL_MATERIALIZED", "RESUME cannot move the data of a table: omit the option 'path'.")
    return options


def _query(session: Session, query: Query, text: str, name: ObjectName) -> CatalogView:
    view = bound_view(session, query, text, name)
    _check_sources(session.bind(parse_query(view.expanded), view.expanded), query)
    return view


def _check_sources(relation: Relation, query: Query) -> None:
    """A query that reads a materialized table ends with its current rows, so that the result would become old."""

    def check(found: Relation) -> Relation:
        if isinstance(found, Scan) and getattr(found.table, "refresh", None) is not None:
            raise refusal(
                "SQL_MATERIALIZED",
                f"The query reads the materialized table '{found.path[-1]}', whose rows are read once and not followed. Read the "
                "tables of its query instead, such as through a view.",
                *position(query.query),
            )
        return found

    bottom_up(relation, check)


def _check_parts(statement: CreateMaterializedTable) -> None:
    place = statement.name.line, statement.name.column
    schema = statement.schema
    if statement.refresh_mode == "FULL":
        raise refusal(
            "SQL_MATERIALIZED",
            "REFRESH_MODE = FULL is not supported: there is no scheduler that starts batch jobs. Omit it; CONTINUOUS keeps the "
            "table up to date with less work.",
            *place,
        )
    if statement.start_mode is not None and statement.start_mode.mode not in _FIRST_STARTS:
        raise refusal(
            "SQL_MATERIALIZED",
            f"START_MODE = {statement.start_mode.mode} is not supported. A new table reads its sources from where their options "
            "say, such as 'scan.startup.mode'; a changed query continues where the old one stopped.",
            *place,
        )
    if schema.watermark is not None:
        raise refusal(
            "SQL_MATERIALIZED",
            "A materialized table has no WATERMARK, because its rows are read as they are after a batch, in no order of time.",
            schema.watermark.line,
            schema.watermark.column_number,
        )
    if statement.distribution is not None:
        raise refusal(
            "SQL_MATERIALIZED", "DISTRIBUTED is not supported: rows are divided by the hash of their keys.", *place
        )


def _check_columns(draft: TableDraft, view: CatalogView, name: ObjectName) -> None:
    known = {field.name for field in view.row_type.fields}
    for column in draft.columns:
        if column.kind != "physical" or column.name not in known:
            what = f"is a {column.kind} column" if column.kind != "physical" else "is not a column of the query"
            raise refusal(
                "SQL_MATERIALIZED",
                f"The column '{column.name}' {what}. A materialized table has the columns of its query: "
                f"{', '.join(sorted(known))}.",
                column.line or name.line,
                column.column or name.column,
            )


def _check_options(table: CatalogTable, path: Path, options: dict[str, str]) -> None:
    try:
        OptionValues(owner(path), NAME, options, MATERIALIZED_OPTIONS)
    except PenstockError as error:
        raise refusal(error.code, error.text) from error


def _option_place(statement: CreateMaterializedTable, key: str) -> tuple[int, int]:
    return next(((o.line, o.column) for o in statement.options or () if o.key == key), (0, 0))
