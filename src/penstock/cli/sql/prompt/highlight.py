"""Highlights SQL at the prompt."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from penstock.table.dialect.keywords import KEYWORDS

_SHORTEST = 2  # A, C, G and others are keywords of the grammar, but mostly names of tables
_SHOWN = tuple(sorted(word for word in KEYWORDS if len(word) >= _SHORTEST))


class FlinkSqlLexer(RegexLexer):
    """Flink's SQL with its own keywords.

    >>> [(str(kind), text) for kind, text in FlinkSqlLexer().get_tokens("WATERMARK 'a'") if text.strip()]
    [('Token.Keyword', 'WATERMARK'), ('Token.Literal.String.Single', "'a'")]
    """

    name = "Flink SQL"
    flags = re.IGNORECASE
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"/\*\+.*?\*/", Comment.Special),  # hints
            (r"/\*", Comment.Multiline, "comment"),
            (r"(--|//)[^\n]*", Comment.Single),
            (r"'(''|[^'])*'?", String.Single),
            (r"`(``|[^`])*`?", Name.Quoted),
            (r"\d+(\.\d*)?(E[+-]?\d+)?", Number),
            (words(_SHOWN, suffix=r"\b"), Keyword),
            (r"[a-z_$][\w$]*(?=\s*\()", Name.Function),
            (r"[^\W\d][\w$]*", Name),
            (r"[+*/<>=!|%-]+", Operator),
            (r".", Punctuation),
        ],
        "comment": [(r"\*/", Comment.Multiline, "#pop"), (r"[^*]+|\*", Comment.Multiline)],
    }
