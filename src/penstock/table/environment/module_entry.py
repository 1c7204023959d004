"""The modules of functions."""

from __future__ import annotations

CORE = "core"


class ModuleEntry:
    """A module, and whether its functions are used.

    >>> ModuleEntry("core", True).name()
    'core'
    """

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """Returns the name."""
        return self._name

    def used(self) -> bool:
        """Whether the functions of the module are used."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (other._name, other._used) == (self._name, self._used)

    def __hash__(self) -> int:
        return hash((self._name, self._used))
