"""MATCH_RECOGNIZE. The pattern is a tree of nodes."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.windows import Windows

_PRIMARY = (
    TokenType.L_PAREN,
    TokenType.L_BRACE,
    TokenType.CARET,
    TokenType.DOLLAR,
)  # what a part of a pattern begins with


class MatchRecognition(Windows):
    """The clause MATCH_RECOGNIZE of a table."""

    def match_recognize(self, table: exp.Expr) -> nodes.MatchRecognize:
        token = self._curr
        self.expect("MATCH_RECOGNIZE")
        self.expect_symbol(TokenType.L_PAREN)
        match = self.node(nodes.MatchRecognize(this=table), token)
        if self.take("PARTITION", "BY"):
            match.set("partition_by", self.comma_list(self.read_expression_without_query))
        if self.at("ORDER"):
            match.set("order", self.order_by())
        if self.take("MEASURES"):
            match.set("measures", self.comma_list(self._measure))
        match.set("rows", self._rows_per_match())
        if self.take("AFTER"):
            self.expect("MATCH", "SKIP")
            match.set("after", self._skip())
        self._pattern(match)
        if self.take("WITHIN"):
            match.set("within", self.interval_literal())
        if self.take("SUBSET"):
            match.set("subsets", self.comma_list(self._subset))
        self.expect("DEFINE")
        match.set("define", self.comma_list(self._definition))
        self.expect_symbol(TokenType.R_PAREN)
        return match

    def _measure(self) -> exp.Alias:
        value = self.read_expression()
        self.expect("AS")
        return exp.Alias(this=value, alias=self.identifier())

    def _rows_per_match(self) -> str | None:
        if self.take("ONE"):
            self.expect("ROW", "PER", "MATCH")
            return "ONE ROW PER MATCH"
        if self.take("ALL"):
            self.expect("ROWS", "PER", "MATCH")
            for others in (("SHOW", "EMPTY", "MATCHES"), ("OMIT", "EMPTY", "MATCHES"), ("WITH", "UNMATCHED", "ROWS")):
                if self.take(*others):
                    return f"ALL ROWS PER MATCH {' '.join(others)}"
            return "ALL ROWS PER MATCH"
        return None

    def _skip(self) -> nodes.MatchSkip:
        token = self._curr
        if self.take("PAST"):
            self.expect("LAST", "ROW")
            return self.node(nodes.MatchSkip(this="PAST LAST ROW"), token)
        self.expect("TO")
        if self.take("NEXT"):
            self.expect("ROW")
            return self.node(nodes.MatchSkip(this="NEXT ROW"), token)
        # FIRST and LAST are not reserved, so they may be variables.
        where = "LAST"
        if self.at("FIRST", "LAST") and self.at_identifier(1) and not self.word_ahead(1, "PATTERN"):
            where = self.expect_one("FIRST", "LAST")
        return self.node(nodes.MatchSkip(this=where, variable=self.identifier("a variable of the pattern")), token)

    def _pattern(self, match: nodes.MatchRecognize) -> None:
        self.expect("PATTERN")
        self.expect_symbol(TokenType.L_PAREN)
        if self.at_symbol(TokenType.R_PAREN):
            self.fail("a variable of the pattern")
        match.set("pattern", self._alternatives())
        self.expect_symbol(TokenType.R_PAREN)

    def _alternatives(self) -> exp.Expr:
        token = self._curr
        branches = [self._sequence()]
        while self.take_symbol(TokenType.PIPE):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else self.node(nodes.PatternAlternatives(expressions=branches), token)

    def _sequence(self) -> exp.Expr:
        token = self._curr
        factors = [self._factor()]
        while self.at_identifier() or any(map(self.at_symbol, _PRIMARY)) or self.at("PERMUTE"):
            factors.append(self._factor())
        return factors[0] if len(factors) == 1 else self.node(nodes.PatternSequence(expressions=factors), token)

    def _factor(self) -> exp.Expr:
        token = self._curr
        part = self._pattern_primary()
        bounds = self._quantifier()
        if bounds is None:
            return part
        minimum, maximum = bounds
        reluctant = self.take_symbol(TokenType.PLACEHOLDER)
        quantifier = nodes.PatternQuantifier(this=part, minimum=minimum, maximum=maximum, reluctant=reluctant)
        return self.node(quantifier, token)

    def _quantifier(self) -> tuple[int, int | None] | None:
        if self.take_symbol(TokenType.STAR):
            return 0, None
        if self.take_symbol(TokenType.PLUS):
            return 1, None
        if self.take_symbol(TokenType.PLACEHOLDER):
            return 0, 1
        if not self.at_symbol(TokenType.L_BRACE) or self.at_symbol(TokenType.DASH, 1):
            return None
        self._advance()
        if self.take_symbol(TokenType.COMMA):
            bounds: tuple[int, int | None] = (0, self.unsigned_integer())
        else:
            minimum = self.unsigned_integer()
            maximum: int | None = minimum
            if self.take_symbol(TokenType.COMMA):
                maximum = None if self.at_symbol(TokenType.R_BRACE) else self.unsigned_integer()
            bounds = (minimum, maximum)
        self.expect_symbol(TokenType.R_BRACE)
        return bounds

    def _pattern_primary(self) -> exp.Expr:
        token = self._curr
        if self.take_symbol(TokenType.L_PAREN):
            if self.take_symbol(TokenType.R_PAREN):
                return self.node(nodes.PatternSequence(expressions=[]), token)
            inner = self._alternatives()
            self.expect_symbol(TokenType.R_PAREN)
            return inner
        if self.at_symbol(TokenType.L_BRACE) and self.at_symbol(TokenType.DASH, 1):
            self._advance(2)
            inner = self._alternatives()
            self.expect_symbol(TokenType.DASH)
            self.expect_symbol(TokenType.R_BRACE)
            return self.node(nodes.PatternExclusion(this=inner), token)
        if self.take("PERMUTE"):
            return self.node(nodes.PatternPermutation(expressions=self.parenthesized(self._alternatives)), token)
        for symbol in (TokenType.CARET, TokenType.DOLLAR):
            if self.take_symbol(symbol):
                return self.node(nodes.PatternAnchor(this=token.text), token)
        name = self.identifier("a variable of the pattern")
        return self.node(nodes.PatternVariable(this=name), token)

    def _subset(self) -> nodes.PatternSubset:
        token = self._curr
        name = self.identifier("a variable of the pattern")
        self.expect_symbol(TokenType.EQ)
        return self.node(nodes.PatternSubset(this=name, expressions=self.parenthesized(self.identifier)), token)

    def _definition(self) -> nodes.PatternDefinition:
        token = self._curr
        name = self.identifier("a variable of the pattern")
        self.expect("AS")
        return self.node(nodes.PatternDefinition(this=name, expression=self.read_expression()), token)
