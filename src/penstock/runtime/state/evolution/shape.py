"""Shapes: the types of stored values as plain data. A savepoint contains them, so it can be read without the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.state import StateDescriptor
from penstock.types import TypeInformation
from penstock.types.evolution import FIRST_VERSION, UNCHANGED, Evolution

COLLECTIONS = ("list", "sequence", "set", "frozenset")  # kinds with elements of one type


@dataclass(frozen=True, slots=True)
class TypeBinding:
    """What only the running program knows about a type. It is not stored."""

    type_info: TypeInformation
    evolution: Evolution = UNCHANGED
    defaults: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # of fields, as Python values
    stored_names: Mapping[str, str] = field(default_factory=dict)  # of fields that are stored under another name


@dataclass(slots=True)
class ShapeField:
    """A field of a record. The attribute names are stored."""

    name: str
    type: Shape
    optional: bool = False  # has a default, or may be absent
    omitted: list[Any] = field(default_factory=list)  # the default value, if fields with it are not stored


@dataclass(slots=True)
class Shape:
    """The kind and the parts of a type. The attribute names are stored.

    >>> Shape("list", of=[Shape("int", bits=32)]).to_builtins()
    {'kind': 'list', 'of': [{'kind': 'int', 'bits': 32}]}
    """

    kind: str  # int, float, str, ..., list, map, tuple, record, union, pickle; see docs/reference/state-types.md
    null: bool = False  # whether None is a value
    bits: int | None = None  # of numbers; None: unlimited
    of: list[Shape] = field(default_factory=list)  # an element; a key and a value; fields without names; union members
    fields: list[ShapeField] = field(default_factory=list)
    name: str = ""  # of a class
    form: str = ""  # how a record is stored: "map" (by name), "array", or "row" (row kind and array)
    named_tuple: bool = False
    tag: list[Any] = field(default_factory=list)  # of a record in a union: the tag field and its value
    values: list[Any] = field(default_factory=list)  # of an enumeration
    names: list[str] = field(default_factory=list)  # of the enumeration members, in the order of `values`
    version: int = FIRST_VERSION
    binding: TypeBinding | None = field(default=None, compare=False, repr=False)

    def to_builtins(self) -> dict[str, Any]:
        """Returns the stored form, which JSON can represent."""
        stored: dict[str, Any] = {"kind": self.kind}
        stored |= {n: v for n in _SIMPLE if (v := getattr(self, n)) not in _ABSENT}
        if self.of:
            stored["of"] = [s.to_builtins() for s in self.of]
        if self.fields:
            stored["fields"] = [
                {"name": f.name, "type": f.type.to_builtins()}
                | ({"optional": True} if f.optional else {})
                | ({"omitted": f.omitted} if f.omitted else {})
                for f in self.fields
            ]
        if self.version != FIRST_VERSION:
            stored["version"] = self.version
        return stored

    def text(self) -> str:
        """The type as text, with the fields of a record.

        >>> Shape("map", of=[Shape("str"), Shape("int", bits=64, null=True)]).text()
        'map[str, LONG | None]'
        """
        return self._text() + (" | None" if self.null else "")

    def _text(self) -> str:
        if self.kind == "record":
            # All fields of a row may be None.
            fields = [(f.name, f.type.short() if self.form == "row" else f.type.nullable_text()) for f in self.fields]
            return f"{self.short()}({', '.join(f'{name}: {text}' for name, text in fields)})"
        return self.short()

    def nullable_text(self) -> str:
        """The result of `short`, with None if it is a value of the type."""
        return self.short() + (" | None" if self.null else "")

    def short(self) -> str:
        """The type as text, with only the names of records."""
        if self.kind in ("record", "self", "enum"):
            name = self.name or ("Row" if self.form == "row" else self.kind)
            return name if self.version == FIRST_VERSION else f"{name} v{self.version}"
        if self.kind == "measures":
            return f"measures of {', '.join(self.values) or 'a count'}"
        if self.kind == "union":
            return " | ".join(s.nullable_text() for s in self.of)
        if (number := _NUMBERS.get((self.kind, self.bits))) is not None:
            return number
        of = ", ".join(s.nullable_text() for s in self.of)
        return f"{_KIND_NAMES.get(self.kind, self.kind)}[{of}]" if of else _KIND_NAMES.get(self.kind, self.kind)


_SIMPLE = ("null", "bits", "name", "form", "named_tuple", "tag", "values", "names")
_ABSENT: tuple[Any, ...] = (False, None, "", [])
_NUMBERS: dict[tuple[str, int | None], str] = {
    ("int", 8): "BYTE",
    ("int", 16): "SHORT",
    ("int", 32): "INT",
    ("int", 64): "LONG",
    ("float", 32): "FLOAT",
}
_KIND_NAMES = {"bigint": "BIG_INT", "pickle": "no declared type"}


@dataclass(slots=True)
class StateShape:
    """The types of a state: of its values, and of the keys of a map state."""

    value: Shape
    key: Shape | None = None

    def to_builtins(self) -> dict[str, Any]:
        stored = {"value": self.value.to_builtins()}
        return stored if self.key is None else stored | {"key": self.key.to_builtins()}

    def to_json(self) -> str:
        """Returns the form that is stored with a state table.

        >>> StateShape(Shape("str")).to_json()
        '{"value":{"kind":"str"}}'
        """
        return msgspec.json.encode(self.to_builtins()).decode()


class OperatorStateDescriptor(StateDescriptor):
    """Describes a state whose entries have a format of the operator. Not part of the public API.

    >>> OperatorStateDescriptor("__windows__", "times", Shape("measures", values=["sum(price)"])).shape.short()
    'measures of sum(price)'
    """

    def __init__(self, name: str, kind: str, shape: Shape, value_type: TypeInformation | None = None) -> None:
        super().__init__(name, value_type)
        self.kind = kind
        self.shape = shape  # what in the entries depends on the program


def read_shape(stored: Any) -> Shape:
    """Returns the shape of the result of `Shape.to_builtins`."""
    return msgspec.convert(stored, Shape)


def read_state_shape(stored: Any) -> StateShape:
    """Returns the shape of the result of `StateShape.to_builtins` or of its JSON text."""
    return msgspec.convert(msgspec.json.decode(stored) if isinstance(stored, str) else stored, StateShape)
