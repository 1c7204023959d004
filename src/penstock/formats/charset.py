"""Names of character encodings."""

from __future__ import annotations

import codecs

from penstock.errors import ConfigError


def resolve_charset(name: str) -> str:
    """Returns Python's name of a charset.

    >>> resolve_charset("ISO-8859-1")
    'iso8859-1'
    """
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ConfigError(
            "CHARSET",
            f"Unknown charset '{name}'. Use one that Python supports, such as UTF-8; see the documentation of the module codecs.",
        ) from None
