"""Implicit casts, and the types that schemas show."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.runtime.relational.expressions.tree import Call, Expression, Literal
from penstock.types.logical.kinds import LogicalType, TimestampType

_SHOWN_AS_ATTRIBUTE = frozenset(["+", "-", "FLOOR", "CEIL"])


def shown_type(name: str, result: LogicalType, arguments: Sequence[Expression]) -> LogicalType:
    """Flink's schema shows ts + INTERVAL '1' HOUR and FLOOR(ts TO HOUR) as time attributes, although windows cannot use them."""
    if name in _SHOWN_AS_ATTRIBUTE and isinstance(result, TimestampType):
        for argument in arguments:
            type_ = argument.type
            if isinstance(type_, TimestampType) and type_.attribute and type_.local == result.local:
                return TimestampType(result.precision, result.local, type_.attribute, nullable=result.nullable)
    return result


def convert(value: Expression, target: LogicalType) -> Expression:
    """Returns an implicit cast."""
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, target.with_nullable(True))
    return Call("CAST", (value,), target)
