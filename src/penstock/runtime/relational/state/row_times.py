"""Times of rows in milliseconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.time import MIN_WATERMARK

_PER_MILLISECOND = {"s": 0, "ms": 1, "us": 1_000, "ns": 1_000_000}


def row_times(column: pa.Array) -> NDArray[np.int64]:
    """Returns the milliseconds since 1970 of a column of timestamps, rounded down. NULL is before all times.

    >>> row_times(pa.array([1_999, None], pa.timestamp("us"))).tolist() == [1, MIN_WATERMARK]
    True
    """
    numbers: NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), MIN_WATERMARK).to_numpy(zero_copy_only=False)
    divisor = _PER_MILLISECOND[column.type.unit] if pa.types.is_timestamp(column.type) else 1
    if divisor == 1:
        return numbers
    scaled = numbers * 1_000 if divisor == 0 else numbers // divisor
    return np.where(numbers == MIN_WATERMARK, numbers, scaled).astype(np.int64)
