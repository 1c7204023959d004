"""Comparisons. Operands get a common type first; text is compared by code points, without padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.functions.definition import CallContext, TypeRule, Typing
from penstock.runtime.relational.functions.kernels import Family, as_column
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import (
    BOOLEAN,
    COLLECTIONS,
    DATETIME,
    INTERVALS,
    NUMERIC,
    STRING,
    BooleanType,
    CharType,
    DateType,
    FloatType,
    LogicalType,
    MapType,
    NullType,
    TimestampType,
)

_family = Family("comparison")


def unify(call: Typing, what: str) -> None:
    """Converts the operands of a comparison to a common type, or refuses them."""
    types = call.types
    known = [t for t in types if not isinstance(t, NullType)]
    if not known:
        for position in range(len(types)):
            call.cast(position, BOOLEAN)
        return
    target: LogicalType = known[0]
    for other in known[1:]:
        found = _comparable(target, other)
        if found is None:
            call.refuse(f"<COMPARABLE_TYPE> {what} <COMPARABLE_TYPE>")
        target = found
    for position, type_ in enumerate(types):
        if not (isinstance(target, CharType) and isinstance(type_, CharType)):  # the length of text does not matter
            call.cast(position, target)


def _comparable(a: LogicalType, b: LogicalType) -> LogicalType | None:
    if isinstance(a, CharType) and isinstance(b, (*NUMERIC, *DATETIME, *INTERVALS)):
        return b
    if isinstance(b, CharType) and isinstance(a, (*NUMERIC, *DATETIME, *INTERVALS)):
        return a
    if {type(a), type(b)} == {CharType, BooleanType}:
        return STRING  # TRUE is compared as its text
    if (isinstance(a, DateType) and isinstance(b, TimestampType)) or (
        isinstance(b, DateType) and isinstance(a, TimestampType)
    ):
        return None
    if isinstance(a, INTERVALS) != isinstance(b, INTERVALS):
        return None
    if isinstance(a, FloatType) and isinstance(b, FloatType):
        return a  # as in arithmetic
    if isinstance(a, TimestampType) and isinstance(b, TimestampType) and a.local != b.local:
        return TimestampType(max(a.precision, b.precision))  # instants are compared by their local times
    return common_type([a, b])


def _rule(operator: str) -> TypeRule:
    def rule(call: Typing) -> LogicalType:
        a, b = call.types
        if operator in ("=", "<>") and {type(a) in NUMERIC, type(b) in NUMERIC} == {True, False}:
            other = b if type(a) in NUMERIC else a
            if isinstance(other, CharType):
                call.refuse("a number on both sides, or a CAST")
        if operator not in ("=", "<>") and any(isinstance(t, COLLECTIONS) for t in call.types):
            call.refuse("values that have an order")
        nullable = call.any_nullable
        unify(call, operator)
        return BOOLEAN.with_nullable(nullable)

    return rule


def _comparison(name: str, kernel: Any, operation: Callable[[Any, Any], bool], documentation: str) -> None:
    def compute(call: CallContext, a: Value, b: Value) -> Value:
        type_ = call.argument_types[0]
        if isinstance(type_, COLLECTIONS):
            left, right = (to_values(as_column(call, v), t) for v, t in zip((a, b), call.argument_types, strict=True))
            if isinstance(type_, MapType):
                left, right = _sorted(left), _sorted(right)
            results = [None if x is None or y is None else operation(x, y) for x, y in zip(left, right, strict=True)]
            return from_values(results, BOOLEAN)
        return kernel(a, b)

    _family.columns(name, _rule(name), documentation)(compute)


def _sorted(maps: list[Any]) -> list[Any]:
    return [None if m is None else sorted(m, key=repr) for m in maps]


_comparison("=", pc.equal, lambda a, b: a == b, "a = b")
_comparison("<>", pc.not_equal, lambda a, b: a != b, "a <> b")
_comparison("<", pc.less, lambda a, b: a < b, "a < b")
_comparison("<=", pc.less_equal, lambda a, b: a <= b, "a <= b")
_comparison(">", pc.greater, lambda a, b: a > b, "a > b")
_comparison(">=", pc.greater_equal, lambda a, b: a >= b, "a >= b")


def _distinct_rule(call: Typing) -> LogicalType:
    unify(call, "IS DISTINCT FROM")
    return BOOLEAN.with_nullable(False)


@_family.columns("IS_DISTINCT_FROM", _distinct_rule, "a and b are different values, or just one of them is null")
def is_distinct_from(call: CallContext, a: Value, b: Value) -> Value:
    if isinstance(call.argument_types[0], COLLECTIONS):
        left, right = (to_values(as_column(call, v), t) for v, t in zip((a, b), call.argument_types, strict=True))
        return from_values([x != y for x, y in zip(left, right, strict=True)], BOOLEAN)
    both_null = pc.and_(pc.is_null(a), pc.is_null(b))
    different = pc.fill_null(pc.not_equal(a, b), True)
    return pc.and_not(different, both_null)


@_family.columns("IS_NOT_DISTINCT_FROM", _distinct_rule, "a and b are the same value, or both are null")
def is_not_distinct_from(call: CallContext, a: Value, b: Value) -> Value:
    return pc.invert(is_distinct_from(call, a, b))


def _in_rule(call: Typing) -> LogicalType:
    nullable = call.any_nullable
    unify(call, "IN")
    return BOOLEAN.with_nullable(nullable)


@_family.columns("IN", _in_rule, "a is one of the values; unknown if it is not and one of them is null")
def in_list(call: CallContext, a: Value, *options: Value) -> Value:
    if isinstance(call.argument_types[0], COLLECTIONS):
        return _in_collections(call, a, options)
    if len(options) > 3 and isinstance(a, pa.Array) and all(isinstance(o, pa.Scalar) for o in options):
        known = pa.array([o for o in options if o.is_valid], a.type)
        found = pc.is_in(a, value_set=known)
        unsure = len(known) < len(options)
        missing = pc.or_(pc.is_null(a), pc.invert(found)) if unsure else pc.is_null(a)
        return pc.if_else(missing, pa.scalar(None, pa.bool_()), found)
    result: Value = pc.equal(a, options[0])
    for option in options[1:]:
        result = pc.or_kleene(result, pc.equal(a, option))
    return result


def _in_collections(call: CallContext, a: Value, options: tuple[Value, ...]) -> pa.Array:
    columns = [to_values(as_column(call, v), t) for v, t in zip((a, *options), call.argument_types, strict=True)]
    results: list[bool | None] = []
    for value, *others in zip(*columns, strict=True):
        found = value is not None and value in others
        results.append(True if found else None if value is None or None in others else False)
    return from_values(results, BOOLEAN)
