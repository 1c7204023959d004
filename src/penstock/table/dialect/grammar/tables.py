"""Tables in FROM: names, hints, table functions, UNNEST, subqueries and joins."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.match_recognize import MatchRecognition

_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL")


class Tables(MatchRecognition):
    """The clause FROM."""

    def from_clause(self) -> tuple[exp.From, list[exp.Join]]:
        """Reads FROM and the joins behind it."""
        token = self._curr
        self.expect("FROM")
        return self.node(exp.From(this=self._table()), token), self._joins()

    # ---------------------------------------------------------------------------------------------- joins

    def _joins(self, commas: bool = True) -> list[exp.Join]:
        joins: list[exp.Join] = []
        while True:
            token = self._curr
            if commas and self.take_symbol(TokenType.COMMA):
                joins.append(self.node(exp.Join(this=self._table(), kind="COMMA"), token))
            elif self.at(*_JOINS):
                joins.append(self._join())
            else:
                return joins

    def _join(self) -> exp.Join:
        token = self._curr
        natural = self.take("NATURAL")
        side = self.take_one("LEFT", "RIGHT", "FULL")
        kind = None
        if side:
            self.take("OUTER")
        else:
            kind = self.take_one("INNER", "CROSS")
        self.expect("JOIN")
        join = self.node(
            exp.Join(this=self._table(), side=side, kind=kind, method="NATURAL" if natural else None), token
        )
        if self.take("ON"):
            join.set("on", self.read_expression())
        elif self.take("USING"):
            join.set("using", self.parenthesized(self.identifier))
        return join

    # --------------------------------------------------------------------------------------------- tables

    def _table(self) -> exp.Expr:
        token = self._curr
        lateral = self.take("LATERAL")
        if self.at_symbol(TokenType.L_PAREN):
            table = self._in_parentheses(lateral)
        elif self.take("UNNEST"):
            table = self._unnest()
        elif self.at("TABLE") and self.at_symbol(TokenType.L_PAREN, 1):
            self._advance(2)
            self.take("SPECIFIC")
            call = self._named_call()
            self.expect_symbol(TokenType.R_PAREN)
            table = nodes.TableFunction(this=call, lateral=lateral)
        elif lateral:
            self.fail("TABLE(")
        elif self.at_identifier() and self._parenthesis_after_name():
            table = nodes.TableFunction(this=self._named_call(), lateral=False)
        else:
            table = self._named_table()
        self.node(table, token)
        if self.at("MATCH_RECOGNIZE") or (self.at("AS") and self.word_ahead(2, "MATCH_RECOGNIZE")):
            if self.take("AS"):
                table.set("alias", exp.TableAlias(this=self.identifier("an alias")))
            table = self.match_recognize(table)
        return self._after_table(table)

    def _in_parentheses(self, lateral: bool) -> exp.Expr:
        """Reads a query in parentheses, or tables with joins."""
        token = self._curr
        if self.at_query_in_parentheses():
            self._advance()
            query = self.query()
            self.expect_symbol(TokenType.R_PAREN)
            subquery = self.node(exp.Subquery(this=query), token)
            return exp.Lateral(this=subquery) if lateral else subquery
        self.expect_symbol(TokenType.L_PAREN)
        first = self._table()
        joins = self._joins(commas=False)
        self.expect_symbol(TokenType.R_PAREN)
        if not joins and not isinstance(first, nodes.JoinedTables):
            self.fail("a query or a join in the parentheses", token)
        return nodes.JoinedTables(this=first, joins=joins) if joins else first

    def _unnest(self) -> exp.Expr:
        expressions, query = self.query_or_list()
        ordinality = self.take("WITH", "ORDINALITY")
        return exp.Unnest(expressions=[query] if query is not None else expressions, offset=ordinality)

    def _named_table(self) -> exp.Expr:
        table = self.hinted_table_name()
        if self.take("FOR"):
            token = self._prev
            self.expect("SYSTEM_TIME", "AS", "OF")
            moment = self.read_expression()
            table.set("version", self.node(exp.Version(this="SYSTEM_TIME", kind="AS OF", expression=moment), token))
        return table

    def hinted_table_name(self) -> exp.Table:
        table = self.table_name()
        if hints := self.hints():
            table.set("hints", hints)
        return table

    def table_name(self) -> exp.Table:
        """Reads the name of a table with up to three parts."""
        token = self._curr
        parts = self.identifiers("a table")
        if len(parts) > 3:
            self.fail("a table with at most a catalog and a database before its name", token)
        return self.node(exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))), token)

    def _after_table(self, table: exp.Expr) -> exp.Expr:
        """Reads the alias and TABLESAMPLE."""
        alias = self._table_alias()
        if alias is not None:
            if isinstance(table, nodes.JoinedTables):
                self.fail("no alias behind joined tables", self._prev)
            table.set("alias", alias)
        if self.take("TABLESAMPLE"):
            table.set("sample", self._sample())
        return table

    def _table_alias(self) -> exp.TableAlias | None:
        explicit = self.take("AS")
        if not explicit and not self.at_identifier():
            return None
        token = self._curr
        alias = self.node(exp.TableAlias(this=self.identifier("an alias")), token)
        if self.at_symbol(TokenType.L_PAREN):
            alias.set("columns", self.parenthesized(self.identifier))
        return alias

    def _sample(self) -> exp.TableSample:
        method = self.expect_one("BERNOULLI", "SYSTEM")
        self.expect_symbol(TokenType.L_PAREN)
        percent = self.primary()
        self.expect_symbol(TokenType.R_PAREN)
        sample = exp.TableSample(method=method, percent=percent)
        if self.take("REPEATABLE"):
            self.expect_symbol(TokenType.L_PAREN)
            sample.set("seed", self.primary())
            self.expect_symbol(TokenType.R_PAREN)
        return sample

    # ---------------------------------------------------------------------------------------------- hints

    def hints(self) -> list[nodes.HintCall]:
        """Reads /*+ NAME(...), NAME(...) */ if it is there."""
        if not self.take_symbol(TokenType.HINT):
            return []
        hints = self.comma_list(self._hint)
        self.expect_symbol(TokenType.BLOCK_END)
        return hints

    def _hint(self) -> nodes.HintCall:
        token = self._curr
        hint = self.node(nodes.HintCall(this=self.identifier("the name of a hint").name.upper()), token)
        if self.take_symbol(TokenType.L_PAREN):
            if not self.at_symbol(TokenType.R_PAREN):
                hint.set("expressions", self._hint_options())
            self.expect_symbol(TokenType.R_PAREN)
        return hint

    def _hint_options(self) -> list[exp.Expr]:
        """Reads keys with values, or names, or literals, and not a mixture of them."""
        options = [self._hint_option()]
        while self.take_symbol(TokenType.COMMA):
            token = self._curr
            options.append(self._hint_option())
            if type(options[-1]) is not type(options[0]):
                self.fail("an option like those before it", token)
        return options

    def _hint_option(self) -> exp.Expr:
        token = self._curr
        option: exp.Expr
        if self.at_string():
            option = exp.Literal.string(self.string())
        elif self.at_symbol(TokenType.NUMBER) or self.at_symbol(TokenType.DASH):
            option = self._parse_unary() or self.fail("a number")
        else:
            option = self.identifier("a name or a text in single quotes")
        self.node(option, token)
        if self.take_symbol(TokenType.EQ):
            value = self.node(exp.Literal.string(self.string()), self._prev)
            return self.node(nodes.KeyValue(this=option, expression=value), token)
        return option
