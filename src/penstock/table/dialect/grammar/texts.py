"""Texts in single quotes, and whole numbers."""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect.grammar.reading import Reading

# What may be the escape character of U&'...' UESCAPE.
_ESCAPE = re.compile(r"[^0-9a-fA-F+\"\s]")
_STRINGS = frozenset({TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING})


class Texts(Reading):
    """Literals that statements have outside of expressions as well."""

    def at_string(self) -> bool:
        return self._curr.token_type in _STRINGS

    def string(self, what: str = "a text in single quotes") -> str:
        """Reads a text in single quotes. Texts that follow each other are one text."""
        if not self.at_string():
            self.fail(what)
        parts = [self._string_part()]
        while self._curr.token_type == TokenType.STRING:
            parts.append(self._string_part())
        return "".join(parts)

    def one_string(self, what: str = "a text in single quotes") -> str:
        """Reads a text in single quotes where Flink accepts a plain one only."""
        if self._curr.token_type != TokenType.STRING:
            self.fail(what)
        self._advance()
        return self._prev.text

    def _string_part(self) -> str:
        token = self._curr
        self._advance()
        if token.token_type != TokenType.UNICODE_STRING:
            return token.text
        escape = "\\"
        if self.take("UESCAPE"):
            if self._curr.token_type != TokenType.STRING or not _ESCAPE.fullmatch(self._curr.text):
                self.fail('one character in single quotes that is no hexadecimal digit, blank, + or "')
            escape = self._curr.text
            self._advance()
        return self._unescape(token, escape)

    def _unescape(self, token: Token, escape: str) -> str:
        """Replaces \\0041 with the character of this code, and the doubled escape character with one."""
        text, result, place = token.text, [], 0
        while place < len(text):
            if text[place] != escape:
                result.append(text[place])
                place += 1
            elif text[place + 1 : place + 2] == escape:
                result.append(escape)
                place += 2
            else:
                digits = text[place + 1 : place + 5]
                try:
                    result.append(chr(int(digits, 16)) if len(digits) == 4 else self.fail_escape(token, escape))
                except ValueError:
                    self.fail_escape(token, escape)
                place += 5
        return "".join(result)

    def fail_escape(self, token: Token, escape: str) -> NoReturn:
        self.fail(f"four hexadecimal digits after each {escape}", token)

    def unsigned_integer(self) -> int:
        """Reads a number without sign, point and exponent."""
        if self._curr.token_type != TokenType.NUMBER or not self._curr.text.isdigit():
            self.fail("a whole number")
        self._advance()
        return int(self._prev.text)
