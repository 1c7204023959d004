"""Types of keys as plain data: what a key's bytes hold, which is less than its class may have."""

from __future__ import annotations

import enum
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.runtime.evolution.shape import Shape


def key_shape(shape: Shape) -> Shape:
    """The shape of a type's keys: without fields that equality does not ask for, and with the names of enumerations' members.

    >>> from dataclasses import dataclass, field
    >>> from penstock.runtime.evolution.describe import describe
    >>> from penstock.types import Types
    >>> @dataclass(frozen=True)
    ... class User:
    ...     number: int
    ...     note: str = field(default="", compare=False)
    >>> key_shape(describe(Types.of(User))).text().rpartition(".")[2]
    'User(number: int)'
    """
    known: Any = None if shape.live is None else getattr(shape.live.type_info, "python_type", None)
    compared = {f.name for f in fields(known) if f.compare} if is_dataclass(known) else None
    parts = [replace(p, type=key_shape(p.type)) for p in shape.fields if compared is None or p.name in compared]
    members = isinstance(known, type) and issubclass(known, enum.Enum)
    names = [m.name for m in sorted(known, key=lambda m: repr(m.value))] if members else shape.names
    return replace(shape, of=[key_shape(s) for s in shape.of], fields=parts, names=names)
