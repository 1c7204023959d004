"""Operators. sqlglot's parser climbs through the levels of precedence; the operands and the predicates are Flink's."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.parser import IsPredicatePrecedence
from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.types import Types

# Words that continue a query.
_AFTER_QUERY = ("UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT", "OFFSET", "FETCH")
_JSON_KINDS = ("VALUE", "OBJECT", "ARRAY", "SCALAR")


class Expressions(Types):
    """Expressions with operators."""

    _queries_refused = False

    # In Flink, IS binds less tightly than a comparison, all comparisons bind equally, and || binds like a product.
    IS_PREDICATE_PRECEDENCE = IsPredicatePrecedence.LOW
    EQUALITY: ClassVar[dict[TokenType, type[exp.Binary]]] = {}
    COMPARISON = {
        TokenType.EQ: exp.EQ,
        TokenType.NEQ: exp.NEQ,
        TokenType.GT: exp.GT,
        TokenType.GTE: exp.GTE,
        TokenType.LT: exp.LT,
        TokenType.LTE: exp.LTE,
    }
    TERM = {TokenType.DASH: exp.Sub, TokenType.PLUS: exp.Add}
    FACTOR = {
        TokenType.STAR: exp.Mul,
        TokenType.SLASH: exp.Div,
        TokenType.MOD: exp.Mod,
        TokenType.DPIPE: exp.DPipe,
    }
    RANGE_PARSERS = {
        TokenType.BETWEEN: lambda self, this: self._parse_between(this),
        TokenType.IN: lambda self, this: self._parse_in(this),
        TokenType.IS: lambda self, this: self._parse_is(this),
        TokenType.LIKE: lambda self, this: self.pattern_match(exp.Like, this),
        TokenType.ILIKE: lambda self, this: self.pattern_match(exp.ILike, this),
        TokenType.RLIKE: lambda self, this: self.pattern_match(exp.RegexpLike, this),
        TokenType.SIMILAR_TO: lambda self, this: self.pattern_match(exp.SimilarTo, this),
        TokenType.OVERLAPS: lambda self, this: exp.Overlaps(this=this, expression=self._parse_bitwise()),
    }

    def read_expression(self) -> exp.Expr:
        """Reads an expression."""
        return self._parse_disjunction() or self.fail("an expression")

    def primary(self) -> exp.Expr:
        """Reads an operand: see `Primaries`."""
        raise NotImplementedError

    def query(self) -> exp.Expr:
        """Reads a query: see `Queries`."""
        raise NotImplementedError

    def read_expression_without_query(self) -> exp.Expr:
        """Reads an expression that must not contain a query."""
        before, self._queries_refused = self._queries_refused, True
        try:
            return self.read_expression()
        finally:
            self._queries_refused = before

    def at_query(self, distance: int = 0) -> bool:
        """Does a query begin here? It may be in parentheses.

        An expression or a join may begin with a query as well. What follows the parentheses decides: (SELECT 1) UNION SELECT 2 is a
        query, and (SELECT 1) + 2 is not.
        """
        while self.at_symbol(TokenType.L_PAREN, distance):
            after = self._after_parentheses(distance)
            if distance and after and after.token_type != TokenType.R_PAREN and after.text.upper() not in _AFTER_QUERY:
                return False
            distance += 1
        return self.word_ahead(distance, "SELECT", "WITH", "VALUES", "VALUE", "TABLE")

    def at_query_in_parentheses(self) -> bool:
        """Is the content of the parentheses that begin here a query?"""
        if not self.at_query(1):
            return False
        if self._queries_refused:
            self.fail("an expression without a query", self.ahead(1))
        return True

    def _after_parentheses(self, distance: int) -> Token | None:
        """Returns the token behind the parenthesis that closes the one at a distance."""
        end = self.closing_parenthesis(self._index + distance)
        return self._tokens[end + 1] if end is not None and end + 1 < self._tokens_size else None

    # --------------------------------------------------------------------------------------------- operators

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._parse_term()

    def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
        return this

    def _parse_unary(self) -> exp.Expr | None:
        token = self._curr
        if self.take_symbol(TokenType.PLUS):
            return self._parse_unary()
        if self.take_symbol(TokenType.DASH):
            return self.node(exp.Neg(this=self._parse_unary()), token)
        if self.take_symbol(TokenType.NOT):
            return self.node(exp.Not(this=self._parse_equality()), token)
        if self.at_sequence("EXISTS") and self.at_symbol(TokenType.L_PAREN, 1):
            self._advance()
            _, query = self.query_or_list()
            if query is None:
                self.fail("a query", token)
            return self.node(exp.Exists(this=query.this), token)
        return self._accessed(self.primary())

    def _accessed(self, this: exp.Expr) -> exp.Expr:
        """Reads [index] and .field behind an operand."""
        while True:
            if self.take_symbol(TokenType.L_BRACKET):
                counted = self.take_one("OFFSET", "ORDINAL", "SAFE_OFFSET", "SAFE_ORDINAL")
                this = exp.Bracket(this=this, expressions=[self.read_expression()])
                if counted is not None:
                    this.set("offset", counted)
                self.expect_symbol(TokenType.R_BRACKET)
            elif self.at_symbol(TokenType.DOT):
                self._advance()
                this = exp.Dot(this=this, expression=self.identifier("the name of a field"))
            else:
                return this

    # -------------------------------------------------------------------------------------------- predicates

    def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
        return exp.Not(this=this)

    def pattern_match(self, kind: type[exp.Binary], this: exp.Expr) -> exp.Expr:
        if kind is exp.SimilarTo:
            self.expect("TO")
        match: exp.Expr = kind(this=this, expression=self._parse_bitwise())
        if self.take("ESCAPE"):
            match = exp.Escape(this=match, expression=self.primary())
        return match

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        symmetric = self.take_one("SYMMETRIC", "ASYMMETRIC")
        low = self._parse_bitwise()
        self.expect("AND")
        return exp.Between(this=this, low=low, high=self._parse_bitwise(), symmetric=symmetric == "SYMMETRIC")

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        expressions, query = self.query_or_list()
        return exp.In(this=this, query=query) if query else exp.In(this=this, expressions=expressions)

    def query_or_list(self) -> tuple[list[exp.Expr], exp.Expr | None]:
        """Reads expressions in parentheses, or one query."""
        is_query = self.at_query_in_parentheses()
        token = self.expect_symbol(TokenType.L_PAREN)
        if is_query:
            query = self.query()
            self.expect_symbol(TokenType.R_PAREN)
            return [], self.node(exp.Subquery(this=query), token)
        expressions = self.comma_list(self.read_expression)
        self.expect_symbol(TokenType.R_PAREN)
        return expressions, None

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr:
        negative = self.take("NOT")
        token = self._curr
        if self.take("DISTINCT", "FROM"):
            other = self._parse_range()
            return (exp.NullSafeEQ if negative else exp.NullSafeNEQ)(this=this, expression=other)
        value: exp.Expr
        if self.take("NULL"):
            value = exp.Null()
        elif word := self.take_one("TRUE", "FALSE"):
            value = exp.Boolean(this=word == "TRUE")
        elif self.take("UNKNOWN"):
            value = nodes.UnknownLiteral()
        elif self.take("JSON"):
            value = exp.Var(this=f"JSON {self.take_one(*_JSON_KINDS) or 'VALUE'}")
        elif self.take("A", "SET"):
            value = exp.Var(this="A SET")
        elif self.take("EMPTY"):
            value = exp.Var(this="EMPTY")
        else:
            self.fail()
        test = exp.Is(this=this, expression=self.node(value, token))
        return exp.Not(this=test) if negative else test
