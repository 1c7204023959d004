"""What all parts of a query share while it is bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Column, Expression, walk
from penstock.table.binder.errors import refused
from penstock.table.binder.queries.lookup import BinderSettings, TableLookup
from penstock.table.binder.scope import Scope
from penstock.table.relations import Relation

# A column of a query around this one has this number added to its position, until a join makes it a column of its own.
OUTER = 1 << 30
_LEVEL = 1 << 20


@dataclass(frozen=True)
class Context:
    """Text, catalog and settings; the queries of WITH by name; the scopes of the queries around this one, the nearest first."""

    text: str
    lookup: TableLookup
    settings: BinderSettings
    ctes: dict[str, Relation] = field(default_factory=dict)
    outer: tuple[Scope, ...] = ()
    hints: tuple[tuple[str, Any], ...] = ()

    def refuse(self, code: str, message: str, node: exp.Expr) -> SqlValidationError:
        """Returns an error at the place of a node."""
        return refused(code, message, node, self.text)

    def inside(self, scope: Scope) -> Context:
        """Returns the context of a subquery whose names may be those of a scope."""
        return replace(self, outer=(scope, *self.outer), hints=())

    def alone(self) -> Context:
        """Returns the context of a query in FROM, which sees no columns of other tables."""
        return replace(self, outer=(), hints=())

    def outer_column(self, parts: list[str]) -> tuple[Column, list[str]] | None:
        """Returns the column of a query around this one that a name means, and the names of fields behind it."""
        for level, scope in enumerate(self.outer):
            for length in range(len(parts), 0, -1):
                found = scope.matches(parts[:length])
                if len(found) == 1:
                    column = found[0]
                    position = OUTER + level * _LEVEL + column.index
                    return Column(position, column.type, column.name), parts[length:]
        return None


def has_outer(expression: Expression) -> bool:
    """Whether an expression reads a column of a query around its own."""
    return any(isinstance(part, Column) and part.index >= OUTER for part in walk(expression))


def is_far(column: Column) -> bool:
    """Whether a column belongs to a query that is not the nearest one around."""
    return column.index >= OUTER + _LEVEL
