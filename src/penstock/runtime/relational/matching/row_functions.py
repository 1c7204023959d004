"""Expressions and aggregates as Python functions of single rows, for conditions that read a partial match.

A partial match grows row by row, so its condition cannot be evaluated by columns. For a single row, Python is many times faster
than the kernels of columns. Only what has exactly the same results is here; for the rest the kernels are used.
"""

from __future__ import annotations

import decimal
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.kinds import (
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    TimestampType,
)

Values = Sequence[Any]
RowFunction = Callable[[Values], Any]
_PLAIN = (BooleanType, CharType, DateType, DecimalType, FloatType, IntegerType, TimestampType)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def row_function(expression: Expression) -> RowFunction | None:
    """Returns an expression as a function of the values of the columns, or None if the kernels must compute it.

    >>> from penstock.types.logical.kinds import BOOLEAN, INT
    >>> less = row_function(Call("<", (Column(0, INT), Literal(3, INT)), BOOLEAN))
    >>> less([2]), less([3]), less([None])
    (True, False, None)
    """
    if isinstance(expression, Column):
        return operator.itemgetter(expression.index)
    if isinstance(expression, Literal):
        value = expression.value
        return (lambda values: value) if isinstance(expression.type, _PLAIN) else None
    arguments = [row_function(argument) for argument in expression.arguments]
    known = [f for f in arguments if f is not None]
    if len(known) < len(arguments):
        return None
    return _call(expression, known)


def _call(call: Call, arguments: list[RowFunction]) -> RowFunction | None:
    types = [argument.type for argument in call.arguments]
    match call.function:
        case "AND":
            return _logic(arguments, False)
        case "OR":
            return _logic(arguments, True)
        case "NOT":
            [inner] = arguments
            return lambda values: None if (found := inner(values)) is None else not found
        case "IS_NULL":
            [inner] = arguments
            return lambda values: inner(values) is None
        case "IS_NOT_NULL":
            [inner] = arguments
            return lambda values: inner(values) is not None
        case "CAST":
            return _cast(arguments[0], types[0], call.type)
    if call.function in _COMPARISONS and all(isinstance(t, _PLAIN) for t in types):
        return _binary(_COMPARISONS[call.function], *arguments)
    if (
        call.function in _ARITHMETIC
        and len(arguments) == 2
        and all(isinstance(t, IntegerType) for t in (*types, call.type))
    ):
        assert isinstance(call.type, IntegerType)
        return _wrapped(_binary(_ARITHMETIC[call.function], *arguments), call.type.bits)
    return None


def _binary(apply: Callable[[Any, Any], Any], left: RowFunction, right: RowFunction) -> RowFunction:
    def evaluate(values: Values) -> Any:
        a, b = left(values), right(values)
        return None if a is None or b is None else apply(a, b)

    return evaluate


def _wrapped(inner: RowFunction, bits: int) -> RowFunction:
    """Integers overflow as in Java."""
    half, whole = 1 << (bits - 1), 1 << bits

    def evaluate(values: Values) -> Any:
        found = inner(values)
        if found is None or -half <= found < half:
            return found
        return (found + half) % whole - half

    return evaluate


def _logic(arguments: list[RowFunction], decisive: bool) -> RowFunction:
    def evaluate(values: Values) -> Any:
        unknown = False
        for argument in arguments:
            found = argument(values)
            if found is decisive:
                return decisive
            unknown = unknown or found is None
        return None if unknown else not decisive

    return evaluate


def _cast(inner: RowFunction, source: LogicalType, target: LogicalType) -> RowFunction | None:
    """Returns casts that change no value: to a wider type."""
    match source, target:
        case IntegerType(), IntegerType() if target.bits >= source.bits:
            return inner
        case IntegerType(), DecimalType() if target.precision - target.scale >= source.DIGITS[source.bits]:
            return lambda values: None if (found := inner(values)) is None else decimal.Decimal(found)
        case DecimalType(), DecimalType() if (
            target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        ):
            return inner
        case CharType(), CharType() if target.varying and target.length >= source.length:
            return inner
        case IntegerType(), FloatType() if target.bits == 64 and source.bits <= 32:
            return lambda values: None if (found := inner(values)) is None else float(found)
    return inner if source.with_nullable(True) == target.with_nullable(True) else None


def aggregate_function(call: AggregateCall) -> Callable[[Sequence[Values]], Any] | None:
    """Returns an aggregate as a function of rows, or None if the kernels must compute it."""
    if call.filter is not None or call.distinct:
        return None
    if call.function == "COUNT":
        if not call.arguments:
            return len
        counted = call.arguments[0]
        return lambda rows: sum(1 for row in rows if row[counted] is not None)
    if len(call.arguments) != 1:
        return None
    [place] = call.arguments
    [type_] = call.argument_types
    if call.function in ("MIN", "MAX") and isinstance(type_, IntegerType | TimestampType | DateType):
        best: Callable[..., Any] = min if call.function == "MIN" else max
        return lambda rows: best(_present(rows, place), default=None)
    if call.function in ("SUM", "AVG") and isinstance(type_, IntegerType) and isinstance(call.type, IntegerType):
        return _sum(place, call.function == "AVG", call.type.bits)
    return None


def _present(rows: Iterable[Values], place: int) -> Iterable[Any]:
    return (value for row in rows if (value := row[place]) is not None)


def _sum(place: int, average: bool, bits: int) -> Callable[[Sequence[Values]], Any]:
    half, whole, long = 1 << (bits - 1), 1 << bits, 1 << 63

    def evaluate(rows: Sequence[Values]) -> Any:
        values = list(_present(rows, place))
        if not values:
            return None
        total = (sum(values) + long) % (2 * long) - long
        if average:
            total = abs(total) // len(values) * (-1 if total < 0 else 1)  # towards zero
        return (total + half) % whole - half

    return evaluate
