"""Splits a statement into tokens with sqlglot's tokenizer, by the rules of Flink's scanner."""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from penstock.errors import SqlParseError
from penstock.table.dialect.excerpt import excerpt, place

HINT_START = TokenType.HINT
HINT_END = TokenType.BLOCK_END

# Texts, quoted names and comments, and the beginnings of those that have no end.
QUOTED = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<open_text>')"
    r"|(?P<name>`(?:[^`\n\r]|``)+`)|(?P<open_name>`)"
    r"|(?P<line>(?:--|//)[^\n\r]*)"
    r"|(?P<comment>/\*(?!\+).*?\*/)|(?P<open_comment>/\*(?!\+))",
    re.DOTALL,
)
_UNFINISHED = {
    "open_text": ("The text that starts here has no closing '.", "Close it with ', and write a ' inside of it as ''."),
    "open_name": ("The name that starts here has no closing `, or is empty.", "Close it with ` on the same line."),
    "open_comment": ("The comment that starts here has no closing */.", "Close it with */."),
}
_WORD = re.compile(r"[^\W\d][\w$]*")


class FlinkTokenizer(Tokenizer):
    """Knows the operators and the few words that the expression parser distinguishes by type. All other words are `VAR`."""

    IDENTIFIERS = ["`"]
    IDENTIFIER_ESCAPES = ["`"]
    QUOTES = ["'"]
    STRING_ESCAPES = ["'"]
    UNICODE_STRINGS = [("u&'", "'"), ("U&'", "'")]
    COMMENTS = ["--", "//", ("/*", "*/")]
    NESTED_COMMENTS = False
    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS = {
        "/*+": HINT_START,
        "*/": HINT_END,
        "<>": TokenType.NEQ,
        "<=": TokenType.LTE,
        ">=": TokenType.GTE,
        "!=": TokenType.UNKNOWN,
        "||": TokenType.DPIPE,
        "=>": TokenType.FARROW,
        "AND": TokenType.AND,
        "OR": TokenType.OR,
        "NOT": TokenType.NOT,
        "IS": TokenType.IS,
        "IN": TokenType.IN,
        "BETWEEN": TokenType.BETWEEN,
        "LIKE": TokenType.LIKE,
        "ILIKE": TokenType.ILIKE,
        "RLIKE": TokenType.RLIKE,
        "SIMILAR": TokenType.SIMILAR_TO,
        "OVERLAPS": TokenType.OVERLAPS,
    }
    SINGLE_TOKENS = {**Tokenizer.SINGLE_TOKENS, "$": TokenType.DOLLAR, "!": TokenType.UNKNOWN, "\\": TokenType.UNKNOWN}
    VAR_SINGLE_TOKENS = {"$"}


# sqlglot adds comments in the style of Jinja, and reads hints as comments. Flink has neither.
FlinkTokenizer._COMMENTS = {"--": None, "//": None, "/*": "*/"}


def tokenize(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Returns the tokens of a part of a text. `line` and `col` of a token are its first character in the text, from 1."""
    end = len(text) if end is None else end
    check_quotes(text, start, end)
    try:
        tokens = FlinkTokenizer().tokenize(text[start:end])
    except Exception as error:  # sqlglot raises exceptions of several classes for text that it cannot scan
        raise scan_error(
            text, start, f"The text cannot be split into words: {error}.", "Check quotes and comments."
        ) from error
    line, last = 1 + text.count("\n", 0, start), start
    for token in tokens:
        token.start += start
        token.end += start
        line += text.count("\n", last, token.start)
        last = token.start
        token.line, token.col = line, last - text.rfind("\n", 0, last)
        if token.token_type == TokenType.UNKNOWN or (
            token.token_type == TokenType.VAR and not _WORD.fullmatch(token.text)
        ):
            raise _unknown_character(text, token)
    return tokens


def check_quotes(text: str, start: int, end: int) -> None:
    """Raises an error for a text, a quoted name or a comment without its end."""
    for found in QUOTED.finditer(text, start, end):
        if found.lastgroup in _UNFINISHED:
            raise scan_error(text, found.start(), *_UNFINISHED[found.lastgroup])


def scan_error(text: str, offset: int, problem: str, advice: str) -> SqlParseError:
    line, column = place(text, offset)
    shown = excerpt(text, line, column)
    return SqlParseError("SQL_TEXT", f"Line {line}, column {column}: {problem}\n{shown}\n{advice}", line, column)


def _unknown_character(text: str, token: Token) -> SqlParseError:
    found = text[token.start : token.end + 1]
    advice = {
        '"': "Write names in backquotes (`a b`) and texts in single quotes ('a b').",
        "!=": "Write <> for 'not equal'.",
        "!": "Write NOT or <>.",
    }.get(found, "Quote names with unusual characters: `a-b`.")
    return scan_error(text, token.start, f"Found {found}, which is no part of SQL.", advice)
