"""Selects the union member that a plain value belongs to."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from penstock.runtime.state.evolution.shape import Shape

# Python types of the plain values of a kind. msgspec accepts no union of members with the same plain type.
_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
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


def member_selector(members: Sequence[Shape]) -> Callable[[Any], int]:
    """Returns a function that returns the index of the member for a value.

    >>> select = member_selector([Shape("int"), Shape("str"), Shape("list", of=[Shape("int")])])
    >>> select("a"), select(1), select([])
    (1, 0, 2)
    """
    by_type: dict[type, int] = {}
    by_tag: dict[Any, int] = {}
    tag_field = ""
    for number, member in enumerate(members):
        if member.tag:
            tag_field, by_tag[member.tag[1]] = member.tag[0], number
        for kind in _plain_types(member):
            by_type.setdefault(kind, number)

    def select(value: Any) -> int:
        if by_tag:
            if type(value) is dict and tag_field in value:
                return by_tag[value[tag_field]]
            if type(value) is list and value and type(value[0]) in (str, int) and value[0] in by_tag:
                return by_tag[value[0]]
        return by_type[type(value)]

    return select


def _plain_types(member: Shape) -> tuple[type, ...]:
    if member.kind in ("record", "self"):
        return (dict,) if member.form == "map" else (list,)
    if member.kind == "enum":
        return tuple({type(v) for v in member.values})
    return _PLAIN_TYPES.get(member.kind, (str,))
