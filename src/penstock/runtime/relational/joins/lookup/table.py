"""What a lookup join needs from a table: the rows with some keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.keys import group_rows


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of a table as columns. owners: for each row the position of its key among those that were asked for, ascending."""

    columns: list[pa.Array]
    owners: NDArray[np.int64]

    def take(self, positions: NDArray[np.int64]) -> Found:
        """Returns the rows at some positions."""
        at = pa.array(positions)
        return Found([column.take(at) for column in self.columns], self.owners[positions])


class LookupTable(Protocol):
    """A table that finds rows by key. It is picklable; connections are made in the worker, when they are needed.

    Its text is the same for equal tables: it is a part of the identity of the job.
    """

    def find(self, keys: Sequence[pa.Array]) -> Found:
        """Returns the rows with some keys in one request. Keys are distinct and not NULL, with the types of the table."""
        ...

    def close(self) -> None:
        """Ends connections."""
        ...


def match_rows(keys: Sequence[pa.Array], columns: Sequence[pa.Array], places: Sequence[int]) -> Found:
    """Finds out to which key each row belongs, and drops rows that belong to none.

    places: where the values of the keys are among the columns.

    >>> found = match_rows([pa.array([7, 5])], [pa.array([5, 9, 7]), pa.array(["a", "b", "c"])], [0])
    >>> found.columns[1].to_pylist(), found.owners.tolist()
    (['c', 'a'], [0, 1])
    """
    count, rows = len(keys[0]), len(columns[0]) if columns else 0
    both = [pa.concat_arrays([key, columns[place]]) for key, place in zip(keys, places, strict=True)]
    codes = group_rows(both, count + rows).codes
    owners = codes[count:]  # groups are numbered by their first rows, which are those of the keys
    positions = np.flatnonzero(owners < count)
    positions = positions[np.argsort(owners[positions], kind="stable")]
    at = pa.array(positions)
    return Found([column.take(at) for column in columns], owners[positions])
