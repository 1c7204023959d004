"""CAST and TRY_CAST, and which types can be cast to which."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family
from penstock.runtime.relational.functions.signatures import nullable_if_any, takes
from penstock.types.logical.kinds import (
    BOOLEAN,
    COLLECTIONS,
    DATETIME,
    INTERVALS,
    NUMERIC,
    STRING,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
)

_family = Family("conversion")


def can_cast(source: LogicalType, target: LogicalType) -> bool:
    """Whether CAST accepts these types.

    >>> from penstock.types.logical.kinds import BYTES, INT
    >>> can_cast(INT, STRING), can_cast(BYTES, INT)
    (True, False)
    """
    if isinstance(source, NullType):
        return True
    if isinstance(target, CharType):
        return not isinstance(source, VariantType)
    match source:
        case CharType():
            return not isinstance(target, (MapType, MultisetType, RowType, VariantType, ArrayType, *INTERVALS))
        case BooleanType():
            return isinstance(target, (BooleanType, *NUMERIC))
        case FloatType():
            return isinstance(target, (BooleanType, *NUMERIC))
        case IntegerType() | DecimalType():
            return isinstance(target, (BooleanType, *NUMERIC, *INTERVALS))
        case BinaryType():
            return isinstance(target, BinaryType)
        case DateType():
            return isinstance(target, DateType | TimestampType)
        case TimeType():
            return isinstance(target, TimeType | TimestampType)
        case TimestampType():
            return isinstance(target, DATETIME)
        case ArrayType():
            return isinstance(target, ArrayType) and can_cast(source.element, target.element)
        case MultisetType():
            return isinstance(target, MultisetType) and can_cast(source.element, target.element)
        case MapType():
            return (
                isinstance(target, MapType)
                and can_cast(source.key, target.key)
                and can_cast(source.value, target.value)
            )
        case RowType():
            return (
                isinstance(target, RowType)
                and len(source.fields) == len(target.fields)
                and all(can_cast(s.type, t.type) for s, t in zip(source.fields, target.fields, strict=True))
            )
    return type(source) is type(target)


def _cast_rule(lenient: bool):  # type: ignore[no-untyped-def]
    def rule(call: Typing) -> LogicalType:
        target: LogicalType = call.options[0]
        if not can_cast(call.types[0], target):
            call.refuse(f"a value that can be cast to {target.with_nullable(True)}")
        return target.with_nullable(True if lenient else call.types[0].nullable)

    return rule


def _cast_can_raise(arguments: Sequence[LogicalType], result: LogicalType) -> bool:
    """Text may be no number; a number that must not be null may be too large for a decimal."""
    source = arguments[0]
    if isinstance(source, (*COLLECTIONS, CharType)):
        return not isinstance(result, CharType | BinaryType)
    return isinstance(result, DecimalType) and not result.nullable and not isinstance(source, IntegerType)


def _cast(lenient: bool):  # type: ignore[no-untyped-def]
    def kernel(call: CallContext, value: Value) -> Value:
        column = value if isinstance(value, pa.Array) else pa.array([value], value.type)
        found = cast_column(column, call.argument_types[0], call.type, call.session, lenient)
        return found if isinstance(value, pa.Array) else found[0]

    return kernel


_family.columns(
    "CAST", _cast_rule(False), "the value as another type; an error if it cannot be converted", raises=_cast_can_raise
)(_cast(False))
_family.columns("TRY_CAST", _cast_rule(True), "the value as another type; null if it cannot be converted")(_cast(True))


@_family.values("IS_VALID_UTF8", takes("binary", returns=nullable_if_any(BOOLEAN)), "the bytes are valid UTF-8")
def is_valid_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


@_family.values(
    "MAKE_VALID_UTF8",
    takes("binary", returns=nullable_if_any(STRING)),
    "the text of bytes, with U+FFFD for what is no UTF-8",
)
def make_valid_utf8(value: bytes) -> str:
    return value.decode("utf-8", "replace")
