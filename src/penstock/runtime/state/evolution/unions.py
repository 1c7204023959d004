"""Tells which member of a union a plain value is of."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from penstock.runtime.evolution.shape import Shape

# What a plain value of a kind is in Python. msgspec takes no union in which two members look alike.
_LOOKS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "bytes": (bytes,),
    "datetime": (datetime.datetime, str),
    "map": (dict,),
    "list": (list,),
    "sequence": (list,),
    "set": (list,),
    "frozenset": (list,),
    "tuple": (list,),
    "instant": (list,),
}


def telling(members: Sequence[Shape]) -> Callable[[Any], int]:
    """Which member a value is of.

    >>> which = telling([Shape("int"), Shape("str"), Shape("list", of=[Shape("int")])])
    >>> which("a"), which(1), which([])
    (1, 0, 2)
    """
    by_type: dict[type, int] = {}
    by_tag: dict[Any, int] = {}
    tag_field = ""
    for number, member in enumerate(members):
        if member.tag:
            tag_field, by_tag[member.tag[1]] = member.tag[0], number
        for kind in _looks(member):
            by_type.setdefault(kind, number)

    def which(value: Any) -> int:
        if by_tag:
            if type(value) is dict and tag_field in value:
                return by_tag[value[tag_field]]
            if type(value) is list and value and type(value[0]) in (str, int) and value[0] in by_tag:
                return by_tag[value[0]]
        return by_type[type(value)]

    return which


def _looks(member: Shape) -> tuple[type, ...]:
    if member.kind in ("record", "self"):
        return (dict,) if member.form == "map" else (list,)
    if member.kind == "enum":
        return tuple({type(v) for v in member.values})
    return _LOOKS.get(member.kind, (str,))
