"""The changelog of groups: which rows to emit if the results of groups were some values before a batch, and are others after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Changes

Flags = NDArray[np.bool_]


def changed_rows(
    keys: Sequence[pa.Array],
    old: Sequence[pa.Array],
    new: Sequence[pa.Array],
    before: Flags,
    after: Flags,
    *,
    always: bool = False,
    update_before: bool = True,
) -> Changes:
    """Returns +I for groups that are new, -D for those that are gone, and -U and +U for those with another result.

    keys, old, new: columns with one row per group. before, after: whether the group exists. always: emit updates without a
    difference, too. Groups keep their order.

    >>> before, after = np.array([True, False]), np.array([True, True])
    >>> rows = changed_rows([pa.array(["a", "b"])], [pa.array([1, 0])], [pa.array([2, 5])], before, after)
    >>> rows.all_kinds().tolist(), [column.to_pylist() for column in rows.columns]
    ([1, 2, 0], [['a', 'a', 'b'], [1, 2, 5]])
    """
    length = len(before)
    both = before & after
    updated = both if always else both & differing(old, new, length)
    kinds = np.full((length, 2), -1, np.int8)  # of the old and of the new row of each group
    kinds[before & ~after, 0] = DELETE
    kinds[~before & after, 1] = INSERT
    kinds[updated, 1] = UPDATE_AFTER
    if update_before:
        kinds[updated, 0] = UPDATE_BEFORE
    emitted = np.flatnonzero(kinds.ravel() >= 0)
    group, is_new = emitted // 2, emitted % 2
    at, of_both = pa.array(group), pa.array(group + is_new * length)
    columns = [column.take(at) for column in keys]
    columns += [pa.concat_arrays([a, b]).take(of_both) for a, b in zip(old, new, strict=True)]
    found = kinds.ravel()[emitted]
    return Changes(columns, len(emitted), found if found.any() else None)


def differing(old: Sequence[pa.Array], new: Sequence[pa.Array], length: int) -> Flags:
    """Returns whether rows differ. NULL equals NULL; NaN differs from itself, so Flink emits it again.

    >>> differing([pa.array([1, None, 2])], [pa.array([1, None, None])], 3).tolist()
    [False, False, True]
    """
    differs = np.zeros(length, np.bool_)
    for a, b in zip(old, new, strict=True):
        if pa.types.is_nested(a.type):
            differs |= np.fromiter(
                (x != y for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True)), np.bool_, length
            )
        else:
            equal = pc.fill_null(pc.equal(a, b), pc.and_(pc.is_null(a), pc.is_null(b)))
            differs |= ~equal.to_numpy(zero_copy_only=False)
    return differs
