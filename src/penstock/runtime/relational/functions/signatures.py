"""A small language for the arguments that functions take, and common types of results.

    takes("text, int[, int]")        two or three arguments
    takes("text ...")                one or more of a family

A NULL literal has no type, and most functions refuse it, as in Flink. With `nulls` it becomes the usual type of the family.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from penstock.runtime.relational.functions.definition import TypeMismatch, TypeRule, Typing
from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTERVALS,
    MAX_LENGTH,
    MILLISECONDS,
    NUMERIC,
    STRING,
    TIME,
    TIMESTAMP_3,
    ArrayType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
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

FAMILIES: dict[str, tuple[tuple[type, ...], LogicalType]] = {
    "text": ((CharType,), STRING),
    "binary": ((BinaryType,), BYTES),
    "int": ((IntegerType,), INT),
    "numeric": (NUMERIC, INT),
    "decimal": ((DecimalType,), DecimalType(10, 0)),
    "double": (NUMERIC, DOUBLE),
    "boolean": ((BooleanType,), BOOLEAN),
    "date": ((DateType,), DATE),
    "time": ((TimeType,), TIME),
    "timestamp": ((TimestampType,), TIMESTAMP_3),
    "interval": (INTERVALS, MILLISECONDS),
    "array": ((ArrayType,), ArrayType(INT)),
    "map": ((MapType,), MapType(STRING, STRING)),
    "multiset": ((MultisetType,), MultisetType(INT)),
    "row": ((RowType,), RowType(())),
    "bitmap": ((BitmapType,), BitmapType()),
    "variant": ((VariantType,), VariantType()),
    "any": ((object,), STRING),
}


def matches(pattern: str, nulls: bool = True) -> Callable[[Typing], bool]:
    """Returns a function that returns whether the arguments fit a pattern, and types NULL literals."""
    optional = pattern.count("[")
    flat = re.sub(r"[\[\]]", "", pattern).strip()
    repeated = flat.endswith("...")
    words = [w.strip() for w in flat.removesuffix("...").split(",") if w.strip()]
    families = [w.split("|") for w in words]
    least = len(words) - optional if not repeated else len(words)

    def fits(call: Typing) -> bool:
        count = len(call)
        if count < least or (not repeated and count > len(words)):
            return False
        wanted = [families[min(i, len(families) - 1)] for i in range(count)]
        for type_, names in zip(call.types, wanted, strict=True):
            if isinstance(type_, NullType) and not nulls and "any" not in names:
                return False
            if not isinstance(type_, NullType) and not any(isinstance(type_, FAMILIES[n][0]) for n in names):
                return False
        for position, names in enumerate(wanted):
            if isinstance(call.types[position], NullType) and "any" not in names:
                call.cast(position, FAMILIES[names[0]][1])
        return True

    return fits


def takes(*patterns: str, returns: Callable[[Typing], LogicalType], nulls: bool = False) -> TypeRule:
    """Returns a rule that accepts one of the patterns."""
    checks = [matches(p, nulls) for p in patterns]

    def rule(call: Typing) -> LogicalType:
        for check in checks:
            if check(call):
                return returns(call)
        raise TypeMismatch(" or ".join(f"({p})" for p in patterns))

    rule.__dict__["patterns"] = patterns
    return rule


def patterns_of(rule: TypeRule) -> tuple[str, ...]:
    """Returns the patterns of a rule that `takes` has made, and nothing for other rules.

    >>> patterns_of(takes("text, int", returns=like_first))
    ('text, int',)
    """
    patterns: tuple[str, ...] = getattr(rule, "patterns", ())
    return patterns


def nullable_if_any(type_: LogicalType) -> Callable[[Typing], LogicalType]:
    """The result is nullable if an argument is."""
    return lambda call: type_.with_nullable(call.any_nullable)


def always_nullable(type_: LogicalType) -> Callable[[Typing], LogicalType]:
    """The result may be null whatever the arguments are."""
    return lambda call: type_.with_nullable(True)


def never_null(type_: LogicalType) -> Callable[[Typing], LogicalType]:
    """The result is never null."""
    return lambda call: type_.with_nullable(False)


def like_first(call: Typing) -> LogicalType:
    """The type of the first argument, nullable if any argument is."""
    return call.types[0].with_nullable(call.any_nullable)


def first_varying(call: Typing) -> LogicalType:
    """VARCHAR of the first argument's length, nullable if any argument is."""
    first = call.types[0]
    length = first.length if isinstance(first, CharType) else MAX_LENGTH
    return CharType(length, varying=True, nullable=call.any_nullable)


def first_varying_nullable(call: Typing) -> LogicalType:
    """VARCHAR of the first argument's length, always nullable."""
    return first_varying(call).with_nullable(True)


text = nullable_if_any(STRING)
text_or_null = always_nullable(STRING)
boolean = nullable_if_any(BOOLEAN)
integer = nullable_if_any(INT)
bigint = nullable_if_any(BIGINT)
double = nullable_if_any(DOUBLE)
