"""Lookup of PyFlink classes in Penstock."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import penstock

# Layers that users do not import from.
_INNER = ("cli", "engine", "plan", "runtime", "spark", "testing", "__main__")


@cache
def modules() -> tuple[ModuleType, ...]:
    """Returns the public modules of Penstock, from the outermost to the innermost."""
    found = [penstock]
    for info in pkgutil.walk_packages(penstock.__path__, "penstock."):
        if info.name.split(".")[1] not in _INNER:
            found.append(importlib.import_module(info.name))
    return tuple(sorted(found, key=lambda module: module.__name__.count(".")))


def find(owner: str) -> Any:
    """Returns the class, or None."""
    outer, *inner = owner.split(".")
    module = module_of(outer)
    found = None if module is None else getattr(module, outer)
    for name in inner:
        found = getattr(found, name, None)
    return found


@cache
def module_of(outer: str) -> ModuleType | None:
    """Returns the module from which a class or function is imported."""
    return next((m for m in modules() if isinstance(getattr(m, outer, None), (type, FunctionType))), None)
