"""Modules: sets of built-in functions. Penstock has one."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import UnsupportedOperation
from penstock.table.environment.module_entry import CORE, ModuleEntry

_REASON = (
    f"The module '{CORE}' has all functions, and there is no other one. Write functions in Python and register them."
)


class Module:
    """A set of functions. Only the module `core` exists."""

    def __init__(self, *arguments: Any) -> None:
        raise UnsupportedOperation("SQL_MODULE", f"{type(self).__name__} is a module for Java. {_REASON}")


class HiveModule(Module):
    """The functions of Hive, which are written in Java."""


class Modules:
    """The methods of a table environment for modules."""

    def list_modules(self) -> list[str]:
        """Returns the names of the modules."""
        return [CORE]

    def list_full_modules(self) -> list[ModuleEntry]:
        """Returns the names of the modules, and whether they are used."""
        return [ModuleEntry(CORE, True)]

    def use_modules(self, *module_names: str) -> None:
        """Selects the modules whose functions are used. There is only one."""
        if module_names == (CORE,):
            return
        unknown = next((name for name in module_names if name != CORE), None)
        if unknown is not None:
            raise UnsupportedOperation("SQL_MODULE", f"No module with name '{unknown}' exists. {_REASON}")
        if module_names:
            raise UnsupportedOperation("SQL_MODULE", f"Module '{CORE}' appears more than once. Name it once.")
        raise UnsupportedOperation("SQL_MODULE", f"No module is named. {_REASON}")

    def load_module(self, module_name: str, module: Any) -> NoReturn:
        """Refused, because modules are written in Java."""
        raise UnsupportedOperation("SQL_MODULE", f"The module '{module_name}' cannot be loaded. {_REASON}")

    def unload_module(self, module_name: str) -> NoReturn:
        """Refused, because there would be no functions left."""
        raise UnsupportedOperation("SQL_MODULE", f"The module '{module_name}' cannot be unloaded. {_REASON}")
