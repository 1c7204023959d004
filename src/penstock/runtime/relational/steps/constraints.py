"""Checks and changes the kinds of rows: NOT NULL columns and kinds of a sink, and conditions before a normalization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from penstock.errors import ElementError
from penstock.runtime.relational.changes import DELETE, UPDATE_BEFORE, Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.expressions.compiler import Condition
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Expression
from penstock.runtime.relational.keys import group_rows


class NotNullStep:
    """Fails for a row with NULL in a column that must not be NULL, or drops it (table.exec.sink.not-null-enforcer)."""

    def __init__(self, columns: Sequence[tuple[int, str]], table: str, drop: bool = False) -> None:
        self._columns = list(columns)
        self._table = table
        self._drop = drop

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        keep = None
        for index, name in self._columns:
            if rows.columns[index].null_count == 0:
                continue
            if not self._drop:
                raise ElementError(
                    "SINK_NOT_NULL",
                    f"Column '{name}' of table {self._table} is NOT NULL, but a row has NULL in it. Remove such rows in the "
                    "query, or set 'table.exec.sink.not-null-enforcer' = 'DROP' to drop them.",
                )
            valid = pc.is_valid(rows.columns[index]).to_numpy(zero_copy_only=False)
            keep = valid if keep is None else keep & valid
        if keep is None:
            return StepResult(rows)
        origins = np.flatnonzero(keep)
        return StepResult(rows.take(origins), origins)


class WithoutUpdateBefore:
    """Drops -U rows, for sinks that write by primary key. A row that has no new version becomes a delete.

    A filter such as HAVING drops the new version of a row that no longer fulfils it. `key`: the columns of the primary key. All
    rows of a key come in order. If the new version is in a later batch, it follows the delete. Without a key, all -U are dropped.
    """

    def __init__(self, key: Sequence[int]) -> None:
        self._key = tuple(key)

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        if rows.kinds is None:
            return StepResult(rows)
        old = rows.kinds == UPDATE_BEFORE
        if not old.any():
            return StepResult(rows)
        groups = group_rows([rows.columns[i] for i in self._key], rows.length)
        last = np.zeros(len(groups), np.int64)
        np.maximum.at(last, groups.codes, np.arange(rows.length))
        newest = (last[groups.codes] == np.arange(rows.length)) & bool(self._key)
        origins = np.flatnonzero(~old | newest)
        return StepResult(rows.with_kinds(np.where(old, np.int8(DELETE), rows.kinds)).take(origins), origins)


class DeleteUnless:
    """Turns rows that do not fulfil a condition into deletes, before changes by key are normalized.

    So the state of the normalization has only rows that the query needs, and a row that no longer fulfils the condition is removed.
    """

    def __init__(self, condition: Expression, zone: str = "UTC") -> None:
        self.condition = condition
        self._zone = zone
        self._compiled: Condition | None = None

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_compiled": None}

    def open(self) -> None:
        self._compiled = Condition(self.condition, Session(zone=self._zone))

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        assert self._compiled is not None
        keep = self._compiled(rows.columns, rows.length).to_numpy(zero_copy_only=False)
        return StepResult(rows.with_kinds(np.where(keep, rows.all_kinds(), DELETE).astype(np.int8)))
