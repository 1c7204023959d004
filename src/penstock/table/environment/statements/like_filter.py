"""LIKE and ILIKE of SHOW."""

from __future__ import annotations

import re

from penstock.table.dialect.statements.show import LikeFilter


def accepts(like: LikeFilter | None, name: str) -> bool:
    """Whether a name matches the pattern of SHOW ... LIKE.

    >>> accepts(LikeFilter("LIKE", "a%"), "abc"), accepts(LikeFilter("LIKE", "A_", negated=True), "ab")
    (True, True)
    """
    if like is None:
        return True
    flags = re.DOTALL | (re.IGNORECASE if like.operator == "ILIKE" else 0)
    return bool(re.fullmatch(_pattern(like.pattern), name, flags)) is not like.negated


def _pattern(text: str) -> str:
    parts, escaped = [], False
    for character in text:
        if escaped:
            parts.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return "".join(parts) + (re.escape("\\") if escaped else "")
