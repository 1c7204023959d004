"""Texts with placeholders, as String.format of Java: %d, %05.2f, %-10s, %x, %,d and %2$s."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence
from typing import Any

from penstock.runtime.relational.java.numbers import double_text, float_text
from penstock.types.logical.kinds import DecimalType, FloatType, LogicalType

_PLACEHOLDER = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


class _Refused(Exception):  # noqa: N818 - never leaves this module
    pass


def format_text(pattern: str, values: Sequence[Any], types: Sequence[LogicalType] = ()) -> str | None:
    """Returns the formatted text, None if the pattern and the values do not fit.

    >>> format_text("%s has %05.1f|%-4d|%x", ["a", 2.25, 7, 255])
    'a has 002.3|7   |ff'
    """
    position = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal position
        index, flags, width, precision, kind = match.groups()
        if kind == "%":
            return _wide("%", flags, width)
        if kind == "n":
            return "\n"
        if index is None:
            number, position = position, position + 1
        else:
            number = int(index) - 1
        if number >= len(values):
            raise _Refused
        type_ = types[number] if number < len(types) else None
        return _wide(_converted(values[number], kind, flags, precision, type_, width), flags, width)

    if re.search("%", _PLACEHOLDER.sub("", pattern)):
        return None
    try:
        return _PLACEHOLDER.sub(replaced, pattern)
    except _Refused:
        return None


def _wide(text: str, flags: str, width: str | None) -> str:
    if width is None:
        return text
    return text.ljust(int(width)) if "-" in flags else text.rjust(int(width))


def _converted(
    value: Any, kind: str, flags: str, precision: str | None, type_: LogicalType | None, width: str | None
) -> str:
    lower = kind.lower()
    if lower not in "bhscdoxefga":
        raise _Refused
    if value is None:
        text = "false" if lower == "b" else "null"
    elif lower == "b":
        text = "true" if not isinstance(value, bool) or value else "false"
    elif lower == "s":
        text = _plain(value, type_)
    elif lower == "c":
        if isinstance(value, bool) or not isinstance(value, int):
            raise _Refused
        text = chr(value)
    elif lower in "dox":
        if isinstance(value, bool) or not isinstance(value, int):
            raise _Refused
        return _integer(value, kind, flags, width)
    elif lower in "efg":
        if not isinstance(value, float | decimal.Decimal):
            raise _Refused
        return _real(value, kind, flags, 6 if precision is None else int(precision), width)
    else:
        raise _Refused
    if precision is not None:
        text = text[: int(precision)]
    return text.upper() if kind.isupper() else text


def _plain(value: Any, type_: LogicalType | None) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if isinstance(type_, FloatType) and type_.bits == 32 else double_text(value)
    return format(value, "f") if isinstance(type_, DecimalType) else str(value)


def _signed(digits: str, negative: bool, flags: str, width: str | None) -> str:
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    if "(" in flags and negative:
        return f"({digits})"
    if "0" in flags and width is not None:
        digits = digits.rjust(int(width) - len(sign), "0")
    return sign + digits


def _integer(value: int, kind: str, flags: str, width: str | None) -> str:
    if kind == "d":
        digits = f"{abs(value):,}" if "," in flags else str(abs(value))
        return _signed(digits, value < 0, flags, width)
    bits = 64 if not -(2**31) <= value < 2**31 else 32
    digits = format(value & ((1 << bits) - 1) if value < 0 else value, "o" if kind == "o" else "x")
    if "#" in flags:
        digits = ("0" if kind == "o" else "0x") + digits
    digits = digits.rjust(int(width), "0") if "0" in flags and width is not None else digits
    return digits.upper() if kind == "X" else digits


def _real(value: Any, kind: str, flags: str, precision: int, width: str | None) -> str:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    exact = decimal.Decimal(double_text(value)) if isinstance(value, float) else value
    if kind.lower() == "e":
        mantissa, _, exponent = f"{abs(float(exact)):.{precision}e}".partition("e")
        digits = f"{mantissa}e{exponent}"
    else:
        unit = decimal.Decimal(1).scaleb(-precision)
        rounded = abs(exact).quantize(unit, rounding=decimal.ROUND_HALF_UP, context=decimal.Context(prec=400))
        digits = format(rounded, ",f" if "," in flags else "f")
    digits = digits.upper() if kind.isupper() else digits
    return _signed(digits, exact < 0 or (isinstance(value, float) and str(value).startswith("-")), flags, width)
