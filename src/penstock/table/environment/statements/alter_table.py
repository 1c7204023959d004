"""ALTER TABLE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.table.catalog.definition import ColumnDraft, TableDraft, build, draft_of
from penstock.table.catalog.errors import did_you_mean, refusal
from penstock.table.catalog.manager import Path
from penstock.table.catalog.table import CatalogTable, CatalogView
from penstock.table.dialect.statements import alter_table as actions
from penstock.table.dialect.statements.column import ColumnPlace
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.table.environment.statements.partitions import add_partitions, drop_partitions
from penstock.table.environment.statements.rename_column import rename_column, users_of
from penstock.table.environment.statements.table_drafts import (
    column_draft,
    distribution_of,
    key_draft,
    options_of,
    watermark_draft,
)


def alter_table(session: Session, statement: actions.AlterTable, text: str) -> Answer:
    """Runs ALTER TABLE."""
    path = session.catalogs.path(statement.name.parts)
    with session.catalogs.exclusive(path):
        return _alter(session, statement, text, path)


def _alter(session: Session, statement: actions.AlterTable, text: str, path: Path) -> Answer:
    found = session.catalogs.find_permanent(path)
    temporary = session.catalogs.temporary.get(path)
    if found is None or temporary is not None:
        if statement.if_exists and temporary is None:
            return ok()
        if temporary is not None:
            raise refusal("SQL_TABLE", f"'{statement.name}' is temporary. Drop it and create it again.")
        raise session.catalogs.missing(path, "table")
    if isinstance(found, CatalogView):
        raise refusal("SQL_TABLE", f"'{statement.name}' is a view. Use ALTER VIEW.")
    if found.refresh is not None:
        raise refusal("SQL_TABLE", f"'{statement.name}' is a materialized table. Use ALTER MATERIALIZED TABLE.")
    if isinstance(statement, actions.RenameTable):
        new = statement.new_name.parts
        session.catalogs.rename(path, session.catalogs.path(new) if len(new) > 1 else (path[0], path[1], new[0]))
    elif isinstance(statement, actions.AddPartitions):
        add_partitions(session, statement, path, found)
    elif isinstance(statement, actions.DropPartitions):
        drop_partitions(session, statement, path, found)
    else:
        _change(session, statement, text, path, found)
    return ok()


def _change(session: Session, statement: actions.AlterTable, text: str, path: Path, table: CatalogTable) -> None:
    draft = draft_of(table)
    _CHANGES[type(statement)](draft, statement, text)
    session.catalogs.replace(path, build(draft))


# -- columns, key and watermark


def _add(draft: TableDraft, statement: actions.AddToTable, text: str) -> None:
    for place in statement.columns:
        column = column_draft(place.column, text, resolved=False)
        if draft.find(column.name) is not None:
            raise refusal(
                "SQL_COLUMN",
                f"A column '{column.name}' exists already in the table. Use MODIFY to change it.",
                column.line,
                column.column,
            )
        _insert(draft, column, place, len(draft.columns))
    key = key_draft([place.column for place in statement.columns], statement.constraints)
    if key is not None:
        if draft.key is not None:
            raise refusal(
                "SQL_KEY",
                f"The table has a primary key already: ({', '.join(draft.key.columns)}). Use MODIFY, or DROP PRIMARY KEY first.",
                key.line,
                key.column,
            )
        draft.key = key
    if statement.watermark is not None:
        watermark = watermark_draft(statement.watermark, text, resolved=False)
        if draft.watermark is not None:
            raise refusal(
                "SQL_WATERMARK",
                f"The table has a watermark already, for '{'.'.join(draft.watermark.path)}'. Use MODIFY, or DROP WATERMARK first.",
                watermark.line,
                watermark.column,
            )
        draft.watermark = watermark


def _modify(draft: TableDraft, statement: actions.ModifyTable, text: str) -> None:
    for place in statement.columns:
        column = column_draft(place.column, text, resolved=False)
        old = _known(draft, column.name, column.line, column.column)
        position = draft.columns.index(old)
        draft.columns.remove(old)
        _insert(draft, column, place, position)
    key = key_draft([place.column for place in statement.columns], statement.constraints)
    if key is not None:
        if draft.key is None:
            raise refusal("SQL_KEY", "The table has no primary key. Use ADD.", key.line, key.column)
        draft.key = key
    if statement.watermark is not None:
        watermark = watermark_draft(statement.watermark, text, resolved=False)
        if draft.watermark is None:
            raise refusal("SQL_WATERMARK", "The table has no watermark. Use ADD.", watermark.line, watermark.column)
        draft.watermark = watermark


def _insert(draft: TableDraft, column: ColumnDraft, place: ColumnPlace, position: int) -> None:
    if place.first:
        position = 0
    elif place.after is not None:
        other = _known(draft, ".".join(place.after), column.line, column.column)
        position = draft.columns.index(other) + 1
    draft.columns.insert(position, column)


def _known(draft: TableDraft, name: str, line: int = 0, column: int = 0) -> ColumnDraft:
    found = draft.find(name)
    if found is None:
        near = did_you_mean(name, draft.names())
        raise refusal("SQL_COLUMN", f"There is no column '{name}' in the table.{near}", line, column)
    return found


def _rename(draft: TableDraft, statement: actions.RenameColumn, text: str) -> None:
    old, new = _one_part(statement.column), _one_part(statement.new_column)
    _known(draft, old)
    if draft.find(new) is not None:
        raise refusal("SQL_COLUMN", f"A column '{new}' exists already in the table.")
    rename_column(draft, old, new)


def _drop_columns(draft: TableDraft, statement: actions.DropColumns, text: str) -> None:
    dropped = [_one_part(path) for path in statement.columns]
    for name in dropped:
        _known(draft, name)
        if dropped.count(name) > 1:
            raise refusal("SQL_COLUMN", f"The column '{name}' is dropped twice.")
    for name in dropped:
        users = users_of(draft, name, without=dropped)
        if users:
            raise refusal("SQL_COLUMN", f"The column '{name}' cannot be dropped: {users[0]} uses it.")
    draft.columns = [c for c in draft.columns if c.name not in dropped]


def _one_part(path: Sequence[str]) -> str:
    if len(path) > 1:
        raise refusal("SQL_UNSUPPORTED", f"'{'.'.join(path)}' is a nested field. Nested fields cannot be changed.")
    return path[0]


def _drop_key(draft: TableDraft, statement: actions.DropPrimaryKey, text: str) -> None:
    if draft.key is None:
        raise refusal("SQL_KEY", "The table has no primary key.")
    _keep_not_null(draft)
    draft.key = None


def _keep_not_null(draft: TableDraft) -> None:
    """Columns stay NOT NULL when their primary key is dropped, as in Flink."""
    assert draft.key is not None
    for column in draft.columns:
        if column.name in draft.key.columns and column.type is not None:
            column.type = column.type.with_nullable(False)


def _drop_constraint(draft: TableDraft, statement: actions.DropConstraint, text: str) -> None:
    if draft.key is None:
        raise refusal("SQL_KEY", "The table has no primary key.")
    name = draft.key.name
    if name != statement.constraint:
        raise refusal("SQL_KEY", f"There is no constraint '{statement.constraint}'. Did you mean '{name}'?")
    _keep_not_null(draft)
    draft.key = None


def _drop_watermark(draft: TableDraft, statement: actions.DropWatermark, text: str) -> None:
    if draft.watermark is None:
        raise refusal("SQL_WATERMARK", "The table has no watermark.")
    draft.watermark = None


# -- options and distribution


def _set_options(draft: TableDraft, statement: actions.SetTableOptions, text: str) -> None:
    draft.options |= options_of(statement.options)


def _reset_options(draft: TableDraft, statement: actions.ResetTableOptions, text: str) -> None:
    if not statement.keys:
        raise refusal("SQL_OPTION", "RESET needs at least one key.")
    if "connector" in statement.keys:
        raise refusal("SQL_OPTION", "The option 'connector' cannot be reset. SET another one.")
    for key in statement.keys:
        draft.options.pop(key, None)


def _add_distribution(draft: TableDraft, statement: actions.AddDistribution, text: str) -> None:
    if draft.distribution is not None:
        raise refusal(
            "SQL_DISTRIBUTION", "The table has a distribution already. Use MODIFY, or DROP DISTRIBUTION first."
        )
    draft.distribution = distribution_of(statement.distribution)


def _modify_distribution(draft: TableDraft, statement: actions.ModifyDistribution, text: str) -> None:
    if draft.distribution is None:
        raise refusal("SQL_DISTRIBUTION", "The table has no distribution. Use ADD.")
    draft.distribution = distribution_of(statement.distribution)


def _drop_distribution(draft: TableDraft, statement: actions.DropDistribution, text: str) -> None:
    if draft.distribution is None:
        raise refusal("SQL_DISTRIBUTION", "The table has no distribution.")
    draft.distribution = None


_CHANGES: dict[type, Callable[[TableDraft, Any, str], None]] = {
    actions.AddToTable: _add,
    actions.ModifyTable: _modify,
    actions.RenameColumn: _rename,
    actions.DropColumns: _drop_columns,
    actions.DropPrimaryKey: _drop_key,
    actions.DropConstraint: _drop_constraint,
    actions.DropWatermark: _drop_watermark,
    actions.SetTableOptions: _set_options,
    actions.ResetTableOptions: _reset_options,
    actions.AddDistribution: _add_distribution,
    actions.ModifyDistribution: _modify_distribution,
    actions.DropDistribution: _drop_distribution,
}
