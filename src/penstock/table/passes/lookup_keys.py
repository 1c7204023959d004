"""The keys of a lookup join: columns of the table that the condition compares with values of the left side."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal, columns_of
from penstock.table import relations as r
from penstock.table.catalog.table import CatalogTable
from penstock.table.passes.rewriting import conjuncts, over_projections, substituted
from penstock.types.logical.kinds import CharType


class LookupKey(NamedTuple):
    """A column of the table (by position), the value of the left side, and the part of the condition."""

    column: int
    value: Expression
    part: Expression


class LookupRight(NamedTuple):
    """The right side of a lookup join over the columns of its table, without computed columns."""

    scan: r.Scan
    columns: tuple[Expression, ...]
    condition: Expression | None


def lookup_right(right: r.Relation) -> LookupRight | None:
    """Returns the table that a relation reads, if it does no more than computing columns and filtering rows of one table."""
    if isinstance(right, r.Scan):
        scan = right
        columns: tuple[Expression, ...] = tuple(Column(i, f.type, f.name) for i, f in enumerate(scan.row_type.fields))
        condition = None
    elif isinstance(right, r.Calc) and isinstance(right.input, r.Scan):
        scan, columns, condition = right.input, right.projections, right.condition
    else:
        return None
    if scan.stream is not None:
        return None
    table: CatalogTable = scan.table

    def stored(column: Column) -> Expression:
        definition = table.columns[column.index]
        return column if definition.expression is None else substituted(definition.expression, stored)

    return LookupRight(
        scan,
        tuple(substituted(c, stored) for c in columns),
        None if condition is None else substituted(condition, stored),
    )


def lookup_keys(join: r.Join | r.LookupJoin, right: LookupRight) -> list[LookupKey]:
    """Returns the keys. A column of the table that is compared twice is a key once."""
    width = len(join.left.row_type.fields)
    found: dict[int, LookupKey] = {}
    for part in conjuncts(join.condition):
        if not isinstance(part, Call) or part.function != "=":
            continue
        for one, other in (part.arguments, part.arguments[::-1]):
            used = columns_of(other)
            if not isinstance(one, Column) or one.index < width or not used or max(used) >= width:
                continue
            column = over_projections(Column(one.index - width, one.type), right.columns)
            if isinstance(column, Column) and _same(one, other) and _is_physical(right, column.index):
                found.setdefault(column.index, LookupKey(column.index, other, part))
    return list(found.values())


def constant_columns(right: LookupRight) -> list[tuple[int, Any]]:
    """Returns the columns of the table that must have one constant value, with these values."""
    found = []
    for part in conjuncts(right.condition):
        if isinstance(part, Call) and part.function == "=":
            for one, other in (part.arguments, part.arguments[::-1]):
                if not isinstance(other, Literal) or other.value is None or not _same(one, other):
                    continue
                if isinstance(one, Column) and _is_physical(right, one.index):
                    found.append((one.index, other.value))
    return found


def _same(one: Expression, other: Expression) -> bool:
    """Whether values of both are equal if they look the same in the table. Texts of different lengths are."""
    if isinstance(one.type, CharType) and isinstance(other.type, CharType):
        return True
    return one.type.with_nullable(True) == other.type.with_nullable(True)


def _is_physical(right: LookupRight, column: int) -> bool:
    return bool(right.scan.table.columns[column].kind == "physical")
