"""Changes of a table as columns: the rows of a batch, each with its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3  # the values of RowKind
Kinds = NDArray[np.int8]
_SIGNS = np.array([1, -1, 1, -1], np.int64)


class Changes:
    """Rows as Arrow columns of equal length. `kinds` is None if all rows are insertions.

    The types of the columns are a fact of the plan, so they are not stored here. Columns are never changed in place.

    >>> some = Changes([pa.array([1, 2, 3])], 3, np.array([0, 1, 2], np.int8))
    >>> some.signs().tolist(), some.take(np.array([2])).columns[0].to_pylist()
    ([1, -1, 1], [3])
    """

    __slots__ = ("columns", "kinds", "length")

    def __init__(self, columns: Sequence[pa.Array], length: int, kinds: Kinds | None = None) -> None:
        self.columns = list(columns)
        self.length = length
        self.kinds = kinds

    @classmethod
    def empty(cls, types: Sequence[LogicalType]) -> Changes:
        """Returns no rows of the given types."""
        return cls([pa.array([], arrow_type(t)) for t in types], 0)

    @classmethod
    def concatenate(cls, parts: Sequence[Changes]) -> Changes:
        """Joins parts with the same types, one after the other. There must be at least one part."""
        if len(parts) == 1:
            return parts[0]
        columns = [pa.concat_arrays([p.columns[i] for p in parts]) for i in range(len(parts[0].columns))]
        kinds = None
        if any(p.kinds is not None for p in parts):
            kinds = np.concatenate([p.all_kinds() for p in parts])
        return cls(columns, sum(p.length for p in parts), kinds)

    def __len__(self) -> int:
        return self.length

    def all_kinds(self) -> Kinds:
        """Returns the kind of each row."""
        return np.zeros(self.length, np.int8) if self.kinds is None else self.kinds

    def signs(self) -> NDArray[np.int64]:
        """Returns 1 for each row that is added and -1 for each row that is removed."""
        return np.ones(self.length, np.int64) if self.kinds is None else _SIGNS[self.kinds]

    def take(self, indices: Any) -> Changes:
        """Returns the rows at some positions, given as a numpy array, in that order."""
        at = pa.array(indices)
        return Changes(
            [c.take(at) for c in self.columns], len(indices), None if self.kinds is None else self.kinds[indices]
        )

    def filter(self, keep: NDArray[np.bool_]) -> Changes:
        """Returns the rows for which `keep` is true."""
        return self.take(np.flatnonzero(keep))

    def slice(self, start: int, stop: int) -> Changes:
        """Returns the rows from one position to another, without copying."""
        columns = [c.slice(start, stop - start) for c in self.columns]
        return Changes(columns, stop - start, None if self.kinds is None else self.kinds[start:stop])

    def select(self, columns: Sequence[int]) -> Changes:
        """Returns some columns, in the given order."""
        return Changes([self.columns[i] for i in columns], self.length, self.kinds)

    def with_kinds(self, kinds: Kinds | None) -> Changes:
        """Returns the same rows with other kinds."""
        return Changes(self.columns, self.length, kinds)
