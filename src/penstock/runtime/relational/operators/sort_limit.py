"""ORDER BY and LIMIT as a maintained result."""

from __future__ import annotations

import numpy as np

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.keys import group_rows
from penstock.runtime.relational.operators.operator import BaseOperator, Input, Output
from penstock.runtime.relational.operators.rank import RankOperator
from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.specs.operators import RankSpec, SortLimitSpec

NO_LIMIT = 2**62


class SortLimitOperator(BaseOperator):
    """The rows from one place to another of the whole input: a Top-N without keys and without the rank.

    Without a limit all rows are in the result, so the changes of the input are those of the output. In batch mode they are sorted.
    """

    def __init__(self, spec: SortLimitSpec) -> None:
        super().__init__()
        self._spec = spec
        self._rank: RankOperator | None = None
        if spec.start > 0 or spec.end < NO_LIMIT:
            common = {
                name: getattr(spec, name) for name in spec.__struct_fields__ if name not in ("start", "end", "keys")
            }
            self._rank = RankOperator(RankSpec(**common, start=spec.start + 1, end=spec.end, outputs_rank=False))
        self._sorts = False

    def open(self, context: OperatorContext) -> None:
        self._sorts = context.runtime.in_batch_mode
        if self._rank is not None:
            self._rank.open(context)

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        if self._rank is not None:
            return self._rank.run(inputs, advance)
        rows, output = inputs[0], Output()
        if not self._sorts or not len(rows):
            output.add(rows.changes, rows.watermarks)
            return output
        changes = _settled(rows.changes)
        keys = ordered_bytes(changes.columns, self._spec.order, changes.length)
        order = np.array(sorted(range(changes.length), key=keys.__getitem__), np.int64)
        output.add(changes.take(order), advance.before)
        return output


def _settled(changes: Changes) -> Changes:
    """Returns the rows that are left after all changes, as insertions."""
    if changes.kinds is None:
        return changes
    codes = group_rows(changes.columns, changes.length).codes
    signs = changes.signs()
    left = np.bincount(codes, weights=signs).astype(np.int64)
    kept: list[int] = []
    for position in range(changes.length - 1, -1, -1):  # the last of equal rows are those that are left
        if signs[position] > 0 and left[codes[position]] > 0:
            left[codes[position]] -= 1
            kept.append(position)
    return changes.take(np.array(kept[::-1], np.int64)).with_kinds(None)
