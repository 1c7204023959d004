"""Lists of columns in the Table API: *, ranges of columns, all columns but some, and the fields of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.api.queries import column, names_of, rewritten, select
from penstock.table.dialect import nodes
from penstock.table.functions.catalogue import closest
from penstock.table.relations import Relation
from penstock.types.logical.kinds import RowType

if TYPE_CHECKING:
    from penstock.table.environment.session import Session


def expanded(session: Session, relation: Relation, items: Iterable[exp.Expr]) -> list[exp.Expr]:
    """Replaces each item that stands for several columns by them, also among the arguments of functions."""
    names = names_of(relation)
    found: list[exp.Expr] = []
    for item in items:
        columns = selected(item, names)
        if columns is not None:
            found += [column(name) for name in columns]
        elif isinstance(item, nodes.Flatten):
            found += _fields(session, relation, with_arguments(item.this, names))
        else:
            found.append(with_arguments(item, names))
    return found


def with_arguments(node: exp.Expr, names: Sequence[str]) -> exp.Expr:
    """Replaces lists of columns among the arguments of calls."""

    def change(part: exp.Expr) -> exp.Expr | None:
        if isinstance(part, exp.Query | nodes.BoundTable):
            return part
        arguments = part.args.get("expressions")
        if not isinstance(arguments, list) or not any(_stands_for_several(a) for a in arguments):
            return None
        if isinstance(part, nodes.Call) and part.name.upper() == "COUNT":
            return None
        more: list[exp.Expr] = []
        for argument in arguments:
            columns = selected(argument, names)
            more += [with_arguments(argument, names)] if columns is None else [column(name) for name in columns]
        made = part.copy()
        made.set("expressions", more)
        return made

    return rewritten(node, change)


def selected(node: exp.Expr, names: Sequence[str]) -> list[str] | None:
    """Returns the names of the columns that an item stands for, or None if it is an expression."""
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and _is_star(node)):
        return list(names)
    if isinstance(node, nodes.ColumnRange):
        return _range(node, names)
    if not isinstance(node, nodes.ColumnSelection):
        return None
    chosen: list[str] = []
    for part in node.expressions:
        several = selected(part, names)
        chosen += [names[_position(part, names)]] if several is None else several
    return [name for name in names if name not in chosen] if node.args.get("without") else chosen


def _stands_for_several(node: exp.Expr) -> bool:
    return isinstance(node, nodes.ColumnSelection | nodes.ColumnRange | exp.Star) or (
        isinstance(node, exp.Column) and _is_star(node)
    )


def _is_star(node: exp.Column) -> bool:
    return isinstance(node.this, exp.Star) or node.name == "*"


def _range(node: nodes.ColumnRange, names: Sequence[str]) -> list[str]:
    first, last = (_position(node.args[key], names) for key in ("this", "expression"))
    if last < first:
        raise SqlValidationError("SQL_COLUMN", f"The range of columns ends at '{names[last]}', before its start.")
    return list(names[first : last + 1])


def _position(given: object, names: Sequence[str]) -> int:
    """The position of a column that is given by its name, or by a number from 1."""
    if isinstance(given, exp.Literal) and not given.is_string:
        given = int(given.this)
    if isinstance(given, int):
        if not 1 <= given <= len(names):
            raise SqlValidationError("SQL_COLUMN", f"There is no column {given}. The table has {len(names)} columns.")
        return given - 1
    name = given.name if isinstance(given, exp.Expr) else str(given)
    if name not in names:
        raise unknown_column(name, names)
    return list(names).index(name)


def unknown_column(name: str, names: Sequence[str]) -> SqlValidationError:
    """Returns the error for a column that a table does not have."""
    near = closest(name, list(names))
    hint = f" Did you mean '{near}'?" if near else ""
    return SqlValidationError("SQL_COLUMN", f"There is no column '{name}' in [{', '.join(names)}].{hint}")


def _fields(session: Session, relation: Relation, node: exp.Expr) -> list[exp.Expr]:
    """The fields of a row, or the value itself if it is none."""
    type_ = session.bind(select(relation, [node]), "").row_type.fields[0].type
    if not isinstance(type_, RowType):
        return [node]
    return [exp.Dot(this=node.copy(), expression=exp.Identifier(this=f.name, quoted=True)) for f in type_.fields]
