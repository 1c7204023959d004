"""Types that were widened, so that stored values stay as they are."""

from __future__ import annotations

import msgspec

from penstock.types.logical.kinds import CharType, DecimalType, FloatType, IntegerType, LogicalType, TimestampType


def keeps_values(before: LogicalType, after: LogicalType) -> bool:
    """Whether all values of a type are values of another one, and are stored in the same way.

    >>> keeps_values(IntegerType(32), IntegerType(64)), keeps_values(IntegerType(64), IntegerType(32))
    (True, False)
    >>> keeps_values(DecimalType(10, 2), DecimalType(12, 2)), keeps_values(DecimalType(10, 2), DecimalType(12, 4))
    (True, False)
    """
    if isinstance(before, IntegerType) and isinstance(after, IntegerType):
        return before.bits <= after.bits
    if isinstance(before, FloatType) and isinstance(after, FloatType):
        return before.bits <= after.bits
    if isinstance(before, CharType) and isinstance(after, CharType) and before.varying and after.varying:
        return before.length <= after.length
    if isinstance(before, DecimalType) and isinstance(after, DecimalType):
        return before.scale == after.scale and before.precision <= after.precision
    return _plain(before) == _plain(after)


def _plain(type_: LogicalType) -> LogicalType:
    if isinstance(type_, TimestampType):
        type_ = msgspec.structs.replace(type_, attribute="")
    return type_.with_nullable(True)
