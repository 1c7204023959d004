"""Mathematical functions."""

from __future__ import annotations

import decimal
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import MISSING, CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family, as_column, by_value
from penstock.runtime.relational.functions.numbers import fitted
from penstock.runtime.relational.functions.signatures import (
    always_nullable,
    double,
    integer,
    like_first,
    matches,
    takes,
    text,
)
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.decimals import rounded_type
from penstock.types.logical.kinds import BYTES, DOUBLE, DecimalType, FloatType, IntegerType, LogicalType

_family = Family("mathematics")


def _doubles(call: Typing) -> LogicalType:
    for position in range(len(call)):
        call.cast(position, DOUBLE)
    return double(call)


_one = takes("numeric", returns=_doubles)
_two = takes("numeric, numeric", returns=_doubles)


def _numpy(name: str, function: Callable[..., Any], documentation: str, rule: Any = _one) -> None:
    def kernel(call: CallContext, *arguments: Value) -> Value:
        with np.errstate(all="ignore"):
            columns = [as_column(call, a) for a in arguments]
            values = [c.to_numpy(zero_copy_only=False) for c in columns]
            result = pa.array(function(*values), pa.float64())
        for column in columns:
            if column.null_count:
                result = pc.if_else(column.is_valid(), result, pa.scalar(None, pa.float64()))
        return result

    _family.columns(name, rule, documentation)(kernel)


_numpy("SQRT", np.sqrt, "the square root")
_numpy("EXP", np.exp, "e to the power of a number")
_numpy("LN", np.log, "the natural logarithm")
_numpy("LOG10", np.log10, "the logarithm to base 10")
_numpy("LOG2", lambda x: np.log(x) / math.log(2), "the logarithm to base 2")
_numpy("SIN", np.sin, "the sine")
_numpy("COS", np.cos, "the cosine")
_numpy("TAN", np.tan, "the tangent")
_numpy("COT", lambda x: 1 / np.tan(x), "the cotangent")
_numpy("ASIN", np.arcsin, "the arc sine")
_numpy("ACOS", np.arccos, "the arc cosine")
_numpy("ATAN", np.arctan, "the arc tangent")
_numpy("ATAN2", np.arctan2, "the angle of a point (y, x)", _two)
_numpy("SINH", np.sinh, "the hyperbolic sine")
_numpy("COSH", np.cosh, "the hyperbolic cosine")
_numpy("TANH", np.tanh, "the hyperbolic tangent")
_numpy("DEGREES", np.degrees, "radians as degrees")
_numpy("RADIANS", lambda x: x / 180 * math.pi, "degrees as radians")
_numpy("POWER", np.power, "a number to the power of another", _two)


def _logarithm(*values: Any) -> Any:
    return np.log(values[0]) if len(values) == 1 else np.log(values[1]) / np.log(values[0])


_numpy("LOG", _logarithm, "the natural logarithm, or LOG(base, x)", takes("numeric[, numeric]", returns=_doubles))


def _constant(name: str, value: float, documentation: str) -> None:
    def rule(call: Typing) -> LogicalType:
        if len(call):
            call.refuse("no arguments")
        return DOUBLE.with_nullable(False)

    _family.columns(name, rule, documentation)(lambda call: pa.scalar(value, pa.float64()))


_constant("PI", math.pi, "the number pi")
_constant("E", math.e, "the number e")


@_family.columns("ABS", takes("numeric", returns=like_first), "the absolute value")
def absolute(call: CallContext, a: Value) -> Value:
    return pc.abs(a)


@_family.columns("SIGN", takes("numeric", returns=like_first), "-1, 0 or 1")
def sign(call: CallContext, a: Value) -> Value:
    if isinstance(call.type, DecimalType):
        values = [
            None if v is None else fitted(decimal.Decimal(int(v.compare(0))), call.type)
            for v in as_column(call, a).to_pylist()
        ]
        return pa.array(values, arrow_type(call.type))
    return pc.sign(a).cast(arrow_type(call.type))


def _whole(call: Typing) -> LogicalType:
    first = call.types[0]
    if isinstance(first, DecimalType):
        return DecimalType(first.precision, 0, nullable=first.nullable)
    return first


def _floor_or_ceil(kernel: Any, direction: str) -> Any:
    def compute(call: CallContext, a: Value) -> Value:
        first = call.argument_types[0]
        if isinstance(first, IntegerType):
            return a
        if isinstance(first, DecimalType):
            assert isinstance(call.type, DecimalType)
            values = [
                None if v is None else fitted(v.to_integral_value(direction), call.type)
                for v in as_column(call, a).to_pylist()
            ]
            return pa.array(values, arrow_type(call.type))
        return kernel(a)

    return compute


floor_number = _floor_or_ceil(pc.floor, decimal.ROUND_FLOOR)
ceil_number = _floor_or_ceil(pc.ceil, decimal.ROUND_CEILING)
whole_number_rule = takes("numeric", returns=_whole)


def _rounded(call: Typing) -> LogicalType:
    first = call.types[0]
    nullable = call.any_nullable
    if not isinstance(first, DecimalType):
        return first.with_nullable(nullable)
    if len(call) == 1:
        return rounded_type(first, 0).with_nullable(nullable)
    digits = call.literals[1]
    if digits is MISSING:
        return first.with_nullable(nullable)
    if digits is None:
        return first.with_nullable(True)
    return rounded_type(first, digits).with_nullable(nullable)


