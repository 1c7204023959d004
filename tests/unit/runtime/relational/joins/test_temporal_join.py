"""Temporal joins of random rows, versions, watermarks and batches, compared with a search for the version."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.specs.operators import TemporalJoinSpec
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types.logical.kinds import BOOLEAN, INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row

TYPES = (STRING, INT, TimestampType(3, attribute="ROWTIME"))
LARGER = Call(">", (Column(1, INT), Column(4, INT)), BOOLEAN)
MILLI = 1_000_000  # values of timestamps are nanoseconds
NONE = (None, None, None)


def make_slot(kind: Any, condition: Expression | None = None) -> RelationalSlot:
    spec = TemporalJoinSpec(
        input_types=TYPES,
        right_types=TYPES,
        output_types=TYPES + TYPES,
        keys=(0,),
        right_keys=(0,),
        kind=kind,
        condition=condition,
        left_time=2,
        right_time=2,
        insert_only=False,
    )
    return RelationalSlot(spec, input_types=[TYPES, TYPES])


def row_of(key: str | None, value: int | None, time: int) -> Row:
    return (key, value, time * MILLI)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["a", "b", None]),
        st.sampled_from([1, 2, None]),
        st.integers(0, 20),
        st.sampled_from(["", "", "cut", "restart"]),
        st.integers(0, 4),
        st.sampled_from(["+I", "+U", "+U", "-D", "-U"]),
    ),
    min_size=1,
    max_size=20,
)


def watermarks_of(steps: list[tuple[Any, ...]]) -> list[int]:
    """The watermark when each row arrives, and the one at the end."""
    watermark, found = MIN_WATERMARK, []
    for step in steps:
        found.append(watermark)
        if step[5] == 0:
            watermark = max(watermark, step[3] - 2)
    return [*found, MAX_WATERMARK]


def run(slot: RelationalSlot, steps: list[tuple[Any, ...]], marks: list[int], cuts: list[str]) -> list[Change]:
    found: list[Change] = []
    batch: tuple[list[Change], list[Change]] = ([], [])
    given: tuple[list[int], list[int]] = ([], [])
    ranks: tuple[list[int], list[int]] = ([], [])
    for number, (step, cut) in enumerate(zip(steps, cuts, strict=True)):
        side, key, value, time, *_, kind = step
        batch[side].append((kind, row_of(key, value, time)))
        given[side].append(marks[number])
        ranks[side].append(number)
        if cut or number == len(steps) - 1:
            out = slot.run_inputs(batch, marks=given, ranks=ranks, watermark=marks[number + 1])
            found.extend(change for change, _ in out)
            batch, given, ranks = ([], []), ([], []), ([], [])
        if cut == "restart":
            slot.restart()
    return found


def model(kind: str, with_condition: bool, steps: list[tuple[Any, ...]], marks: list[int]) -> dict[int, Change | None]:
    """The result of each row of the left side that is not late, by its number."""
    results: dict[int, Change | None] = {}
    for number, (side, key, value, time, *_, change) in enumerate(steps):
        if side == 1 or time <= marks[number]:
            continue
        due = next(i for i in range(number + 1, len(marks)) if marks[i] >= time)
        version: tuple[str, Row] | None = None
        best = -1
        for other in steps[:due]:  # the last change with the highest time up to that of the row
            if other[0] == 1 and other[1] == key and other[6] != "-U" and best <= other[3] <= time:
                best, version = other[3], (other[6], row_of(*other[1:4]))
        joined = version is not None and version[0] != "-D" and key is not None
        if joined and with_condition:
            assert version is not None
            joined = value is not None and version[1][1] is not None and value > version[1][1]
        row = row_of(key, value, time)
        if joined:
            assert version is not None
            results[number] = (change, row + version[1])
        else:
            results[number] = (change, row + NONE) if kind == "LEFT" else None
    return results


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
@pytest.mark.parametrize("with_condition", [False, True])
@settings(max_examples=60)
@given(steps=STEPS)
def test_rows_are_joined_with_the_version_of_their_time(
    kind: str, with_condition: bool, steps: list[tuple[Any, ...]]
) -> None:
    marks = watermarks_of(steps)
    steps = [step for step, mark in zip(steps, marks, strict=False) if step[0] == 1 or step[3] > mark] or steps[:1]
    marks = watermarks_of(steps)
    steps = [
        (1, *step[1:]) if step[0] == 0 and step[3] <= mark else step for step, mark in zip(steps, marks, strict=False)
    ]
    slot = make_slot(kind, LARGER if with_condition else None)
    found = run(slot, steps, marks, [step[4] for step in steps])
    wanted = [change for change in model(kind, with_condition, steps, marks).values() if change is not None]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    keys = {step[1] for step in steps if step[0] == 1 and step[6] != "-U"}
    assert slot.count_entries() == len(keys)  # the last version of each key


@settings(max_examples=60)
@given(steps=STEPS)
def test_late_rows_do_not_depend_on_the_cut_into_batches(steps: list[tuple[Any, ...]]) -> None:
    marks = watermarks_of(steps)
    found = run(make_slot("LEFT"), steps, marks, [step[4] for step in steps])
    assert sorted(map(repr, found)) == sorted(map(repr, run(make_slot("LEFT"), steps, marks, ["cut"] * len(steps))))
    assert len(found) == sum(step[0] == 0 for step in steps)


def test_rows_wait_for_the_watermark() -> None:
    slot = make_slot("LEFT")
    left, first, second = row_of("a", 1, 10), row_of("a", 5, 3), row_of("a", 6, 9)
    assert slot.run_inputs([[left], [first]], watermark=8) == []
    assert slot.operator.next_event_time(8) == 10
    assert slot.run_inputs([[], [second]], watermark=9) == []
    assert slot.run_inputs([[], []], watermark=12) == [(("+I", left + second), 9)]
    assert slot.run_inputs([[row_of("a", 1, 4)], []]) == []  # late: the version of its time is gone
    assert [row for (_, row), _ in slot.run_inputs([[], []], watermark=13)] == [row_of("a", 1, 4) + NONE]


def test_rows_of_a_key_leave_in_the_order_of_their_arrival() -> None:
    slot = make_slot("LEFT")
    rows = [row_of("a", n, time) for n, time in enumerate([5, 3, 4])]
    out = slot.run_inputs([rows, []], watermark=10)
    assert [row[:3] for (_, row), _ in out] == rows
