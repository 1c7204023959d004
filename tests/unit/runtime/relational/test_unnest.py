"""UNNEST of random collections, compared with loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import StepContext
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.steps.unnest import UnnestStep
from penstock.types.logical.kinds import INT, STRING, ArrayType, Field, LogicalType, MapType, MultisetType, RowType
from tests.unit.runtime.relational.driver import from_changes

ROW = RowType((Field("d", STRING), Field("n", INT)))
CONTEXT = StepContext(lambda: np.array([]), lambda: 0, lambda: np.array([]))


def unnest(
    values: list[Any], type_: LogicalType, elements: list[LogicalType], **options: bool
) -> list[tuple[Any, ...]]:
    rows = Changes([from_values(list(range(len(values))), INT), from_values(values, type_)], len(values))
    result = UnnestStep(1, type_, **options).run(rows, CONTEXT)
    assert isinstance(result.rows, Changes)
    assert result.origins is not None
    found = [row for _, row in from_changes(result.rows, [INT, type_, *elements])]
    assert [row[0] for row in found] == result.origins.tolist()
    return [(row[0], *row[2:]) for row in found]


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("ordinality", [False, True])
@given(values=st.lists(st.none() | st.lists(st.sampled_from(["x", "y", None]), max_size=3), max_size=6))
def test_arrays(values: list[Any], outer: bool, ordinality: bool) -> None:
    wanted: list[tuple[Any, ...]] = []
    for number, value in enumerate(values):
        rows: list[tuple[Any, ...]] = [(number, e, i) for i, e in enumerate(value or (), 1)]
        wanted += rows or ([(number, None, None)] if outer else [])
    elements: list[LogicalType] = [STRING, INT] if ordinality else [STRING]
    found = unnest(values, ArrayType(STRING), elements, outer=outer, ordinality=ordinality)
    assert found == [row if ordinality else row[:2] for row in wanted]


def test_rows_become_columns() -> None:
    values: list[Any] = [[("mon", 1), None, ("tue", None)], None, []]
    assert unnest(values, ArrayType(ROW), [STRING, INT]) == [(0, "mon", 1), (0, "tue", None)]  # a NULL is no row


def test_maps_have_keys_and_values() -> None:
    values = [[("a", 1), ("b", None)], None, [], [("c", 3)]]
    assert unnest(values, MapType(STRING, INT), [STRING, INT], outer=True) == [
        (0, "a", 1),
        (0, "b", None),
        (1, None, None),
        (2, None, None),
        (3, "c", 3),
    ]


def test_multisets_repeat_their_elements() -> None:
    values = [[("a", 2), ("b", 1)], None, [("c", 1)]]
    assert unnest(values, MultisetType(STRING), [STRING]) == [(0, "a"), (0, "a"), (0, "b"), (2, "c")]
