"""`ConfigOptions` of PyFlink."""

from __future__ import annotations

from typing import NoReturn

from penstock.errors import UnsupportedOperation


class ConfigOptions:
    """Not supported. The set of options is fixed, so that misspelled keys are detected."""

    @staticmethod
    def key(key: str) -> NoReturn:
        raise UnsupportedOperation(
            "OWN_OPTION",
            f"ConfigOptions.key('{key}') would define a new option, but the set of options is fixed (docs/reference/options.md). "
            "Set an existing option with Configuration.set_string, or pass your own settings as job parameters.",
        )
