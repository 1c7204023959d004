"""Three-valued logic."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family
from penstock.types.logical.kinds import BOOLEAN, BooleanType, LogicalType, NullType

_family = Family("logical")


def _booleans(call: Typing) -> LogicalType:
    for position, type_ in enumerate(call.types):
        if isinstance(type_, NullType) and len(call) == 1:
            call.cast(position, BOOLEAN)
        elif not isinstance(type_, BooleanType):
            call.refuse("<BOOLEAN>", position)
    return BOOLEAN.with_nullable(call.any_nullable)


def _test(call: Typing) -> LogicalType:
    _booleans(call)
    return BOOLEAN.with_nullable(False)


@_family.columns("AND", _booleans, "both are true")
def conjunction(call: CallContext, a: Value, b: Value) -> Value:
    return pc.and_kleene(a, b)


@_family.columns("OR", _booleans, "one of them is true")
def disjunction(call: CallContext, a: Value, b: Value) -> Value:
    return pc.or_kleene(a, b)


@_family.columns("NOT", _booleans, "the opposite")
def negation(call: CallContext, a: Value) -> Value:
    return pc.invert(a)


@_family.columns("IS_TRUE", _test, "true, not unknown")
def is_true(call: CallContext, a: Value) -> Value:
    return pc.fill_null(a, False)


@_family.columns("IS_NOT_TRUE", _test, "false or unknown")
def is_not_true(call: CallContext, a: Value) -> Value:
    return pc.invert(pc.fill_null(a, False))


@_family.columns("IS_FALSE", _test, "false, not unknown")
def is_false(call: CallContext, a: Value) -> Value:
    return pc.invert(pc.fill_null(a, True))


@_family.columns("IS_NOT_FALSE", _test, "true or unknown")
def is_not_false(call: CallContext, a: Value) -> Value:
    return pc.fill_null(a, True)


def _any(call: Typing) -> LogicalType:
    return BOOLEAN.with_nullable(False)


@_family.columns("IS_NULL", _any, "the value is null")
def is_null(call: CallContext, a: Value) -> Value:
    return _nulls(a)


@_family.columns("IS_NOT_NULL", _any, "the value is not null")
def is_not_null(call: CallContext, a: Value) -> Value:
    return pc.invert(_nulls(a))


def _nulls(a: Value) -> Value:
    return pa.scalar(not a.is_valid) if isinstance(a, pa.Scalar) else pc.is_null(a)
