"""Names of charsets."""

from __future__ import annotations

import codecs

from penstock.errors import ConfigError


def known_charset(name: str) -> str:
    """Python's name of a charset.

    >>> known_charset("ISO-8859-1")
    'iso8859-1'
    """
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ConfigError(
            "CHARSET", f"There is no charset '{name}'. Python's documentation of codecs lists the names, such as UTF-8."
        ) from None
