"""PyFlink's public names, as scripts/read_pyflink_names.py read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "pyflink.json"

# Areas that this table does not judge yet: their names come with the layers named here.
LATER: dict[str, str] = {}


@dataclass(frozen=True)
class Name:
    """A class or a function (`member` is empty), or one of a class's methods and constants."""

    area: str
    owner: str  # a class, with the classes around it: KeyedProcessFunction.Context
    member: str = ""
    parameters: tuple[str, ...] | None = None  # of methods; see scripts/read_pyflink_names.py
    refused_there: bool = False  # PyFlink's own method always raises

    def __str__(self) -> str:
        return f"{self.owner}.{self.member}" if self.member else self.owner


@cache
def names() -> tuple[Name, ...]:
    """All names, in PyFlink's order."""
    areas = json.loads(DATA.read_text(encoding="utf-8"))
    return tuple(
        name for area, classes in areas.items() for owner, told in classes.items() for name in _of(area, owner, told)
    )


def _of(area: str, owner: str, told: dict[str, Any]) -> Iterator[Name]:
    yield Name(area, owner, parameters=tuple(told["function"]) if "function" in told else None)
    for member, method in told.get("methods", {}).items():
        parameters = None if method.get("property") else tuple(method["parameters"])
        yield Name(area, owner, member, parameters, method.get("refuses", False))
    for constant in told.get("constants", ()):
        yield Name(area, owner, constant)
    for inner, told_inner in told.get("classes", {}).items():
        yield from _of(area, f"{owner}.{inner}", told_inner)


def members(owner: str) -> list[Name]:
    """The methods and constants of a class."""
    return [name for name in names() if name.owner == owner and name.member]
