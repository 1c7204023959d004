"""An import hook that makes `import pyflink` import Penstock, in the program and in workers."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import penstock
from penstock.pyflink.missing import MissingName
from penstock.pyflink.names import MISSING_MODULES, MISSING_NAMES, MODULES, find_name, missing_reason, names_of
from penstock.pyflink.table_names import UNEXPORTED_NAMES

ROOT = "pyflink"


class PyFlinkModule(ModuleType):
    """A module of PyFlink whose names are looked up in Penstock when they are accessed.

    A name that Penstock does not have is a `MissingName`, so that a program may import it as long as it does not use it.
    """

    def __getattr__(self, name: str) -> Any:
        module = self.__name__.partition(".")[2]
        if name == "__version__" and not module:
            return penstock.__version__
        if name == "__all__":
            return _available_names(module)
        value = _find(module, name)
        if value is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the module by name, for functions that use it."""
        return importlib.import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_available_names(self.__name__.partition(".")[2])})


def _find(module: str, name: str) -> Any:
    """The object or placeholder for a name of a module, or None if PyFlink has no such name either."""
    path, reason = f"{ROOT}.{module}.{name}", missing_reason(module)
    if module in MODULES and name in names_of(module):
        try:
            return find_name(name, module)
        except KeyError:
            return MissingName(path, MISSING_NAMES.get(name, "is not in this version of Penstock"))
    if f"{module}.{name}" in MODULES:  # `from pyflink.table import expressions`
        return importlib.import_module(f"{ROOT}.{module}.{name}")
    for searched in UNEXPORTED_NAMES.get(module, ()):
        if name in (found := importlib.import_module(searched)).__all__:
            return getattr(found, name)
    return None if reason is None or name.startswith("__") else MissingName(path, reason)


def _available_names(module: str) -> list[str]:
    if module not in MODULES:
        return [n for searched in UNEXPORTED_NAMES.get(module, ()) for n in importlib.import_module(searched).__all__]
    available = []
    for name in names_of(module):
        try:
            find_name(name, module)
        except KeyError:
            continue
        available.append(name)
    return available


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports `pyflink` and its submodules. It comes before all other finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, module = fullname.partition(".")
        if top != ROOT:
            return None
        if module in MODULES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=_is_package(module))
        if missing_reason(module) is not None:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None  # PyFlink has no such module either

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return PyFlinkModule(spec.name, "Names of PyFlink, implemented by Penstock.")

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing, because names are looked up when they are accessed."""


def _is_package(module: str) -> bool:
    below = any(m.startswith(f"{module}.") for m in (*MODULES, *MISSING_MODULES))
    return not module or below or missing_reason(module) is not None


_FINDER = _Finder()


def is_installed() -> bool:
    """Returns whether `import pyflink` imports Penstock."""
    return _FINDER in sys.meta_path


def install() -> None:
    """Makes `import pyflink` import Penstock from now on, even if PyFlink is installed."""
    if not is_installed():
        _unload_modules()
        sys.meta_path.insert(0, _FINDER)


@contextmanager
def pyflink_modules() -> Iterator[None]:
    """Context manager in which `import pyflink` imports Penstock.

    >>> with pyflink_modules():
    ...     from pyflink.common import Row
    >>> Row.__module__
    'penstock.row'
    """
    if is_installed():
        yield
        return
    before = _unload_modules()
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)
        _unload_modules()
        sys.modules.update(before)


def _unload_modules() -> dict[str, ModuleType]:
    """Removes the modules of PyFlink from `sys.modules` and returns them."""
    loaded = sys.modules.copy()  # other threads may import meanwhile: iterating over sys.modules itself would fail
    names = [name for name in loaded if name == ROOT or name.startswith(f"{ROOT}.")]
    return {name: sys.modules.pop(name, loaded[name]) for name in names}
