"""A type of stored values as plain data: what a savepoint remembers, so that it is read without the program that wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.types import TypeInformation
from penstock.types.evolution import FIRST_VERSION, UNCHANGED, Evolution


@dataclass(frozen=True, slots=True)
class Live:
    """What only a running program knows of a type."""

    type_info: TypeInformation
    evolution: Evolution = UNCHANGED
    defaults: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # of fields, as Python values
    stored_names: Mapping[str, str] = field(default_factory=dict)  # of fields whose stored name is another


@dataclass(slots=True)
class Part:
    """A field of a record."""

    name: str
    type: Shape
    optional: bool = False  # has a default, or may be left out
    omitted: list[Any] = field(default_factory=list)  # the default, where such values are not stored


@dataclass(slots=True)
class Shape:
    """A type by its kind and parts.

    >>> Shape("list", of=[Shape("int", bits=32)]).plain()
    {'kind': 'list', 'of': [{'kind': 'int', 'bits': 32}]}
    """

    kind: str  # int, float, str, ..., list, map, tuple, record, union, pickle; see docs/reference/state-types.md
    null: bool = False  # None is a value
    bits: int | None = None  # of numbers; None: as many as it takes
    of: list[Shape] = field(default_factory=list)  # an element; a key and a value; fields without names; members
    fields: list[Part] = field(default_factory=list)
    name: str = ""  # of a class
    form: str = ""  # how a record is stored: as a map by name, an array, or a row (its kind, and an array)
    named_tuple: bool = False
    tag: list[Any] = field(default_factory=list)  # of a record in a union: the name and value that tell it apart
    values: list[Any] = field(default_factory=list)  # of an enumeration
    names: list[str] = field(default_factory=list)  # of its members, in the order of `values`: keys are stored by them
    version: int = FIRST_VERSION
    live: Live | None = field(default=None, compare=False, repr=False)

    def plain(self) -> dict[str, Any]:
        """The shape as JSON has it."""
        found: dict[str, Any] = {"kind": self.kind}
        found |= {n: v for n in _SIMPLE if (v := getattr(self, n)) not in _ABSENT}
        if self.of:
            found["of"] = [s.plain() for s in self.of]
        if self.fields:
            found["fields"] = [
                {"name": f.name, "type": f.type.plain()}
                | ({"optional": True} if f.optional else {})
                | ({"omitted": f.omitted} if f.omitted else {})
                for f in self.fields
            ]
        if self.version != FIRST_VERSION:
            found["version"] = self.version
        return found

    def text(self) -> str:
        """The type as people write it.

        >>> Shape("map", of=[Shape("str"), Shape("int", bits=64, null=True)]).text()
        'map[str, LONG | None]'
        """
        return self._text() + (" | None" if self.null else "")

    def _text(self) -> str:
        if self.kind == "record":
            fields = ", ".join(f"{f.name}: {f.type.short()}" for f in self.fields)
            return f"{self.short()}({fields})"
        return self.short()

    def short(self) -> str:
        """The same with records by their name only."""
        if self.kind in ("record", "self", "enum"):
            told = self.name or ("Row" if self.form == "row" else self.kind)
            return told if self.version == FIRST_VERSION else f"{told} v{self.version}"
        if self.kind == "measures":
            return f"measures of {', '.join(self.values) or 'a count'}"
        if self.kind == "union":
            return " | ".join(s.short() for s in self.of)
        if (named := _NUMBERS.get((self.kind, self.bits))) is not None:
            return named
        of = ", ".join(s.short() + (" | None" if s.null else "") for s in self.of)
        return f"{_WORDS.get(self.kind, self.kind)}[{of}]" if of else _WORDS.get(self.kind, self.kind)


_SIMPLE = ("null", "bits", "name", "form", "named_tuple", "tag", "values", "names")
_ABSENT: tuple[Any, ...] = (False, None, "", [])
_NUMBERS: dict[tuple[str, int | None], str] = {
    ("int", 8): "BYTE",
    ("int", 16): "SHORT",
    ("int", 32): "INT",
    ("int", 64): "LONG",
    ("float", 32): "FLOAT",
}
_WORDS = {"bigint": "BIG_INT", "pickle": "no declared type"}


@dataclass(slots=True)
class StateShape:
    """The types of a state: of its values, and of a map state's keys."""

    value: Shape
    key: Shape | None = None

    def plain(self) -> dict[str, Any]:
        found = {"value": self.value.plain()}
        return found if self.key is None else found | {"key": self.key.plain()}

    def json(self) -> str:
        """The form in which a table of state keeps it.

        >>> StateShape(Shape("str")).json()
        '{"value":{"kind":"str"}}'
        """
        return msgspec.json.encode(self.plain()).decode()


def shape_of_plain(plain: Any) -> Shape:
    """The shape of what `Shape.plain` gave."""
    return msgspec.convert(plain, Shape)


def state_shape_of(plain: Any) -> StateShape:
    """The shape of what `StateShape.plain` gave, or of its JSON text."""
    return msgspec.convert(msgspec.json.decode(plain) if isinstance(plain, str) else plain, StateShape)
