"""A lookup join without state: each row is joined with what the table has when the row is processed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.joins.lookup.matcher import LookupMatcher, Pairs
from penstock.runtime.relational.joins.lookup.settings import CacheSettings, RetrySettings
from penstock.runtime.relational.joins.lookup.table import LookupTable
from penstock.runtime.relational.joins.pairs import padded
from penstock.runtime.relational.specs.lookup import LookupSpec
from penstock.types.logical.arrow import arrow_type


class LookupJoinStep:
    """Joins rows with those of a lookup table. The rows of LEFT joins that find nothing have NULLs."""

    def __init__(
        self,
        spec: LookupSpec,
        table: LookupTable,
        cache: CacheSettings | None = None,
        retry: RetrySettings | None = None,
    ) -> None:
        self.spec = spec
        self.table = table
        self._cache = cache
        self._retry = retry
        self._matcher: LookupMatcher | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_matcher": None}

    def open(self) -> None:
        """Compiles expressions and starts with an empty cache."""
        self._matcher = LookupMatcher(self.spec, self.table, self._cache, self._retry)

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        assert self._matcher is not None
        if not rows.length:
            return StepResult(joined(rows, Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), self._no_rows())))
        pairs = self._matcher.pairs(rows)
        if self.spec.kind == "LEFT":
            pairs = with_unmatched(pairs, rows.length)
        return StepResult(joined(rows, pairs), pairs.left_at)

    def _no_rows(self) -> list[pa.Array]:
        return [pa.array([], arrow_type(e.type)) for e in self.spec.right_columns]


def with_unmatched(pairs: Pairs, rows: int) -> Pairs:
    """Adds the rows of the left side that have no pair, with -1 as the position of the right side."""
    alone = np.setdiff1d(np.arange(rows), pairs.left_at)
    if not len(alone):
        return pairs
    left_at = np.concatenate([pairs.left_at, alone])
    right_at = np.concatenate([pairs.right_at, np.full(len(alone), -1)])
    order = np.argsort(left_at, kind="stable")
    return Pairs(left_at[order], right_at[order], pairs.right)


def joined(rows: Changes, pairs: Pairs) -> Changes:
    """Returns the columns of both sides."""
    taken = rows.take(pairs.left_at)
    return Changes([*taken.columns, *padded(pairs.right, pairs.right_at)], taken.length, taken.kinds)
