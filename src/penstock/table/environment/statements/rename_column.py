"""Which parts of a table use a column, and giving a column another name."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.table.catalog.definition import TableDraft
from penstock.table.catalog.errors import refusal


def users_of(draft: TableDraft, name: str, without: Sequence[str] = ()) -> list[str]:
    """Returns the parts of a table that use a column, as phrases. Columns of `without` do not count.

    >>> from penstock.table.catalog.definition import ColumnDraft, KeyDraft
    >>> users_of(TableDraft([ColumnDraft("a")], key=KeyDraft(("a",))), "a")
    ['the primary key']
    """
    found = [
        f"the computed column '{c.name}'"
        for c in draft.columns
        if c.expression is not None and c.name not in without and _reads(c.expression, name)
    ]
    if draft.watermark is not None and (draft.watermark.path[0] == name or _reads(draft.watermark.expression, name)):
        found.append("the watermark")
    if draft.key is not None and name in draft.key.columns:
        found.append("the primary key")
    if name in draft.partition_keys:
        found.append("PARTITIONED BY")
    if draft.distribution is not None and name in draft.distribution[1]:
        found.append("the distribution")
    return found


def _reads(expression: exp.Expr, name: str) -> bool:
    return any(column.parts[0].name == name for column in expression.find_all(exp.Column))


def rename_column(draft: TableDraft, old: str, new: str) -> None:
    """Renames a column, also in the primary key. Expressions that use it are in the way, because they are stored as text."""
    computed = [user for user in users_of(draft, old) if user.startswith("the computed") or user == "the watermark"]
    if computed:
        raise refusal("SQL_COLUMN", f"The column '{old}' cannot be renamed: {computed[0]} uses it.")
    if old in draft.partition_keys:
        raise refusal("SQL_COLUMN", f"The column '{old}' cannot be renamed: PARTITIONED BY uses it.")
    if draft.distribution is not None and old in draft.distribution[1]:
        raise refusal("SQL_COLUMN", f"The column '{old}' cannot be renamed: the distribution uses it.")
    column = draft.find(old)
    assert column is not None
    column.name = new
    if draft.key is not None:
        draft.key.columns = tuple(new if name == old else name for name in draft.key.columns)
