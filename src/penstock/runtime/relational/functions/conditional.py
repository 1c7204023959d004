"""Functions that choose between values."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family
from penstock.runtime.relational.functions.signatures import never_null, takes
from penstock.runtime.relational.java.numbers import parse_double
from penstock.types.logical.common import common_type
from penstock.types.logical.kinds import (
    BOOLEAN,
    COLLECTIONS,
    STRING,
    BinaryType,
    BooleanType,
    FloatType,
    LogicalType,
    NullType,
    TimestampType,
)
from penstock.types.logical.text import summary

_family = Family("conditional")


def common_arguments(call: Typing, positions: list[int] | None = None, first_of_equals: bool = False) -> LogicalType:
    """Converts arguments to their common type and returns it; nullable if one of them is.

    In CASE and constructors, `first_of_equals`, FLOAT and DOUBLE count as equally precise, so that the first one wins.
    """
    chosen = list(range(len(call))) if positions is None else positions
    found = common_type([call.types[p] for p in chosen])
    known = [call.types[p] for p in chosen if not isinstance(call.types[p], NullType)]
    if first_of_equals and known and all(isinstance(t, FloatType) for t in known):
        found = known[0].with_nullable(any(call.types[p].nullable for p in chosen))
    if first_of_equals and isinstance(found, TimestampType):  # the last kind of timestamp wins
        kinds = [t.local for t in known if isinstance(t, TimestampType)]
        if len(set(kinds)) > 1:
            found = TimestampType(found.precision, kinds[-1], nullable=found.nullable)
    if found is None:
        call.refuse("values of a common type")
    for position in chosen:
        call.cast(position, found)
    return found


def _coalesce_rule(call: Typing) -> LogicalType:
    if not len(call):
        call.refuse("at least one value")
    all_nullable = all(t.nullable for t in call.types)
    return common_arguments(call).with_nullable(all_nullable)


def _computed_by_compiler(call: CallContext, *arguments: Value) -> Value:
    raise AssertionError("the compiler evaluates this function itself")


_family.columns("COALESCE", _coalesce_rule, "the first value that is not null")(_computed_by_compiler)


def _choice_rule(call: Typing) -> LogicalType:
    return common_arguments(call, [*range(1, len(call) - 1, 2), len(call) - 1], first_of_equals=True)


_family.columns("CASE", _choice_rule, "the value of the first condition that is true")(_computed_by_compiler)


def _extreme_rule(call: Typing) -> LogicalType:
    if not len(call):
        call.refuse("at least one value")
    if any(isinstance(t, (*COLLECTIONS, NullType)) for t in call.types):
        call.refuse("comparable values with a type")
    if any(isinstance(t, BinaryType) for t in call.types):
        call.refuse("values that are not binary")
    return common_arguments(call)


def _of_instants(function: Any, arguments: tuple[Value, ...]) -> Value:
    """Arrow has no kernel for times with a zone, so that they lose it on the way."""
    kind = arguments[0].type
    if not (pa.types.is_timestamp(kind) and kind.tz):
        return function(*arguments, skip_nulls=False)
    plain = [pc.cast(a, pa.timestamp(kind.unit)) for a in arguments]
    return pc.cast(function(*plain, skip_nulls=False), kind)


@_family.columns("GREATEST", _extreme_rule, "the greatest value, null if one of them is null")
def greatest(call: CallContext, *arguments: Value) -> Value:
    if isinstance(call.type, BooleanType):
        return functools.reduce(pc.or_, arguments)
    return _of_instants(pc.max_element_wise, arguments)


@_family.columns("LEAST", _extreme_rule, "the least value, null if one of them is null")
def least(call: CallContext, *arguments: Value) -> Value:
    if isinstance(call.type, BooleanType):
        return functools.reduce(pc.and_, arguments)
    return _of_instants(pc.min_element_wise, arguments)


_tests = takes("text", "numeric", returns=never_null(BOOLEAN))


@_family.values("IS_ALPHA", _tests, "all characters are alphabetic", strict=False)
def is_alpha(value: Any) -> bool:
    return isinstance(value, str) and value.isalpha()


@_family.values("IS_DECIMAL", _tests, "the text is a number", strict=False)
def is_decimal(value: Any) -> bool:
    if not isinstance(value, str):
        return isinstance(value, int)
    return parse_double(value) is not None


@_family.values("IS_DIGIT", _tests, "all characters are digits", strict=False)
def is_digit(value: Any) -> bool:
    if not isinstance(value, str):
        return value is not None
    return value != "" and all(c.isdecimal() for c in value)


def _typeof_rule(call: Typing) -> LogicalType:
    if len(call) not in (1, 2):
        call.refuse("TYPEOF(value[, force_serializable])")
    return STRING


@_family.columns("TYPEOF", _typeof_rule, "the type of an expression as text")
def type_of(call: CallContext, *arguments: Value) -> Value:
    from penstock.runtime.relational.expressions.values import scalar

    return scalar(summary(call.argument_types[0]), STRING)