_rounding = takes("numeric[, int]", returns=_rounded)


def _round(mode: str) -> Any:
    def compute(call: CallContext, value: Any, digits: int = 0) -> Any:
        if isinstance(value, float):
            if not math.isfinite(value):
                return value
            single = isinstance(call.type, FloatType) and call.type.bits == 32
            exact = decimal.Decimal(repr(value)) if not single or mode == decimal.ROUND_DOWN else decimal.Decimal(value)
            return float(_to_digits(exact, digits, mode))
        if isinstance(value, int):
            if digits >= 0:
                return value
            result = int(_to_digits(decimal.Decimal(value), digits, mode))
            assert isinstance(call.type, IntegerType)
            half = 1 << call.type.bits - 1
            return (result + half) % (2 * half) - half
        assert isinstance(call.type, DecimalType)
        return fitted(_to_digits(value, digits, mode), call.type)

    return compute


def _to_digits(value: decimal.Decimal, digits: int, mode: str) -> decimal.Decimal:
    if digits >= 0 and -value.as_tuple().exponent <= digits:  # type: ignore[operator]
        return value
    unit = decimal.Decimal(1).scaleb(-digits)
    return (
        value.quantize(unit, rounding=mode, context=decimal.Context(prec=400))
        if digits >= 0
        else ((value / unit).quantize(decimal.Decimal(1), rounding=mode, context=decimal.Context(prec=400)) * unit)
    )


_family.values("ROUND", _rounding, "a number rounded half up to a number of digits", context=True)(
    _round(decimal.ROUND_HALF_UP)
)
_family.values("TRUNCATE", _rounding, "a number cut off behind a number of digits", context=True)(
    _round(decimal.ROUND_DOWN)
)


@_family.values("BIN", takes("int", returns=text), "an integer as binary digits")
def binary_digits(value: int) -> str:
    return format(value & 0xFFFFFFFFFFFFFFFF if value < 0 else value, "b")


def _hex_rule(call: Typing) -> LogicalType:
    if not matches("int")(call) and not matches("text")(call):
        call.refuse("(int) or (text)")
    return text(call)


@_family.values("HEX", _hex_rule, "an integer or the bytes of a text as hexadecimal digits")
def hexadecimal(value: int | str) -> str:
    if isinstance(value, str):
        return value.encode().hex().upper()
    return format(value & 0xFFFFFFFFFFFFFFFF if value < 0 else value, "X")


@_family.values(
    "UNHEX", takes("text", returns=always_nullable(BYTES)), "the bytes of hexadecimal digits, null if there are others"
)
def unhex(value: str) -> bytes | None:
    try:
        return bytes.fromhex(("0" if len(value) % 2 else "") + value) if value.isalnum() or value == "" else None
    except ValueError:
        return None


# --------------------------------------------------------------------------------------------------- chance


@_family.columns(
    "RAND",
    takes("[numeric]", returns=double),
    "a random number from 0 to 1; with a seed, the same sequence",
    deterministic=False,
)
def rand(call: CallContext, seed: Value | None = None) -> Value:
    if seed is None:
        return pa.array(np.random.default_rng().random(call.length))
    return _seeded(call, seed, lambda chance: chance.random(), call.type)


@_family.columns(
    "RAND_INTEGER",
    takes("numeric[, numeric]", returns=integer),
    "a random integer below a bound; with a seed first",
    deterministic=False,
)
def rand_integer(call: CallContext, first: Value, bound: Value | None = None) -> Value:
    if bound is None:
        draw = by_value(lambda n: random.randrange(int(n)) if n and n > 0 else None, strict=True, deterministic=False)
        return draw(call, first)
    limits = as_column(call, bound).to_pylist()
    seeds = as_column(call, first).to_pylist()
    found = [
        None if s is None or b is None else JavaRandom(int(s)).integer(int(b))
        for s, b in zip(seeds, limits, strict=True)
    ]
    return pa.array(found, pa.int32())


def _seeded(call: CallContext, seed: Value, draw: Callable[[Any], Any], type_: LogicalType) -> pa.Array:
    generators: dict[int, JavaRandom] = {}
    results: list[Any] = []
    for value in as_column(call, seed).to_pylist():
        if value is None:
            results.append(None)
            continue
        chance = generators.setdefault(int(value), JavaRandom(int(value)))
        results.append(draw(chance))
    return pa.array(results, arrow_type(type_))


class JavaRandom:
    """The generator of java.util.Random, so that a seed yields the numbers that Flink yields.

    >>> JavaRandom(1).random()
    0.7308781907032909
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def _bits(self, count: int) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        found = self._state >> (48 - count)
        return found - (1 << count) if found >= 1 << (count - 1) and count == 32 else found

    def random(self) -> float:
        return ((self._bits(26) << 27) + self._bits(27)) * 2.0**-53

    def integer(self, bound: int) -> int | None:
        if bound <= 0:
            return None
        if bound & -bound == bound:
            return bound * self._bits(31) >> 31
        while True:
            bits = self._bits(31)
            value = bits % bound
            if bits - value + bound - 1 < 1 << 31:
                return value
