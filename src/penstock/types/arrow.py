"""What Arrow calls the basic types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.types.basic import BasicType

BASIC: dict[BasicType, Any] = {
    BasicType.STRING: pa.string(),
    BasicType.CHAR: pa.string(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
}
DECIMAL = pa.decimal128(38, 18)  # as Flink's tables have decimals of no declared precision
# Columns that other systems read too have numbers of any size as decimals.
WITH_DECIMALS: dict[BasicType, Any] = {**BASIC, BasicType.BIG_INT: pa.decimal128(38, 0), BasicType.BIG_DEC: DECIMAL}
