"""Select lists that the methods for columns make: `alias`, `add_or_replace_columns`, `rename_columns`, `drop_columns`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api.expansion import unknown_column
from penstock.table.api.queries import column, named, names_of
from penstock.table.binder.queries.aggregate_calls import has_aggregate
from penstock.table.relations import Relation


def all_of(relation: Relation) -> list[exp.Expr]:
    """Returns all columns of a relation."""
    return [column(name) for name in names_of(relation)]


def aliased(names: Sequence[str], new: Sequence[str]) -> list[exp.Expr]:
    """Returns all columns, the first of them with new names.

    >>> [item.alias_or_name for item in aliased(["a", "b", "c"], ["x", "y"])]
    ['x', 'y', 'c']
    """
    if len(new) > len(names):
        raise SqlValidationError(
            "SQL_COLUMN",
            f"Aliasing more fields than we actually have: {len(new)} names for the columns [{', '.join(names)}].",
        )
    for name in new:
        if not isinstance(name, str):
            raise TypeError(f"alias() takes names of columns, not {name!r}.")
        if name == "*":
            raise SqlValidationError("SQL_COLUMN", "Alias can not accept '*' as name.")
    pairs = zip(names, [*new, *names[len(new) :]], strict=True)
    return [column(old) if old == name else named(column(old), name) for old, name in pairs]


def without_aggregates(items: Sequence[exp.Expr], method: str) -> Sequence[exp.Expr]:
    """Returns the items, or raises an error if one of them is an aggregate."""
    for item in items:
        if has_aggregate(item):
            raise SqlValidationError(
                "SQL_AGGREGATE", f"{method}() takes no aggregate functions. Use select(), or group_by() and select()."
            )
    return items


def replaced(names: Sequence[str], added: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Returns all columns, some of them replaced by those with the same name, then those with new names."""
    found: dict[object, exp.Expr] = {name: column(name) for name in names}
    for item in added:
        key = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else item
        found[key] = item
    return list(found.values())


def renamed(names: Sequence[str], items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Returns all columns, some of them with new names."""
    found: dict[str, exp.Expr] = {name: column(name) for name in names}
    for item in items:
        if not isinstance(item, exp.Alias) or not isinstance(item.this, exp.Column):
            raise SqlValidationError(
                "SQL_COLUMN", "rename_columns() takes columns with new names, such as col('a').alias('b')."
            )
        if item.this.name not in found:
            raise unknown_column(item.this.name, names)
        found[item.this.name] = item
    return list(found.values())


def remaining(names: Sequence[str], items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Returns all columns but some."""
    dropped = set()
    for item in items:
        if not isinstance(item, exp.Column):
            raise SqlValidationError("SQL_COLUMN", "drop_columns() takes columns such as col('a'), and no expressions.")
        if item.name not in names:
            raise unknown_column(item.name, names)
        dropped.add(item.name)
    return [column(name) for name in names if name not in dropped]
