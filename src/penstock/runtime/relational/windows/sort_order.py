"""The order of rows by sort keys, as numpy codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.specs.aggregate_call import SortKey


def sort_codes(column: pa.Array, key: SortKey) -> NDArray[np.int64]:
    """Returns a number per row whose order is that of the sort key. NaN is the largest number.

    >>> sort_codes(pa.array([3, None, 5, 3]), SortKey(0, ascending=False, nulls_first=False)).tolist()
    [-1, 1, -2, -1]
    """
    if pa.types.is_nested(column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        own = SortKey(0, key.ascending, key.nulls_first)
        _, codes = np.unique(np.array(ordered_bytes([column], [own], len(column)), object), return_inverse=True)
        return codes.astype(np.int64)
    ranks = pc.rank(column, "ascending", tiebreaker="dense").to_numpy().astype(np.int64)  # NULLs are last
    codes = ranks if key.ascending else -ranks
    if column.null_count:
        outside = len(column) + 1
        if not key.ascending and not key.nulls_first:
            outside = 1
        elif key.nulls_first:
            outside = 0 if key.ascending else -outside
        codes = np.where(np.asarray(column.is_null()), outside, codes)
    return codes


def row_order(groups: NDArray[np.int64], columns: Sequence[pa.Array], keys: Sequence[SortKey]) -> NDArray[np.int64]:
    """Returns the positions of rows ordered by group, then by sort keys; equal rows keep their order."""
    codes = [sort_codes(columns[key.column], key) for key in reversed(keys)]
    return np.lexsort([*codes, groups])
