"""Numbers as Java prints and parses them."""

from __future__ import annotations

import re

import numpy as np


def double_text(value: float) -> str:
    """Returns the text of a double.

    >>> [double_text(x) for x in (1.0, 0.001, 0.0001, 12345678.9, 1e7, -0.0, float("nan"))]
    ['1.0', '0.001', '1.0E-4', '1.23456789E7', '1.0E7', '-0.0', 'NaN']
    """
    return _text(repr(float(value)).replace("5e-324", "4.9e-324"))  # Java writes two digits of the least number


def float_text(value: float) -> str:
    """Returns the text of a float of 32 bits.

    >>> float_text(1.100000023841858), float_text(16777216.0)
    ('1.1', '1.6777216E7')
    """
    return _text(str(np.float32(value)).replace("1e-45", "1.4e-45"))


def _text(shortest: str) -> str:
    if shortest in ("nan", "inf", "-inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[shortest]
    sign, shortest = ("-", shortest[1:]) if shortest[0] == "-" else ("", shortest)
    mantissa, _, exponent = shortest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return f"{sign}0.0"
    point = len(whole) + int(exponent or 0)
    if whole.strip("0") == "":
        point -= len(whole) + len(fraction) - len(digits)
        point = int(exponent or 0) - (len(fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    if -3 < point <= 7:  # 0.001 <= |value| < 10^7
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        padded = digits.ljust(point, "0")
        return f"{sign}{padded[:point]}.{padded[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


_DOUBLE = re.compile(
    r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?)"
)


def parse_double(text: str) -> float | None:
    """Returns the number that Double.parseDouble reads, or None.

    >>> parse_double(" 1.5e3 "), parse_double("1d"), parse_double("1,5"), parse_double("0x1p3")
    (1500.0, 1.0, None, 8.0)
    """
    text = text.strip(_BLANKS)
    if not _DOUBLE.fullmatch(text):
        return None
    if "x" in text.lower():
        return float.fromhex(text.rstrip("dD") if "p" in text.lower() else text)
    if text.endswith(("NaN", "Infinity")):
        return float(text.replace("Infinity", "inf"))
    return float(text.rstrip("fFdD"))


_BLANKS = "".join(map(chr, range(33)))
