"""Options that a program defines itself, as PyFlink has them."""

from __future__ import annotations

from typing import NoReturn

from penstock.errors import UnsupportedOperation


class ConfigOptions:
    """Not supported: options are those of the registry, so that a mistyped key is found."""

    @staticmethod
    def key(key: str) -> NoReturn:
        raise UnsupportedOperation(
            "OWN_OPTION",
            f"A new option '{key}' was begun. Options are fixed here, so that a mistyped key is found; docs/reference/options.md "
            "lists them. Set one with Configuration.set_string, and give settings of your own program as job parameters.",
        )
