"""Single values: which of their types can become which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.runtime.evolution.shape import Shape

_SAME_TEXT = {("bigint", "decimal"), ("uuid", "str"), ("bool", "bool")}


@dataclass(frozen=True, slots=True)
class Widening:
    """How values of one type become values of another."""

    change: Callable[[Any], Any] | None = None  # None: they are stored alike
    checked: bool = False  # a single value may not fit
    in_place: bool = True  # the reader takes what is stored


def widening(saved: Shape, wanted: Shape) -> Widening | None:
    """None: not all values of the one are values of the other.

    >>> widening(Shape("int", bits=32), Shape("int", bits=64)), widening(Shape("str"), Shape("int"))
    (Widening(change=None, checked=False, in_place=True), None)
    """
    pair = (saved.kind, wanted.kind)
    if wanted.kind == "any":
        return Widening()
    if saved.kind == "any":
        return Widening(checked=True)
    if "enum" in pair:
        return _enumeration(saved, wanted)
    if pair == ("int", "int"):
        return _whole(saved.bits, wanted.bits)
    if pair == ("float", "float"):
        return Widening() if (saved.bits or 64) <= (wanted.bits or 64) else None
    if pair == ("int", "float"):
        exact = (wanted.bits or 64) == 64 or (saved.bits or 64) <= 16  # single precision has 24 bits for digits
        return Widening(float) if exact else None
    if pair in (("int", "bigint"), ("int", "decimal")):
        return Widening(str, in_place=False)
    return Widening() if pair in _SAME_TEXT or saved.kind == wanted.kind else None


def _whole(saved: int | None, wanted: int | None) -> Widening | None:
    if wanted is None or (saved is not None and saved <= wanted):
        return Widening()
    return Widening(checked=True) if saved is None and wanted == 64 else None  # Python's int, seldom beyond 64 bits


def _enumeration(saved: Shape, wanted: Shape) -> Widening | None:
    if saved.kind == "enum" and wanted.kind == "enum":
        return Widening(checked=any(v not in wanted.values for v in saved.values))
    if saved.kind == "enum":
        kinds = {type(v) for v in saved.values}
        return (
            Widening()
            if (kinds == {str} and wanted.kind == "str") or (kinds == {int} and wanted.kind == "int")
            else None
        )
    return Widening(checked=True) if saved.kind in ("str", "int") else None
