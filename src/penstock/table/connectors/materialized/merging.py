"""Merges changes of a result: by key the last row counts, and without a key equal rows are counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.changes import DELETE
from penstock.runtime.relational.keys import encode_keys, group_rows, key_hashes
from penstock.types.logical.kinds import Field

BUCKETS = 16
"""Into how many parts a result is divided by the hash of its keys. A part is merged at once. The number is part of the format."""

CHANGE = "__penstock_change__"
"""The last column of all files: by key the kind of the change; without a key how often the row is added, or removed if negative."""


def merge(rows: pa.RecordBatch, key: Sequence[str], complete: bool) -> pa.RecordBatch:
    """Returns rows with one entry per key, in the order of their last changes; without a key one entry per distinct row.

    complete: these are all changes of their keys, so that removed rows are left out.

    >>> some = pa.record_batch({"id": [1, 2, 1], "n": [5, 6, 7], CHANGE: pa.array([0, 0, 2], pa.int64())})
    >>> merge(some, ["id"], True).to_pydict()["n"]
    [6, 7]
    >>> merge(some.select(["id", CHANGE]), [], True).to_pydict()
    {'id': [1], '__penstock_change__': [2]}
    """
    change = rows.column(CHANGE).to_numpy(zero_copy_only=False)
    names = key or [name for name in rows.schema.names if name != CHANGE]
    groups = group_rows([rows.column(name) for name in names], rows.num_rows)
    if not key:
        counts = np.zeros(len(groups), np.int64)
        np.add.at(counts, groups.codes, change)
        # Removals without an addition stay: the addition may be in a file that another task wrote.
        at = np.flatnonzero(counts)
        return _with_changes(rows.take(pa.array(groups.first[at])), counts[at])
    last = np.zeros(len(groups), np.int64)
    last[groups.codes] = np.arange(rows.num_rows)  # the last assignment counts
    last.sort()
    if complete:
        last = last[change[last] != DELETE]
    return rows.take(pa.array(last))


def present(rows: pa.RecordBatch, key: Sequence[str]) -> pa.RecordBatch:
    """Returns the rows of a complete result from merged changes, each as often as it is there."""
    if key:
        return rows
    counts = np.maximum(rows.column(CHANGE).to_numpy(zero_copy_only=False), 0)
    return rows.take(pa.array(np.repeat(np.arange(rows.num_rows), counts)))


def buckets_of(rows: pa.RecordBatch, key: Sequence[Field]) -> list[tuple[int, pa.RecordBatch]]:
    """Divides rows into buckets by the columns of their key, or by all columns if the result has no key."""
    columns = [rows.column(field.name) for field in key]
    groups = group_rows(columns, rows.num_rows)
    first = pa.array(groups.first)
    keys = encode_keys([c.take(first) for c in columns], [f.type for f in key], len(groups))
    numbers: NDArray[np.int64] = (key_hashes(keys) % np.uint64(BUCKETS)).astype(np.int64)[groups.codes]
    return [(int(b), rows.take(pa.array(np.flatnonzero(numbers == b)))) for b in np.unique(numbers)]


def _with_changes(rows: pa.RecordBatch, changes: NDArray[np.int64]) -> pa.RecordBatch:
    at = rows.schema.get_field_index(CHANGE)
    return rows.set_column(at, CHANGE, pa.array(changes, pa.int64()))
