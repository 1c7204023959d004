"""UNNEST: each row once per element of a collection in one of its columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.types.logical.kinds import ArrayType, LogicalType, MapType, MultisetType, RowType


class UnnestStep:
    """Appends the elements of a collection: rows as their fields, maps as keys and values, and the position if asked.

    outer: whether a row without elements is emitted once, with NULL.
    """

    def __init__(self, column: int, type_: LogicalType, outer: bool = False, ordinality: bool = False) -> None:
        self.column = column
        self._type = type_
        self._outer = outer
        self._ordinality = ordinality

    @property
    def width(self) -> int:
        """How many columns are added."""
        type_ = self._type
        element = None if isinstance(type_, MapType) else getattr(type_, "element", None)
        columns = 2 if isinstance(type_, MapType) else len(element.fields) if isinstance(element, RowType) else 1
        return columns + self._ordinality

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        owners, values, elements = self._elements(rows.columns[self.column])
        if self._ordinality:
            first = np.searchsorted(owners, owners)
            elements.append(pa.array((np.arange(len(owners)) - first + 1).astype(np.int32)))
        if pa.types.is_struct(values.type) and values.null_count:  # a row that is NULL is no row
            kept = values.is_valid()
            owners, elements = owners[np.asarray(kept)], [column.filter(kept) for column in elements]
        if self._outer:
            alone = np.setdiff1d(np.arange(rows.length), owners)
            places = np.concatenate([np.arange(len(owners)), np.full(len(alone), -1)])
            owners = np.concatenate([owners, alone])
            order = np.argsort(owners, kind="stable")
            owners, places = owners[order], places[order]
            at = pa.array(places, mask=places < 0)
            elements = [column.take(at) for column in elements]
        taken = rows.take(owners)
        return StepResult(Changes([*taken.columns, *elements], len(owners), taken.kinds), owners)

    def _elements(self, column: pa.Array) -> tuple[NDArray[np.int64], pa.Array, list[pa.Array]]:
        """Returns for each element the position of its row, ascending; the elements; and their columns."""
        type_ = self._type
        if isinstance(type_, ArrayType):
            owners, values = _flat(column)
            return owners, values, _columns(values, type_.element)
        assert isinstance(type_, MapType | MultisetType)
        entry = pa.struct([pa.field("key", column.type.key_type, False), pa.field("value", column.type.item_type)])
        owners, values = _flat(column.cast(pa.list_(entry)))
        keys, items = pc.struct_field(values, [0]), pc.struct_field(values, [1])
        if isinstance(type_, MapType):
            return owners, keys, [keys, items]
        counts = items.to_numpy(zero_copy_only=False).astype(np.int64)
        repeated = keys.take(pa.array(np.repeat(np.arange(len(keys)), counts)))
        return np.repeat(owners, counts), repeated, _columns(repeated, type_.element)


def _columns(values: pa.Array, type_: LogicalType) -> list[pa.Array]:
    return [pc.struct_field(values, [i]) for i in range(len(type_.fields))] if isinstance(type_, RowType) else [values]


def _flat(column: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    return pc.list_parent_indices(column).to_numpy(), pc.list_flatten(column)
