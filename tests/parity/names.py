"""The public names of PyFlink, which scripts/read_pyflink_names.py writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "pyflink.json"

# Areas that are not checked yet, with the layer that will add their names.
LATER: dict[str, str] = {}


@dataclass(frozen=True)
class Name:
    """A class or a function (with an empty `member`), or a method or constant of a class."""

    area: str
    owner: str  # a class, with the classes around it: KeyedProcessFunction.Context
    member: str = ""
    parameters: tuple[str, ...] | None = None  # of methods; see scripts/read_pyflink_names.py
    refused_there: bool = False  # PyFlink's own method always raises

    def __str__(self) -> str:
        return f"{self.owner}.{self.member}" if self.member else self.owner


@cache
def names() -> tuple[Name, ...]:
    """Returns all names, in the order of PyFlink."""
    return names_of(json.loads(DATA.read_text(encoding="utf-8")))


def names_of(areas: dict[str, dict[str, Any]]) -> tuple[Name, ...]:
    """Returns the names of areas as a script wrote them."""
    return tuple(
        name for area, classes in areas.items() for owner, data in classes.items() for name in _of(area, owner, data)
    )


def _of(area: str, owner: str, data: dict[str, Any]) -> Iterator[Name]:
    yield Name(area, owner, parameters=tuple(data["function"]) if "function" in data else None)
    for member, method in data.get("methods", {}).items():
        parameters = None if method.get("property") else tuple(method["parameters"])
        yield Name(area, owner, member, parameters, method.get("refuses", False))
    for constant in data.get("constants", ()):
        yield Name(area, owner, constant)
    for inner, inner_data in data.get("classes", {}).items():
        yield from _of(area, f"{owner}.{inner}", inner_data)


def members(owner: str) -> list[Name]:
    """Returns the methods and constants of a class."""
    return [name for name in names() if name.owner == owner and name.member]
