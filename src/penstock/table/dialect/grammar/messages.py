"""Parts of the messages about syntax errors."""

from __future__ import annotations

from difflib import get_close_matches


def closest(found: str, wanted: list[str]) -> str | None:
    """Returns the keyword that was probably meant.

    >>> closest("TABEL", ["a name", "TABLE", "VIEW"])
    'TABLE'
    """
    words = [word for word in wanted if word.isupper()]
    close = get_close_matches(found.upper(), words, n=1, cutoff=0.7)
    return close[0] if close and close[0] != found.upper() else None


def either(wanted: list[str]) -> str:
    """Joins what could have been there.

    >>> either(["a name", "TABLE", "VIEW"])
    'a name, TABLE or VIEW'
    """
    if len(wanted) > 8:
        return f"{', '.join(wanted[:8])} or another keyword"
    if len(wanted) < 2:
        return wanted[0] if wanted else "something else"
    return f"{', '.join(wanted[:-1])} or {wanted[-1]}"


def shorten(text: str) -> str:
    """Returns the text of a token on one line."""
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:37]}..."
