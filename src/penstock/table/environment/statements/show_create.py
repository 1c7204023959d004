"""SHOW CREATE TABLE, VIEW and CATALOG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.redaction import HIDDEN, is_secret
from penstock.table.catalog.errors import refusal
from penstock.table.catalog.manager import CatalogEntry, Path, quoted
from penstock.table.catalog.sql_text.expressions import name_text, string_text
from penstock.table.catalog.sql_text.types import stored_type
from penstock.table.catalog.table import CatalogTable, CatalogView, Refresh, TableColumn
from penstock.table.dialect.statements.show import ShowCreate
from penstock.table.environment.answer import Answer, text_answer
from penstock.table.environment.session import Session
from penstock.table.environment.statements.describe import extras
from penstock.table.environment.statements.freshness import freshness_text


def show_create(session: Session, statement: ShowCreate, text: str) -> Answer:
    """Runs SHOW CREATE."""
    if statement.object_type == "CATALOG":
        name = statement.name.name
        return text_answer(_catalog_text(name, session.catalogs.entry(name)))
    path = session.catalogs.path(statement.name.parts)
    found = session.catalogs.get(path)
    temporary = path in session.catalogs.temporary
    if isinstance(found, CatalogView):
        if statement.object_type != "VIEW":
            raise refusal("SQL_TABLE", f"'{statement.name}' is a view. Use SHOW CREATE VIEW.")
        return text_answer(view_text(path, found, temporary))
    if statement.object_type == "VIEW":
        kind = "TABLE" if found.refresh is None else "MATERIALIZED TABLE"
        raise refusal("SQL_TABLE", f"'{statement.name}' is a {kind.lower()}. Use SHOW CREATE {kind}.")
    if found.refresh is not None:
        if statement.object_type != "MATERIALIZED TABLE":
            raise refusal(
                "SQL_TABLE", f"'{statement.name}' is a materialized table. Use SHOW CREATE MATERIALIZED TABLE."
            )
        return text_answer(materialized_text(path, found, found.refresh, statement.or_alter))
    if statement.object_type == "MATERIALIZED TABLE":
        raise refusal("SQL_TABLE", f"'{statement.name}' is a table. Use SHOW CREATE TABLE.")
    return text_answer(table_text(path, found, temporary))


def table_text(path: Path, table: CatalogTable, temporary: bool = False) -> str:
    """Returns the CREATE TABLE statement of a table."""
    lines = [_column(column) for column in table.columns]
    if table.watermark is not None:
        lines.append(f"WATERMARK FOR {quoted(table.watermark.path)} AS {table.watermark.text}")
    if table.primary_key:
        name = name_text(table.primary_key_name or f"PK_{'_'.join(table.primary_key)}")
        lines.append(f"CONSTRAINT {name} PRIMARY KEY ({_names(table.primary_key)}) NOT ENFORCED")
    text = f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {quoted(path)} (\n"
    text += ",\n".join(f"  {line}" for line in lines) + "\n)\n"
    if table.comment:
        text += f"COMMENT {string_text(table.comment)}\n"
    if table.distribution is not None:
        text += f"DISTRIBUTED{_distribution(table.distribution)}\n"
    if table.partition_keys:
        text += f"PARTITIONED BY ({_names(table.partition_keys)})\n"
    return text + _options(dict(table.options))


def materialized_text(path: Path, table: CatalogTable, refresh: Refresh, or_alter: bool = False) -> str:
    """Returns the CREATE MATERIALIZED TABLE statement of a table."""
    options = tuple((key, value) for key, value in table.options if key not in ("connector", "path"))
    text = table_text(path, msgspec.structs.replace(table, options=options))
    text = text.replace("CREATE TABLE", f"CREATE {'OR ALTER ' if or_alter else ''}MATERIALIZED TABLE", 1)
    mode = f"FRESHNESS = {freshness_text(refresh.freshness)}\nREFRESH_MODE = CONTINUOUS\n"
    return f"{text}{mode}AS {refresh.expanded}\n"


def view_text(path: Path, view: CatalogView, temporary: bool = False) -> str:
    """Returns the CREATE VIEW statement of a view."""
    if view.relation is not None:
        raise refusal("SQL_TABLE", f"The view '{path[2]}' was created by a program from a Table, and has no text.")
    columns = ",\n".join(f"  {name_text(field.name)}" for field in view.row_type.fields)
    text = f"CREATE {'TEMPORARY ' if temporary else ''}VIEW {quoted(path)} (\n{columns}\n)\n"
    if view.comment:
        text += f"COMMENT {string_text(view.comment)}\n"
    return f"{text}AS {view.expanded}\n"


def _catalog_text(name: str, entry: CatalogEntry) -> str:
    comment = f"COMMENT {string_text(entry.comment)}\n" if entry.comment else ""
    options = {key: HIDDEN if is_secret(key) else value for key, value in entry.options.items()}
    return f"CREATE CATALOG {name_text(name)}\n{comment}{_options(options)}"


def _column(column: TableColumn) -> str:
    text = name_text(column.name)
    if column.kind != "computed":
        text += f" {stored_type(column.type)}"
    more = extras(column)
    if more is not None:
        text += f" {more}"
    return f"{text} COMMENT {string_text(column.comment)}" if column.comment else text


def _distribution(distribution: tuple[str, tuple[str, ...], int | None]) -> str:
    kind, columns, buckets = distribution
    text = f" BY {kind}({_names(columns)})" if columns else ""
    return text + (f" INTO {buckets} BUCKETS" if buckets is not None else "")


def _names(names: Sequence[str]) -> str:
    return ", ".join(name_text(name) for name in names)


def _options(options: Mapping[str, str]) -> str:
    if not options:
        return ""
    lines = ",\n".join(f"  {string_text(key)} = {string_text(value)}" for key, value in sorted(options.items()))
    return f"WITH (\n{lines}\n)\n"
