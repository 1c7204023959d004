"""Operators on numbers. Integers wrap around, decimals are exact, division by zero of exact numbers is an error."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.errors import division_by_zero
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions import temporal_arithmetic
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family, as_column
from penstock.runtime.relational.functions.numbers import CONTEXT, decimal_operation
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.common import common_numeric
from penstock.types.logical.decimals import as_decimal, product_type, quotient_type, remainder_type, sum_type
from penstock.types.logical.kinds import (
    EXACT,
    INTERVALS,
    NUMERIC,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
)

_family = Family("arithmetic")
_LONGEST = 76  # digits of Arrow's decimals of 256 bits
_DECIMAL_TYPES = {"+": sum_type, "-": sum_type, "*": product_type, "/": quotient_type, "%": remainder_type}


def _numeric_rule(operator: str) -> Any:
    def rule(call: Typing) -> LogicalType:
        if len(call) != 2:
            call.refuse(f"<NUMERIC> {operator} <NUMERIC>")
        a, b = call.types
        if operator in "+-*" and any(not isinstance(t, NUMERIC) for t in (a, b)):
            found = temporal_arithmetic.result_type(operator, call)
            if found is not None:
                return found
        if not isinstance(a, NUMERIC) or not isinstance(b, NUMERIC):
            call.refuse(f"<NUMERIC> {operator} <NUMERIC>")
        nullable = a.nullable or b.nullable
        if operator == "%":
            if isinstance(a, FloatType) or isinstance(b, FloatType):
                call.refuse("<EXACT NUMERIC> % <EXACT NUMERIC>")
            if isinstance(a, IntegerType) and isinstance(b, IntegerType):
                return b.with_nullable(nullable)
        if isinstance(a, EXACT) and isinstance(b, EXACT) and (isinstance(a, DecimalType) or isinstance(b, DecimalType)):
            x, y = as_decimal(a), as_decimal(b)
            assert x is not None
            assert y is not None
            call.cast(0, x)
            call.cast(1, y)
            if operator == "%" and x.scale == 0 and y.scale == 0:
                return b.with_nullable(nullable)
            return _DECIMAL_TYPES[operator](x, y)
        # FLOAT and DOUBLE count as equally precise here, so the first one wins.
        both = isinstance(a, FloatType) and isinstance(b, FloatType)
        found = a if both else common_numeric(a.with_nullable(True), b.with_nullable(True))
        call.cast(0, found)
        call.cast(1, found)
        return found.with_nullable(nullable)

    return rule


def _exact(operation: Any, call: CallContext, a: Value, b: Value) -> pa.Array:
    assert isinstance(call.type, DecimalType)
    return decimal_operation(operation, as_column(call, a).to_pylist(), as_column(call, b).to_pylist(), call.type)


def _sums(name: str, kernel: Any, operation: Any, documentation: str) -> None:
    def compute(call: CallContext, a: Value, b: Value) -> Value:
        if any(not isinstance(t, NUMERIC) for t in call.argument_types):
            return temporal_arithmetic.compute(name, call, a, b)
        if isinstance(call.type, DecimalType):
            x, y = call.argument_types
            assert isinstance(x, DecimalType)
            assert isinstance(y, DecimalType)
            plain = x.precision + y.precision + 1 if name == "*" else max(x.precision - x.scale, y.precision - y.scale)
            plain = plain if name == "*" else plain + max(x.scale, y.scale) + 1
            if plain > 38:
                return _exact(operation, call, a, b)
        return kernel(a, b)

    _family.columns(name, _numeric_rule(name), documentation)(compute)


_sums("+", pc.add, CONTEXT.add, "a + b")
_sums("-", pc.subtract, CONTEXT.subtract, "a - b")
_sums("*", pc.multiply, CONTEXT.multiply, "a * b")


def _divides_exactly(arguments: Sequence[LogicalType], result: LogicalType) -> bool:
    return not isinstance(result, FloatType)


def _quotient(x: decimal.Decimal, y: decimal.Decimal) -> decimal.Decimal:
    if not y:
        raise division_by_zero()
    return CONTEXT.divide(x, y)


@_family.columns("/", _numeric_rule("/"), "a / b; integers are truncated", raises=_divides_exactly)
def divide(call: CallContext, a: Value, b: Value) -> Value:
    if isinstance(call.type, DecimalType):
        found = _decimal_quotient(call.type, a, b)
        return _exact(_quotient, call, a, b) if found is None else found
    if isinstance(call.type, FloatType):
        return pc.divide(a, b)
    return _integer_quotient(a, b)


def _decimal_quotient(wanted: DecimalType, a: Value, b: Value) -> Value | None:
    """Divides with one digit more than is wanted, and rounds it. None if Arrow's decimals are too short for that."""
    arrow_scale = a.type.scale + b.type.precision - b.type.scale + 1  # of Arrow's quotient, cut off behind it
    more = max(0, wanted.scale + 1 - arrow_scale, 4 - arrow_scale)
    whole = a.type.precision - a.type.scale + b.type.scale
    if whole + arrow_scale + more > _LONGEST or a.type.precision + more > _LONGEST:
        return None
    dividend = pc.cast(a, pa.decimal256(a.type.precision + more, a.type.scale + more))
    try:
        quotient = pc.divide(dividend, pc.cast(b, pa.decimal256(b.type.precision, b.type.scale)))
    except pa.ArrowInvalid as error:
        raise division_by_zero() from error
    try:
        return pc.cast(pc.round(quotient, wanted.scale, round_mode="half_towards_infinity"), arrow_type(wanted))
    except pa.ArrowInvalid:  # a result has too many digits and becomes null
        return None


