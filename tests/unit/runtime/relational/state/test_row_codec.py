"""The bytes of a row are those of `pack`, also by the faster way for plain types."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest

from penstock.runtime.relational.state.row_codec import RowCodec, pack
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import BIGINT, BOOLEAN, BYTES, DOUBLE, STRING, DecimalType, LogicalType, TimestampType

YEAR_2500 = 16_725_225_600_000  # milliseconds; its nanoseconds have more than 64 bits


@pytest.mark.parametrize(
    ("types", "columns", "rows"),
    [
        (
            [BIGINT, STRING, BOOLEAN, DOUBLE, BYTES],
            [[1, None], ["a", None], [True, None], [0.5, None], [b"x", None]],
            [(1, "a", True, 0.5, b"x"), (None,) * 5],
        ),
        ([TimestampType(3)], [[1500, YEAR_2500]], [(1_500_000_000,), (YEAR_2500 * 1_000_000,)]),
        ([BIGINT, DecimalType(5, 2)], [[1], [decimal.Decimal("1.50")]], [(1, decimal.Decimal("1.50"))]),
    ],
)
def test_rows_are_packed(types: list[LogicalType], columns: list[list[object]], rows: list[tuple[object, ...]]) -> None:
    arrays = [pa.array(values, arrow_type(t)) for values, t in zip(columns, types, strict=True)]
    codec = RowCodec(types)
    stored = codec.encode(arrays)
    assert stored == [pack(row) for row in rows]
    assert [c.to_pylist() for c in codec.decode(stored)] == [a.to_pylist() for a in arrays]
