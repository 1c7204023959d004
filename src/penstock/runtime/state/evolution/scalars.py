"""Conversions of single values: which types can be converted to which."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.runtime.state.evolution.shape import Shape

_SAME_TEXT = {("bigint", "decimal"), ("uuid", "str"), ("bool", "bool")}


@dataclass(frozen=True, slots=True)
class ScalarConversion:
    """How values of one type are converted to another."""

    convert: Callable[[Any], Any] | None = None  # None: both are stored alike
    checked: bool = False  # whether single values may turn out not to fit
    in_place: bool = True  # whether the decoder of the current type reads the saved values


def scalar_conversion(saved: Shape, current: Shape) -> ScalarConversion | None:
    """Returns the conversion; None if not all saved values are values of the current type.

    >>> scalar_conversion(Shape("int", bits=32), Shape("int", bits=64)), scalar_conversion(Shape("str"), Shape("int"))
    (ScalarConversion(convert=None, checked=False, in_place=True), None)
    """
    pair = (saved.kind, current.kind)
    if current.kind == "any":
        return ScalarConversion()
    if saved.kind == "any":
        return ScalarConversion(checked=True)
    if "enum" in pair:
        return _enumerations(saved, current)
    if pair == ("int", "int"):
        return _integers(saved.bits, current.bits)
    if pair == ("float", "float"):
        return ScalarConversion() if (saved.bits or 64) <= (current.bits or 64) else None
    if pair == ("int", "float"):
        if (current.bits or 64) < 64:
            return (
                ScalarConversion(float) if (saved.bits or 64) <= 16 else None
            )  # single precision has 24 bits of mantissa
        return ScalarConversion(float) if (saved.bits or 64) <= 32 else ScalarConversion(exact_float, checked=True)
    if pair in (("int", "bigint"), ("int", "decimal")):
        return ScalarConversion(str, in_place=False)
    return ScalarConversion() if pair in _SAME_TEXT or saved.kind == current.kind else None


def exact_float(number: int) -> float:
    """The float that is equal to an integer.

    >>> exact_float(2**53)
    9007199254740992.0

    Raises:
        ValueError: there is none.
    """
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if value != number:
        raise ValueError(f"{number} is no float, because floats have a precision of 53 bits")
    return value


def _integers(saved: int | None, current: int | None) -> ScalarConversion | None:
    if current is None or (saved is not None and saved <= current):
        return ScalarConversion()
    return (
        ScalarConversion(checked=True) if saved is None and current == 64 else None
    )  # a Python int rarely needs more than 64 bits


def _enumerations(saved: Shape, current: Shape) -> ScalarConversion | None:
    if saved.kind == "enum" and current.kind == "enum":
        return _members(saved, current)
    if saved.kind == "enum":
        kinds = {type(v) for v in saved.values}
        return (
            ScalarConversion()
            if (kinds == {str} and current.kind == "str") or (kinds == {int} and current.kind == "int")
            else None
        )
    return ScalarConversion(checked=True) if saved.kind in ("str", "int") else None


def renumbered_members(saved: Shape, current: Shape) -> dict[Any, Any]:
    """The new values of enumeration members that have another value now, by old value. Members are matched by name.

    >>> before = Shape("enum", names=["RED", "BLUE"], values=[1, 2])
    >>> renumbered_members(before, Shape("enum", names=["BLUE", "RED"], values=[1, 2]))
    {1: 2, 2: 1}
    """
    now = dict(zip(current.names, current.values, strict=False))
    return {
        value: now[name]
        for name, value in zip(saved.names, saved.values, strict=False)
        if name in now and now[name] != value
    }


def _members(saved: Shape, current: Shape) -> ScalarConversion | None:
    """Members are stored by value. Savepoints of earlier versions do not contain their names."""
    renumbered = renumbered_members(saved, current)
    if not renumbered:
        return ScalarConversion(checked=any(v not in current.values for v in saved.values))
    kept = {n for n in saved.names if n in current.names}
    taken = {v for n, v in zip(current.names, current.values, strict=True) if n in kept}
    removed = [v for n, v in zip(saved.names, saved.values, strict=True) if n not in kept]
    if any(v in taken for v in removed):  # a removed or renamed member, whose value is now another member's
        return None
    return ScalarConversion(
        lambda value: renumbered.get(value, value),
        checked=any(v not in current.values for v in removed),
        in_place=False,
    )
