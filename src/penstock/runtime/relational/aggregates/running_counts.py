"""Counts that go up and down row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def running_counts(
    codes: NDArray[np.int64], signs: NDArray[np.int64], starts: NDArray[np.int64], below_zero: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the count of each row's group before and after the row.

    starts: the count of each group before the first row. A removal from an empty group is ignored unless counts may be below zero.

    >>> before, after = running_counts(np.array([0, 1, 0, 0]), np.array([-1, 1, 1, 1]), np.array([0, 5]))
    >>> before.tolist(), after.tolist()
    ([0, 5, 0, 1], [0, 6, 1, 2])
    """
    if not len(codes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.argsort(codes, kind="stable")
    groups, steps = codes[order], signs[order]
    sums = np.cumsum(steps)
    new = np.concatenate(([True], groups[1:] != groups[:-1]))
    segment = np.cumsum(new) - 1
    sums += (starts[groups] - (sums - steps))[new][segment]
    counts = sums
    if not below_zero:
        # The lowest sum so far within each group: lower ranges for later groups make one pass enough.
        shift = segment * (int(sums.max()) - int(sums.min()) + 1)
        lowest = np.minimum.accumulate(sums - shift) + shift
        counts = sums - np.minimum(lowest, 0)
    earlier = np.concatenate(([0], counts[:-1]))
    earlier[new] = starts[groups[new]]
    before, after = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    before[order], after[order] = earlier, counts
    return before, after
