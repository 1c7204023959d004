"""Operands: literals, columns, parentheses, CASE, CAST and constructors."""

from __future__ import annotations

import re
import sys

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.data_type import IntervalQualifier
from penstock.table.dialect.grammar.expressions import Expressions
from penstock.table.dialect.keywords import CONTEXT_FUNCTIONS, RESERVED_FUNCTIONS

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_C_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
_C_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")
_COMPARISONS = frozenset({TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE})
_LITERALS = (
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.HexString,
    nodes.DateTimeLiteral,
    nodes.IntervalLiteral,
    nodes.UnknownLiteral,
)
_CONSTRUCTORS = {
    "ARRAY": nodes.ArrayConstructor,
    "MAP": nodes.MapConstructor,
    "MULTISET": nodes.MultisetConstructor,
}


class Primaries(Expressions):
    """Operands."""

    def call(self) -> exp.Expr | None:
        """Reads a call of a function, if there is one: see `Calls`."""
        raise NotImplementedError

    def primary(self) -> exp.Expr:
        token = self._curr
        if not token:
            self.fail("an expression")
        kind = token.token_type
        if kind == TokenType.NUMBER:
            if not _DECIMAL.fullmatch(token.text):  # 1e
                self.fail("a number")
            self._advance()
            return self.node(exp.Literal.number(token.text), token)
        if kind == TokenType.DOT and self.at_symbol(TokenType.NUMBER, 1) and self._next.start == token.end + 1:
            self._advance(2)  # .5
            return self.node(exp.Literal.number(f".{self._prev.text}"), token)
        if self.at_string():
            return self.node(exp.Literal.string(self.string()), token)
        if kind == TokenType.L_PAREN:
            return self._parentheses()
        if kind == TokenType.PLACEHOLDER:
            self._advance()
            return self.node(exp.Placeholder(), token)
        if kind == TokenType.VAR:
            found = self._word(token, token.text.upper())
            if found is not None:
                return found
        found = self.call()
        return found if found is not None else self.column()

    def _word(self, token: Token, word: str) -> exp.Expr | None:
        """Reads an operand that begins with a keyword."""
        after = self.ahead(1)
        if after is not None and after.token_type == TokenType.STRING and after.start == token.end + 1:
            if word == "X":
                return self._binary(token)
            if word == "E":
                self._advance()
                return self.node(exp.Literal.string(self._c_style(self.one_string())), token)
            if word.startswith("_"):  # the character set of the text, such as _utf8'...'
                self._advance()
                return self.node(exp.Literal.string(self.string()), token)
        if word in ("TRUE", "FALSE"):
            self._advance()
            return self.node(exp.Boolean(this=word == "TRUE"), token)
        if word in ("NULL", "UNKNOWN"):
            self._advance()
            return self.node(exp.Null() if word == "NULL" else nodes.UnknownLiteral(), token)
        if word in ("DATE", "TIME", "TIMESTAMP", "DATETIME"):
            return self._date_time(token, word)
        if word == "DECIMAL" and self.at_symbol(TokenType.STRING, 1):
            self._advance()
            return self.node(exp.Literal.number(self._decimal()), token)
        if word == "INTERVAL":
            return self.interval()
        if word == "CASE":
            return self._case()
        if word in ("CAST", "TRY_CAST", "SAFE_CAST"):
            return self._cast(word)
        if word in _CONSTRUCTORS:
            return self._constructor(token, word)
        if word == "ROW":
            self._advance()
            return self.node(nodes.RowConstructor(expressions=self._row_values(), explicit=True), token)
        if word in ("SOME", "ANY", "ALL") and self._prev and self._prev.token_type in _COMPARISONS:
            self._advance()
            expressions, query = self.query_or_list()
            kind = "ALL" if word == "ALL" else "SOME"
            return self.node(nodes.Quantified(this=kind, expressions=expressions, query=query), token)
        if word in CONTEXT_FUNCTIONS and not (word in RESERVED_FUNCTIONS and self.at_symbol(TokenType.L_PAREN, 1)):
            self._advance()
            return self.node(nodes.Call(this=token.text, parentheses=False), token)
        return None

    # --------------------------------------------------------------------------------------------- literals

    def _binary(self, token: Token) -> exp.Expr:
        self._advance()
        digits = self.string()
        if len(digits) % 2 or not set(digits) <= _HEX:
            self.fail("an even number of hexadecimal digits", self._prev)
        return self.node(exp.HexString(this=digits), token)

    def _c_style(self, text: str) -> str:
        """Replaces the escapes of the language C, as in E'a\\tb'."""
        return _C_ESCAPE.sub(_c_character, text)

    def _date_time(self, token: Token, word: str) -> exp.Expr | None:
        if self.at_symbol(TokenType.STRING, 1):
            self._advance()
            kind = "TIMESTAMP" if word == "DATETIME" else word
        elif word == "TIMESTAMP" and self.word_ahead(1, "WITH"):
            self.expect("TIMESTAMP", "WITH", "LOCAL", "TIME", "ZONE")
            kind = "TIMESTAMP WITH LOCAL TIME ZONE"
        elif self.at_symbol(TokenType.L_PAREN, 1):  # DATE(...) is a call
            return None
        else:
            self._advance()
            self.fail("a text in single quotes")
        return self.node(nodes.DateTimeLiteral(this=kind, text=self.one_string()), token)

    def _decimal(self) -> str:
        """Reads the text of DECIMAL '1.5'."""
        text = self.string().strip()
        if not _DECIMAL.fullmatch(text):
            self.fail("a number in single quotes", self._prev)
        return text.removeprefix("+")

    def interval(self) -> exp.Expr:
        """Reads INTERVAL '1' DAY, or INTERVAL with an expression."""
        token = self._curr
        self.expect("INTERVAL")
        negative = self.take_symbol(TokenType.DASH)
        if not negative:
            self.take_symbol(TokenType.PLUS)
        if self._curr.token_type == TokenType.STRING:
            text = self.one_string()
            qualifier = self.interval_qualifier()
            return self.node(nodes.IntervalLiteral(this=text, qualifier=qualifier, negative=negative), token)
        if self.take_symbol(TokenType.L_PAREN):
            amount = self.read_expression()
            self.expect_symbol(TokenType.R_PAREN)
        elif self._curr.token_type == TokenType.NUMBER:
            self._advance()
            amount = self.node(exp.Literal.number(self._prev.text), self._prev)
        else:
            amount = self.column()
        qualifier = self.interval_qualifier(single=True)
        if negative:
            amount = exp.Neg(this=amount)
        return self.node(nodes.IntervalExpression(this=amount, qualifier=qualifier), token)

    def interval_literal(self) -> nodes.IntervalLiteral:
        """Reads INTERVAL '1' DAY."""
        token = self._curr
        found = self.interval()
        return (
            found
            if isinstance(found, nodes.IntervalLiteral)
            else self.fail("an interval such as INTERVAL '1' DAY", token)
        )

    def literal(self) -> exp.Expr:
        """Reads a literal, which may have a sign."""
        token = self._curr
        found = self._parse_unary()
        inner = found.this if isinstance(found, exp.Neg) else found
        if not isinstance(inner, _LITERALS):
            self.fail("a literal", token)
        return found or inner

    # ---------------------------------------------------------------------------------------------- columns

    def column(self) -> exp.Expr:
        """Reads a name of one or more parts, or t.*. Parts behind the fourth are `Dot` nodes."""
        token = self._curr
        parts: list[exp.Expr] = [self.identifier("an expression")]
        while self.at_symbol(TokenType.DOT):
            self._advance()
            if self.take_symbol(TokenType.STAR):
                parts.append(self.node(exp.Star(), self._prev))
                break
            parts.append(self.identifier("the name of a column"))
        names, rest = parts[:4], parts[4:]
        keys = ("this", "table", "db", "catalog")
        column: exp.Expr = self.node(exp.Column(**dict(zip(keys, reversed(names), strict=False))), token)
        for part in rest:
            column = exp.Dot(this=column, expression=part)
        return column

    # ------------------------------------------------------------------------------------- composed operands

    def _parentheses(self) -> exp.Expr:
        """Reads (a), the row (a, b), a query in parentheses, or (a - b) DAY."""
        token = self._curr
        expressions, query = self.query_or_list()
        if query is not None:
            return query
        if len(expressions) > 1:
            return self.node(nodes.RowConstructor(expressions=expressions, explicit=False), token)
        inner = self.node(exp.Paren(this=expressions[0]), token)
        if isinstance(expressions[0], exp.Sub) and self.at_interval_unit():
            qualifier: IntervalQualifier = self.interval_qualifier()
            return self.node(nodes.IntervalExpression(this=inner, qualifier=qualifier), token)
        return inner

    def _row_values(self) -> list[exp.Expr]:
        expressions, query = self.query_or_list()
        return [query] if query is not None else expressions

    def _case(self) -> exp.Expr:
        token = self._curr
        self.expect("CASE")
        operand = None if self.at("WHEN") else self.read_expression()
        branches = []
        while self.take("WHEN"):
            start = self._prev
            values = self.comma_list(self.read_expression)
            when = values[0] if len(values) == 1 else nodes.ValueList(expressions=values)
            self.expect("THEN")
            branches.append(self.node(exp.If(this=when, true=self.read_expression()), start))
        if not branches:
            self.fail("WHEN")
        default = self.read_expression() if self.take("ELSE") else None
        self.expect("END")
        return self.node(exp.Case(this=operand, ifs=branches, default=default), token)

    def _cast(self, word: str) -> exp.Expr:
        token = self._curr
        self._advance()
        self.expect_symbol(TokenType.L_PAREN)
        value = self.read_expression()
        self.expect("AS")
        start = self._curr
        to = self.node(nodes.TypeReference(this=self.cast_type()), start)
        self.expect_symbol(TokenType.R_PAREN)
        return self.node((exp.Cast if word == "CAST" else exp.TryCast)(this=value, to=to), token)

    def _constructor(self, token: Token, word: str) -> exp.Expr | None:
        kind = _CONSTRUCTORS[word]
        if self.at_symbol(TokenType.L_BRACKET, 1):
            self._advance(2)
            values = [] if self.at_symbol(TokenType.R_BRACKET) else self.comma_list(self.read_expression_without_query)
            self.expect_symbol(TokenType.R_BRACKET)
            return self.node(kind(expressions=values), token)
        if self.at_symbol(TokenType.L_PAREN, 1) and self.at_query(2):
            self._advance()
            expressions, query = self.query_or_list()
            return self.node(kind(expressions=expressions, query=query), token)
        if word == "MAP":  # not reserved: a name or a function
            return None
        self._advance()
        return self.fail("[")


def _c_character(found: re.Match[str]) -> str:
    hexadecimal = found.group(1) or found.group(2) or found.group(3)
    if hexadecimal and int(hexadecimal, 16) <= sys.maxunicode:
        return chr(int(hexadecimal, 16))
    if found.group(4):
        return chr(int(found.group(4), 8))
    return _C_CHARACTERS.get(found.group(5) or "", found.group(5) or found.group())
