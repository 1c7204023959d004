"""Conversions of single values: which types can be converted to which."""

from __future__ import annotations

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
        exact = (current.bits or 64) == 64 or (saved.bits or 64) <= 16  # single precision has a mantissa of 24 bits
        return ScalarConversion(float) if exact else None
    if pair in (("int", "bigint"), ("int", "decimal")):
        return ScalarConversion(str, in_place=False)
    return ScalarConversion() if pair in _SAME_TEXT or saved.kind == current.kind else None


def _integers(saved: int | None, current: int | None) -> ScalarConversion | None:
    if current is None or (saved is not None and saved <= current):
        return ScalarConversion()
    return (
        ScalarConversion(checked=True) if saved is None and current == 64 else None
    )  # a Python int rarely needs more than 64 bits


def _enumerations(saved: Shape, current: Shape) -> ScalarConversion | None:
    if saved.kind == "enum" and current.kind == "enum":
        return ScalarConversion(checked=any(v not in current.values for v in saved.values))
    if saved.kind == "enum":
        kinds = {type(v) for v in saved.values}
        return (
            ScalarConversion()
            if (kinds == {str} and current.kind == "str") or (kinds == {int} and current.kind == "int")
            else None
        )
    return ScalarConversion(checked=True) if saved.kind in ("str", "int") else None
