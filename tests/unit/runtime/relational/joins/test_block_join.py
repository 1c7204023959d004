"""Inner joins of inputs that only add rows: the same changes in the same order, however rows are cut into batches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.joins.block_join import BlockJoinOperator
from penstock.runtime.relational.specs.operators import JoinSpec
from penstock.types.logical.kinds import BOOLEAN, INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row

TYPES = (STRING, INT)
LARGER = Call(">", (Column(1, INT), Column(3, INT)), BOOLEAN)


def make_slot(condition: Expression | None = None, keys: tuple[int, ...] = (0,), **fields: Any) -> RelationalSlot:
    spec = JoinSpec(
        input_types=TYPES,
        right_types=TYPES,
        output_types=TYPES + TYPES,
        keys=keys,
        right_keys=keys,
        condition=condition,
        **fields,
    )
    slot = RelationalSlot(spec, input_types=[TYPES, TYPES])
    assert isinstance(slot.operator, BlockJoinOperator)
    return slot


ROWS = st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from([1, 2, 3, None]))
STEPS = st.lists(st.tuples(st.integers(0, 1), ROWS, st.integers(0, 5)), max_size=40)


def matches(row: Row, other: Row, side: int, keys: tuple[int, ...], null_safe: bool, with_condition: bool) -> bool:
    left, right = (row, other) if side == 0 else (other, row)
    for key in keys:
        if left[key] != right[key] or (left[key] is None and not null_safe):
            return False
    return not with_condition or (None not in (left[1], right[1]) and left[1] > right[1])


@pytest.mark.parametrize("with_condition", [False, True])
@pytest.mark.parametrize("keys", [(0,), (), (0, 1)])
@given(steps=STEPS, null_safe=st.booleans())
def test_every_row_is_joined_with_those_before_it(
    with_condition: bool, keys: tuple[int, ...], null_safe: bool, steps: list[tuple[int, Row, int]]
) -> None:
    slot = make_slot(LARGER if with_condition else None, keys, null_safe=(null_safe,) * len(keys))
    tables: tuple[list[Row], list[Row]] = ([], [])
    expected: list[Change] = []
    found: list[Change] = []
    batch: tuple[list[Row], list[Row]] = ([], [])
    ranks: tuple[list[int], list[int]] = ([], [])
    for number, (side, row, cut) in enumerate(steps):
        for other in tables[1 - side]:
            if matches(row, other, side, keys, null_safe, with_condition):
                expected.append(("+I", row + other if side == 0 else other + row))
        tables[side].append(row)
        batch[side].append(row)
        ranks[side].append(number)
        if cut == 0:
            found += [change for change, _ in slot.run_inputs(batch, ranks=ranks)]
            batch, ranks = ([], []), ([], [])
        if cut == 1:
            slot.restart()
    found += [change for change, _ in slot.run_inputs(batch, ranks=ranks)]
    assert found == expected


def test_large_blocks_are_stored_as_columns() -> None:
    slot = make_slot()
    slot.run_inputs([[("ab"[i % 2], i) for i in range(100)], []])
    entries = slot.count_entries()
    slot.restart()
    found = [change for change, _ in slot.run_inputs([[], [("b", 7)]])]
    assert found == [("+I", ("b", i, "b", 7)) for i in range(1, 100, 2)]
    assert entries <= 8  # per key group a counter, a block, a page of places, and the directory of pages


def test_rows_have_the_watermark_of_the_later_row() -> None:
    slot = make_slot()
    slot.run_inputs([[("a", 1)], []])
    found = slot.run_inputs(
        [[("a", 2)], [("a", 3), ("a", 4)]], marks=[[20], [10, 30]], ranks=[[1], [0, 2]], watermark=40
    )
    assert [mark for _, mark in found] == [10, 20, 30, 30]


def test_each_side_has_its_time_to_live() -> None:
    slot = make_slot(ttl=1000, right_ttl=5000)
    slot.run_inputs([[("a", 1)], [("a", 2)]], now=0)
    assert slot.run_inputs([[], [("a", 3)]], now=1000) == []
    found = [change for change, _ in slot.run_inputs([[("a", 4)], []], now=4999)]
    assert found == [("+I", ("a", 4, "a", 2)), ("+I", ("a", 4, "a", 3))]
    assert [change for change, _ in slot.run_inputs([[("a", 5)], []], now=5000)] == [("+I", ("a", 5, "a", 3))]


def test_blocks_are_numbered_again_after_all_have_expired() -> None:
    slot = make_slot(ttl=1000, right_ttl=1000)
    slot.run_inputs([[], [("a", 1)]], now=0)
    assert [change for change, _ in slot.run_inputs([[("a", 0)], []], now=10)] == [("+I", ("a", 0, "a", 1))]
    slot.run_inputs([[], [("a", 2)]], now=5000)  # has the number of the block that was read before
    assert [change for change, _ in slot.run_inputs([[("a", 0)], []], now=5010)] == [("+I", ("a", 0, "a", 2))]


def test_expired_rows_are_removed() -> None:
    slot = make_slot(ttl=1000)
    slot.run_inputs([[("a", 1)], []], now=0)
    before = slot.count_entries()
    slot.run_inputs([[("b", 1)], []], now=500)
    for now in (1600, 1700):
        slot.run_inputs([[], []], now=now)
    assert slot.count_entries() < before


def test_rows_that_cannot_match_any_more_are_removed() -> None:
    types = (STRING, TimestampType(3))
    spec = JoinSpec(
        input_types=types,
        right_types=types,
        output_types=types + types,
        keys=(0,),
        right_keys=(0,),
        expiry=(1, 1000),
    )
    slot = RelationalSlot(spec, input_types=[types, types])
    seconds = 1_000_000_000
    slot.run_inputs([[(name, i * seconds) for i in range(1, 4) for name in "abc"] + [("a", None)], []])
    full = slot.count_entries()
    slot.run_inputs([[], []], watermark=4001)
    assert slot.count_entries() == full
    slot.restart()
    found = [change for change, _ in slot.run_inputs([[], [("b", 4 * seconds)]])]
    assert len(found) == 3
    slot.run_inputs([[], []], watermark=4002)
    assert slot.count_entries() <= 3 * 2 + 4  # per key group a counter and a directory; the row of the right input
    assert slot.run_inputs([[], [("b", 5 * seconds)]]) == []
