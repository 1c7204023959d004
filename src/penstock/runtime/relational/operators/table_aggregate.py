"""Table aggregate functions: each group has any number of rows, which are emitted again when rows of the group change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.changes import DELETE, INSERT, Changes
from penstock.runtime.relational.operators.group_aggregate import GroupAggregateOperator
from penstock.runtime.relational.operators.group_changes import Flags
from penstock.types.logical.kinds import ArrayType, RowType


class TableAggregateOperator(GroupAggregateOperator):
    """Deletes the rows that a group had, and inserts those that it has now, also if they are equal: as Flink does."""

    def emitted(
        self,
        keys: Sequence[pa.Array],
        old: Sequence[pa.Array],
        new: Sequence[pa.Array],
        before: Flags,
        after: Flags,
    ) -> Changes:
        count = len(before)
        type_ = self._spec.calls[0].type
        assert isinstance(type_, ArrayType)
        assert isinstance(type_.element, RowType)
        lists = pa.concat_arrays([old[0], new[0]])
        # The old rows of each group, then its new rows, if it has them.
        order = np.stack([np.arange(count), np.arange(count) + count], axis=1).ravel()
        order = order[np.stack([before, after], axis=1).ravel()]
        taken = lists.take(pa.array(order))
        lengths = np.asarray(pc.list_value_length(taken))
        groups = np.repeat(order % max(count, 1), lengths)
        kinds = np.repeat(np.where(order < count, DELETE, INSERT), lengths).astype(np.int8)
        rows = taken.flatten()
        columns = [key.take(pa.array(groups)) for key in keys]
        columns += [rows.field(i) for i in range(len(type_.element.fields))]
        return Changes(columns, len(groups), kinds if kinds.any() else None)