def _integer_quotient(a: Value, b: Value) -> Value:
    try:
        quotient = pc.divide(a, b)
    except pa.ArrowInvalid as error:
        raise division_by_zero() from error
    # Arrow makes 0 of the least integer divided by -1, which wraps around to itself.
    return pc.if_else(pc.equal(b, pa.scalar(-1, b.type)), pc.negate(a), quotient) if _has_minus_one(b) else quotient


def _has_minus_one(divisor: Value) -> bool:
    if isinstance(divisor, pa.Scalar):
        return bool(divisor.as_py() == -1)
    return bool(pc.any(pc.equal(divisor, pa.scalar(-1, divisor.type))).as_py())


def _remainder(x: decimal.Decimal, y: decimal.Decimal) -> decimal.Decimal:
    if not y:
        raise division_by_zero()
    return CONTEXT.remainder(x, y)


@_family.columns("% MOD", _numeric_rule("%"), "the remainder of a / b, with the sign of a", raises=True)
def remainder(call: CallContext, a: Value, b: Value) -> Value:
    if isinstance(call.type, DecimalType):
        return _exact(_remainder, call, a, b)
    if pa.types.is_decimal(a.type):  # whole decimals; the result has the type of the divisor
        pairs = zip(as_column(call, a).to_pylist(), as_column(call, b).to_pylist(), strict=True)
        found = [None if x is None or y is None else int(_remainder(x, y)) for x, y in pairs]
        return pa.array(found, arrow_type(call.type))
    wide = a.type if a.type.bit_width >= b.type.bit_width else b.type
    x, y = pc.cast(a, wide), pc.cast(b, wide)
    return pc.cast(pc.subtract(x, pc.multiply(_integer_quotient(x, y), y)), arrow_type(call.type), safe=False)


def _signed(call: Typing) -> LogicalType:
    if not isinstance(call.types[0], (*NUMERIC, *INTERVALS)):
        call.refuse("<NUMERIC> or <INTERVAL>")
    return call.types[0]


@_family.columns("NEGATE", _signed, "-a")
def negate(call: CallContext, a: Value) -> Value:
    if isinstance(call.type, INTERVALS):
        whole = pc.negate(pc.cast(a, pa.int64()))
        return pc.cast(pc.cast(whole, pa.int64()), arrow_type(call.type))
    return pc.negate(a)


@_family.columns("POSITIVE", _signed, "+a")
def positive(call: CallContext, a: Value) -> Value:
    return a
