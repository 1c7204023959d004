"""Reads tokens strictly: what is expected is there, or the error says what was found instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlParseError
from penstock.table.dialect.excerpt import excerpt, place
from penstock.table.dialect.grammar.messages import closest, either, shorten
from penstock.table.dialect.keywords import CLAUSE_STARTS, RESERVED
from penstock.table.dialect.tokens import tokenize

_T = TypeVar("_T")
_Node = TypeVar("_Node", bound=exp.Expr)

# Tokens whose text is never a keyword.
_NO_WORDS = frozenset(
    {TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING}
)
_SYMBOLS = {
    TokenType.L_PAREN: "(",
    TokenType.R_PAREN: ")",
    TokenType.L_BRACKET: "[",
    TokenType.R_BRACKET: "]",
    TokenType.L_BRACE: "{",
    TokenType.R_BRACE: "}",
    TokenType.COMMA: ",",
    TokenType.DOT: ".",
    TokenType.EQ: "=",
    TokenType.LT: "<",
    TokenType.GT: ">",
    TokenType.DASH: "-",
    TokenType.COLON: ":",
    TokenType.SEMICOLON: ";",
    TokenType.BLOCK_END: "*/",
}


class Reading(Parser):
    """Strict reading on top of sqlglot's parser. Rules of statements use these methods as well."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        super().__init__()
        self.sql = text
        self._end = len(text) if end is None else end
        self._tokens = tokenize(text, start, self._end)
        self._tokens_size = len(self._tokens)
        self._index = -1
        self._advance()
        # The keywords that were tried for each token: what could have been there.
        self._tried: dict[int, set[str]] = {}
        self._closing: dict[int, int] | None = None  # found when first needed

    # ------------------------------------------------------------------------------------------------ words

    def at(self, *words: str) -> bool:
        """Is the next token one of these keywords?"""
        if self._curr.token_type not in _NO_WORDS and self._curr.text.upper() in words:
            return True
        self._try(words)
        return False

    def at_sequence(self, *words: str) -> bool:
        """Are the next tokens these keywords, in this order?"""
        for distance, word in enumerate(words):
            token = self.ahead(distance)
            if token is None or token.token_type in _NO_WORDS or token.text.upper() != word:
                if distance == 0:
                    self._try((word,))
                return False
        return True

    def take(self, *words: str) -> bool:
        """Reads these keywords, in this order, if they are there."""
        if not self.at_sequence(*words):
            return False
        self._advance(len(words))
        return True

    def take_one(self, *words: str) -> str | None:
        """Reads one of these keywords, and returns it in upper case."""
        if not self.at(*words):
            return None
        self._advance()
        return self._prev.text.upper()

    def take_ahead(self, *words: str) -> str | None:
        """Returns the next keyword in upper case if it is one of these, and does not read it."""
        return self._curr.text.upper() if self.at(*words) else None

    def at_end(self) -> bool:
        """Does nothing but a semicolon follow?"""
        return not self._curr or self._curr.token_type == TokenType.SEMICOLON

    def expect(self, *words: str) -> None:
        """Reads these keywords, in this order."""
        for word in words:
            if not self.take(word):
                self.fail(word)

    def expect_one(self, *words: str) -> str:
        """Reads one of these keywords, and returns it in upper case."""
        return self.take_one(*words) or self.fail()

    def ahead(self, distance: int = 1) -> Token | None:
        """Returns the token at a distance: 0 is the next one."""
        index = self._index + distance
        return self._tokens[index] if index < self._tokens_size else None

    def word_ahead(self, distance: int, *words: str) -> bool:
        token = self.ahead(distance)
        return token is not None and token.token_type not in _NO_WORDS and token.text.upper() in words

    def _try(self, words: tuple[str, ...]) -> None:
        self._tried.setdefault(self._index, set()).update(words)

    # ---------------------------------------------------------------------------------------------- symbols

    def at_symbol(self, symbol: TokenType, distance: int = 0) -> bool:
        token = self.ahead(distance)
        return token is not None and token.token_type == symbol

    def take_symbol(self, symbol: TokenType) -> bool:
        if self._curr.token_type != symbol:
            return False
        self._advance()
        return True

    def expect_symbol(self, symbol: TokenType) -> Token:
        if not self.take_symbol(symbol):
            self.fail(_SYMBOLS[symbol])
        return self._prev

    def closing_parenthesis(self, index: int) -> int | None:
        """Returns the index of the token that closes the parenthesis at an index, or None if nothing closes it."""
        if self._closing is None:
            self._closing, opened = {}, []
            for position, token in enumerate(self._tokens):
                if token.token_type == TokenType.L_PAREN:
                    opened.append(position)
                elif token.token_type == TokenType.R_PAREN and opened:
                    self._closing[opened.pop()] = position
        return self._closing.get(index)

    def comma_list(self, item: Callable[[], _T]) -> list[_T]:
        """Reads one or more items, separated by commas."""
        items = [item()]
        while self.take_symbol(TokenType.COMMA):
            items.append(item())
        return items

    def parenthesized(self, item: Callable[[], _T]) -> list[_T]:
        """Reads one or more items in parentheses."""
        self.expect_symbol(TokenType.L_PAREN)
        items = self.comma_list(item)
        self.expect_symbol(TokenType.R_PAREN)
        return items

    # ------------------------------------------------------------------------------------------------ names

    def at_identifier(self, distance: int = 0) -> bool:
        """Is the token a name: quoted, or a word that is not reserved?"""
        token = self.ahead(distance)
        if token is None:
            return False
        if token.token_type == TokenType.IDENTIFIER:
            return True
        return token.token_type not in _NO_WORDS and token.text[0].isidentifier() and token.text.upper() not in RESERVED

    def identifier(self, what: str = "a name") -> exp.Identifier:
        """Reads a name of one part."""
        if not self.at_identifier():
            self._refuse_reserved(what)
            self.fail(what)
        token = self._curr
        self._advance()
        return self.node(exp.Identifier(this=token.text, quoted=token.token_type == TokenType.IDENTIFIER), token)

    def identifiers(self, what: str = "a name") -> list[exp.Identifier]:
        """Reads a name of one or more parts."""
        parts = [self.identifier(what)]
        while self.take_symbol(TokenType.DOT):
            parts.append(self.identifier(what))
        return parts

    def _refuse_reserved(self, what: str) -> None:
        token = self._curr
        if token and token.token_type not in _NO_WORDS and token.text.upper() in RESERVED:
            after = self.ahead(1)
            # `SELECT FROM t` lacks an expression: the advice to quote FROM would mislead.
            ends = after is None or after.token_type in (
                TokenType.COMMA,
                TokenType.R_PAREN,
                TokenType.DOT,
                TokenType.EQ,
            )
            ends = ends or not self.at_identifier(1)
            if ends and token.text.upper() not in CLAUSE_STARTS:
                self.fail(
                    what, advice=f"{token.text} is a reserved word. As a name, write it in backquotes: `{token.text}`."
                )

    # ---------------------------------------------------------------------------------------------- results

    def next_token(self) -> Token:
        """Returns the next token, or a token without text behind the last one."""
        if self._curr:
            return self._curr
        line, column = place(self.sql, self._end)
        return Token(TokenType.VAR, "", line, column, self._end, self._end)

    def text_from(self, start: int) -> str:
        """Returns the text from an offset to the end of the last token that was read."""
        return self.sql[start : self._prev.end + 1]

    def node(self, node: _Node, token: Token) -> _Node:
        """Remembers where a node begins."""
        node.update_positions(token)
        return node

    def end_of_statement(self) -> None:
        """Reads the optional semicolon. Nothing may follow."""
        while self.take_symbol(TokenType.SEMICOLON):
            pass
        if self._curr:
            self.fail("the end of the statement")

    def fail(self, expected: str = "", token: Token | None = None, advice: str = "") -> NoReturn:
        """Raises an error about the next token, or another one."""
        token = token or self._curr
        here = token is self._curr
        if token:
            offset, found = token.start, f"'{shorten(self.sql[token.start : token.end + 1])}'"
        else:
            # The last character of the text, which may be a blank, as in Flink.
            offset = max(0, len(self.sql[: self._end].rstrip("\r\n;")) - 1)
            found = "the end of the statement"
        line, column = place(self.sql, offset)
        tried = sorted(self._tried.get(self._index, set()) - {expected}) if here else []
        wanted = either([*([expected] if expected else []), *tried])
        if token and not advice and (close := closest(token.text, [expected, *tried])):
            advice = f"Did you mean {close}?"
        elif here and not advice and (close := self._misspelt_before()):
            advice = f"Did you mean {close} instead of {self._prev.text}?"
        shown = excerpt(self.sql, line, column)
        advice = f"\n{advice}" if advice else ""
        raise SqlParseError(
            "SQL_SYNTAX",
            f"Line {line}, column {column}: found {found}, expected {wanted}.\n{shown}{advice}",
            line,
            column,
        )

    def _misspelt_before(self) -> str | None:
        """Returns the keyword that was meant with the token before. It was read as an alias: SELECT a FORM t."""
        if not self._prev or self._prev.token_type != TokenType.VAR:
            return None
        return closest(self._prev.text, sorted(self._tried.get(self._index, set())))

    def fail_at(self, expected: str, line: int, column: int) -> NoReturn:
        """Raises an error about the token that begins at a place."""
        self.fail(expected, next((token for token in self._tokens if (token.line, token.col) == (line, column)), None))

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """sqlglot reports errors through this method."""
        self.fail("an expression" if message.startswith("Required argument") else message)
