"""Pairs of rows of both sides of a join as positions, and which of them fulfil its condition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.specs.operators import JoinSpec
from penstock.runtime.relational.state.ranges import Positions, expand_ranges


class PairCondition:
    """The condition of a join over columns of both inputs. Keys that are NULL equal nothing, unless they are null-safe."""

    def __init__(self, spec: JoinSpec) -> None:
        self._unknown = spec.unknown_matches
        self._compiled = None if spec.condition is None else Projection([spec.condition], Session(zone=spec.zone))
        self._keys = [key for i, key in enumerate(spec.keys) if i >= len(spec.null_safe) or not spec.null_safe[i]]

    def joinable(self, left: Sequence[pa.Array], length: int) -> NDArray[np.bool_]:
        """Returns which rows of the left input have keys that can equal others."""
        found = np.ones(length, bool)
        for key in self._keys:
            if left[key].null_count:
                found &= left[key].is_valid().to_numpy(zero_copy_only=False)
        return found

    def holds(
        self, left: Sequence[pa.Array], right: Sequence[pa.Array], left_at: Positions, right_at: Positions
    ) -> NDArray[np.bool_]:
        """Returns which pairs fulfil the condition, given as positions in the columns of both inputs."""
        if self._compiled is None:
            return np.ones(len(left_at), bool)
        first, second = pa.array(left_at), pa.array(right_at)
        columns = [*(c.take(first) for c in left), *(c.take(second) for c in right)]
        [found] = self._compiled(columns, len(left_at))
        result: NDArray[np.bool_] = pc.fill_null(found, self._unknown).to_numpy(zero_copy_only=False)
        return result


def all_pairs(left_counts: Positions, right_counts: Positions) -> tuple[Positions, Positions]:
    """Returns the pairs within groups, given the number of rows of each group on both sides; rows of a group stand together.

    >>> [found.tolist() for found in all_pairs(np.array([2, 1]), np.array([1, 2]))]
    [[0, 1, 2, 2], [0, 0, 1, 2]]
    """
    matches = np.repeat(right_counts, left_counts)  # of each row of the left side
    starts = np.repeat(np.cumsum(right_counts) - right_counts, left_counts)
    left_at = np.repeat(np.arange(len(matches)), matches)
    return left_at, expand_ranges(starts, matches)


def padded(columns: Sequence[pa.Array], positions: Positions) -> list[pa.Array]:
    """Returns the rows at some positions; -1 becomes NULL in all columns."""
    at = pa.array(positions, mask=positions < 0)
    return [c.take(at) for c in columns]
