"""Queries as statements."""

from __future__ import annotations

from sqlglot import exp

from penstock.table.dialect.statements.statement import Statement

_KINDS: dict[type[exp.Expr], str] = {
    exp.Select: "SELECT",
    exp.Values: "VALUES",
    exp.Union: "UNION",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
}


class Query(Statement, frozen=True):
    """A query. `text` is the query as written."""

    query: exp.Expr
    text: str

    def statement_kind(self) -> str:
        query = self.query
        while True:
            if any(query.args.get(clause) is not None for clause in ("order", "limit", "offset")):
                return "ORDER_BY"
            if query.args.get("with_") is not None:
                return "WITH"
            if not isinstance(query, exp.Subquery):
                return _KINDS.get(type(query), "EXPLICIT_TABLE")
            query = query.this
