"""Where Penstock has a class of PyFlink's."""

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
    """Penstock's public modules, the nearest to the user first."""
    found = [penstock]
    for info in pkgutil.walk_packages(penstock.__path__, "penstock."):
        if info.name.split(".")[1] not in _INNER:
            found.append(importlib.import_module(info.name))
    return tuple(sorted(found, key=lambda module: module.__name__.count(".")))


def find(owner: str) -> Any:
    """The class, or None."""
    outer, *inner = owner.split(".")
    place = place_of(outer)
    found = None if place is None else getattr(place, outer)
    for name in inner:
        found = getattr(found, name, None)
    return found


@cache
def place_of(outer: str) -> ModuleType | None:
    """The module to import a class or function from."""
    return next((m for m in modules() if isinstance(getattr(m, outer, None), (type, FunctionType))), None)
