"""SELECT, VALUES, TABLE, set operations, WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.tables import Tables

_SET_OPERATIONS: dict[str, type[exp.SetOperation]] = {"UNION": exp.Union, "EXCEPT": exp.Except}


class FlinkParser(Tables):
    """The grammar of queries, and with it the whole parser of expressions and queries."""

    def query(self) -> exp.Expr:
        """Reads a query with WITH, set operations, ORDER BY and LIMIT. The clauses belong to the outermost node."""
        token = self._curr
        ctes = self._with() if self.at("WITH") else None
        query = self._set_operations()
        if ctes is not None:
            if query.args.get("with_") is not None:  # WITH a AS (...) (WITH b AS (...) SELECT ...)
                query = exp.Subquery(this=query)
            query.set("with_", ctes)
        self._order_and_limit(query)
        if "line" not in query.meta:
            self.node(query, token)
        return query

    # ------------------------------------------------------------------------------------------------ WITH

    def _with(self) -> exp.With:
        token = self._curr
        self.expect("WITH")
        recursive = self.take("RECURSIVE")
        return self.node(exp.With(expressions=self.comma_list(self._cte), recursive=recursive), token)

    def _cte(self) -> exp.CTE:
        token = self._curr
        alias = self.node(exp.TableAlias(this=self.identifier("the name of a query")), token)
        if self.at_symbol(TokenType.L_PAREN):
            alias.set("columns", self.parenthesized(self.identifier))
        self.expect("AS")
        self.expect_symbol(TokenType.L_PAREN)
        query = self.query()
        self.expect_symbol(TokenType.R_PAREN)
        return self.node(exp.CTE(this=query, alias=alias), token)

    # -------------------------------------------------------------------------------------- set operations

    def _set_operations(self) -> exp.Expr:
        query = self._intersections()
        while word := self.take_one(*_SET_OPERATIONS):
            token = self._prev
            distinct = self.take_one("ALL", "DISTINCT") != "ALL"
            right = self._intersections()
            query = self.node(_SET_OPERATIONS[word](this=query, expression=right, distinct=distinct), token)
        return query

    def _intersections(self) -> exp.Expr:
        """INTERSECT binds more tightly than UNION and EXCEPT."""
        query = self._simple_query()
        while self.take("INTERSECT"):
            token = self._prev
            distinct = self.take_one("ALL", "DISTINCT") != "ALL"
            right = self._simple_query()
            query = self.node(exp.Intersect(this=query, expression=right, distinct=distinct), token)
        return query

    def _simple_query(self) -> exp.Expr:
        token = self._curr
        if self.at("SELECT"):
            return self._select()
        if self.take_one("VALUES", "VALUE"):
            return self.node(exp.Values(expressions=self.comma_list(self._values_row)), token)
        if self.take("TABLE"):
            return self.node(nodes.ExplicitTable(this=self.table_name()), token)
        if self.take_symbol(TokenType.L_PAREN):
            query = self.query()
            self.expect_symbol(TokenType.R_PAREN)
            return self.node(exp.Subquery(this=query), token)
        return self.fail("a query")

    def _values_row(self) -> exp.Tuple:
        token = self._curr
        if self.at_symbol(TokenType.L_PAREN) and self.word_ahead(1, "ROW") and self.at_symbol(TokenType.L_PAREN, 2):
            # (ROW(1, 2)) is a row with two columns, and (ROW(1, 2), 3) is a row whose first column is a row.
            index = self._index
            self._advance(2)
            row = self._values_in_parentheses()
            if self.take_symbol(TokenType.R_PAREN):
                return self.node(row, token)
            self._retreat(index)
        if self.at("ROW") and self.at_symbol(TokenType.L_PAREN, 1):
            self._advance()
            return self.node(self._values_in_parentheses(), token)
        if self.at_symbol(TokenType.L_PAREN):
            index = self._index
            row = self._values_in_parentheses()
            if (
                not self._curr
                or self.at_symbol(TokenType.COMMA)
                or self.at_symbol(TokenType.R_PAREN)
                or self._at_row_end()
            ):
                return self.node(row, token)
            self._retreat(index)  # VALUES (1) + 2
        return self.node(exp.Tuple(expressions=[self.read_expression()]), token)

    def _at_row_end(self) -> bool:
        return self.at_symbol(TokenType.SEMICOLON) or self.at(
            "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT", "ON", "PARTITION"
        )

    def _values_in_parentheses(self) -> exp.Tuple:
        return exp.Tuple(expressions=self.parenthesized(self._value))

    def _value(self) -> exp.Expr:
        if self.at("DEFAULT"):
            self._advance()
            return self.node(nodes.DefaultArgument(), self._prev)
        if self.at("SELECT", "WITH", "VALUES"):
            token = self._curr
            return self.node(exp.Subquery(this=self.query()), token)
        return self.read_expression()

    # ---------------------------------------------------------------------------------------------- SELECT

    def _select(self) -> exp.Select:
        token = self._curr
        self.expect("SELECT")
        select = self.node(exp.Select(), token)
        if hints := self.hints():
            select.set("hint", exp.Hint(expressions=hints))
        self.take("STREAM")
        if self.take_one("ALL", "DISTINCT") == "DISTINCT":
            select.set("distinct", exp.Distinct())
        select.set("expressions", self.comma_list(self._select_item))
        if not self.at("FROM"):
            return select
        source, joins = self.from_clause()
        select.set("from_", source)
        select.set("joins", joins or None)
        if self.take("WHERE"):
            select.set("where", self.node(exp.Where(this=self.read_expression()), self._prev))
        if self.at("GROUP"):
            select.set("group", self._group_by())
        if self.take("HAVING"):
            select.set("having", exp.Having(this=self.read_expression()))
        if self.at("WINDOW"):
            select.set("windows", self.named_windows())
        if self.take("QUALIFY"):
            select.set("qualify", exp.Qualify(this=self.read_expression()))
        return select

    def _select_item(self) -> exp.Expr:
        token = self._curr
        if self.take_symbol(TokenType.STAR):
            value: exp.Expr = self.node(exp.Star(), token)
        else:
            value = self.read_expression()
        if self.take("AS") or self.at_identifier():
            return self.node(exp.Alias(this=value, alias=self.identifier("an alias")), token)
        return value

    def _group_by(self) -> exp.Group:
        token = self._curr
        self.expect("GROUP", "BY")
        self.take_one("ALL", "DISTINCT")
        return self.node(exp.Group(expressions=self.comma_list(self._grouping)), token)

    def _grouping(self) -> exp.Expr:
        token = self._curr
        if self.take("GROUPING", "SETS"):
            return self.node(exp.GroupingSets(expressions=self.parenthesized(self._grouping)), token)
        if word := self.take_one("CUBE", "ROLLUP"):
            kind = exp.Cube if word == "CUBE" else exp.Rollup
            return self.node(kind(expressions=self.parenthesized(self.read_expression)), token)
        if self.at_symbol(TokenType.L_PAREN) and self.at_symbol(TokenType.R_PAREN, 1):
            self._advance(2)
            return self.node(nodes.RowConstructor(expressions=[], explicit=False), token)
        return self.read_expression()

    # ------------------------------------------------------------------------------------ ORDER BY and LIMIT

    def _order_and_limit(self, query: exp.Expr) -> None:
        if self.at("ORDER"):
            query.set("order", self.order_by())
        if self.take("LIMIT"):
            token = self._prev
            if not self.take("ALL"):
                query.set("limit", self.node(exp.Limit(expression=self._count()), token))
            self._offset(query)
            return
        self._offset(query)
        if self.take("FETCH"):
            token = self._prev
            self.expect_one("FIRST", "NEXT")
            query.set("limit", self.node(exp.Limit(expression=self._count()), token))
            self.expect_one("ROW", "ROWS")
            self.expect("ONLY")

    def _offset(self, query: exp.Expr) -> None:
        if self.take("OFFSET"):
            query.set("offset", self.node(exp.Offset(expression=self._count()), self._prev))
            self.take_one("ROW", "ROWS")

    def _count(self) -> exp.Expr:
        if not (self.at_symbol(TokenType.NUMBER) or self.at_symbol(TokenType.PLACEHOLDER)):
            self.fail("a number")
        return self.primary()
