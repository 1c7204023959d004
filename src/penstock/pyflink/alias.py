"""Makes `import pyflink` give Penstock's classes: in the program, and in workers that import the user's modules."""

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
from penstock.errors import UnsupportedOperation
from penstock.pyflink.names import MISSING_MODULES, MISSING_NAMES, MODULES, PARTIAL_MODULES, found, names_of

ROOT = "pyflink"
_PAGE = "docs/reference/parity.md lists what Penstock has"


class NotInPenstock(UnsupportedOperation, ImportError):  # noqa: N818 - named as UnsupportedOperation is
    """A module or name of PyFlink's that Penstock does not have. Programs that try an import can catch it as one."""


class PyFlinkModule(ModuleType):
    """A module of PyFlink's whose names are looked up in Penstock when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        module = self.__name__.partition(".")[2]
        if name == "__version__" and not module:
            return penstock.__version__
        if name == "__all__":
            return _present(module)
        if module in PARTIAL_MODULES and name not in names_of(module) and not name.startswith("_"):
            raise NotInPenstock("NOT_IN_PENSTOCK", f"{self.__name__}.{name} {PARTIAL_MODULES[module]}. {_PAGE}.")
        if name not in names_of(module):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)
        try:
            value = found(name)
        except KeyError:
            reason = MISSING_NAMES.get(name, "is not in this version of Penstock")
            raise NotInPenstock("NOT_IN_PENSTOCK", f"{self.__name__}.{name} {reason}. {_PAGE}.") from None
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        """A function that uses the module names it, and finds it again where it runs."""
        return importlib.import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_present(self.__name__.partition(".")[2])})


def _present(module: str) -> list[str]:
    present = []
    for name in names_of(module):
        try:
            found(name)
        except KeyError:
            continue
        present.append(name)
    return present


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `pyflink` and all below it, before any other finder is asked."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, module = fullname.partition(".")
        if top != ROOT:
            return None
        if module in MODULES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=_is_package(module))
        parts = module.split(".")
        if parts[0] in PARTIAL_MODULES:
            raise NotInPenstock("NOT_IN_PENSTOCK", f"{fullname} {PARTIAL_MODULES[parts[0]]}. {_PAGE}.")
        for missing in (".".join(parts[:n]) for n in range(1, len(parts) + 1)):
            if missing in MISSING_MODULES:
                raise NotInPenstock("NOT_IN_PENSTOCK", f"{ROOT}.{missing} {MISSING_MODULES[missing]}. {_PAGE}.")
        return None  # PyFlink has no such module either

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return PyFlinkModule(spec.name, "PyFlink's names, as Penstock has them.")

    def exec_module(self, module: ModuleType) -> None:
        """Names are looked up later."""


def _is_package(module: str) -> bool:
    return (
        not module or any(m.startswith(f"{module}.") for m in (*MODULES, *MISSING_MODULES)) or module in PARTIAL_MODULES
    )


_FINDER = _Finder()


def installed() -> bool:
    """Whether `import pyflink` gives Penstock's classes."""
    return _FINDER in sys.meta_path


def install() -> None:
    """From now on `import pyflink` gives Penstock's classes, also where a real PyFlink is installed."""
    if not installed():
        _forget()
        sys.meta_path.insert(0, _FINDER)


@contextmanager
def pyflink_modules() -> Iterator[None]:
    """Inside, `import pyflink` gives Penstock's classes.

    >>> with pyflink_modules():
    ...     from pyflink.common import Row
    >>> Row.__module__
    'penstock.row'
    """
    if installed():
        yield
        return
    before = _forget()
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)
        _forget()
        sys.modules.update(before)


def _forget() -> dict[str, ModuleType]:
    """Takes PyFlink's modules out of those that were imported."""
    names = [name for name in sys.modules if name == ROOT or name.startswith(f"{ROOT}.")]
    return {name: sys.modules.pop(name) for name in names}
