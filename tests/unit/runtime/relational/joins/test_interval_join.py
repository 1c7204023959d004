"""Interval joins of random rows, watermarks and batches, compared with a plain join by the bounds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.specs.operators import IntervalJoinSpec
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types.logical.kinds import BOOLEAN, INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot, Row

KINDS = ("INNER", "LEFT", "RIGHT", "FULL")
TYPES = (STRING, INT, TimestampType(3, attribute="ROWTIME"))
LARGER = Call(">", (Column(1, INT), Column(4, INT)), BOOLEAN)
MILLI = 1_000_000  # values of timestamps are nanoseconds


def make_slot(kind: Any, lower: int, upper: int, condition: Expression | None = None, **fields: Any) -> RelationalSlot:
    spec = IntervalJoinSpec(
        input_types=TYPES,
        right_types=TYPES,
        output_types=TYPES + TYPES,
        keys=(0,),
        right_keys=(0,),
        kind=kind,
        condition=condition,
        left_time=2,
        right_time=2,
        lower=lower,
        upper=upper,
        **fields,
    )
    return RelationalSlot(spec, input_types=[TYPES, TYPES])


def row_of(key: str | None, value: int | None, time: int) -> Row:
    return (key, value, time * MILLI)


def model(kind: str, left: list[Row], right: list[Row], lower: int, upper: int, with_condition: bool) -> Counter[Row]:
    def match(a: Row, b: Row) -> bool:
        near = a[0] is not None and a[0] == b[0] and lower * MILLI <= a[2] - b[2] <= upper * MILLI
        return near and (not with_condition or (a[1] is not None and b[1] is not None and a[1] > b[1]))

    none = (None, None, None)
    rows = [a + b for a in left for b in right if match(a, b)]
    if kind in ("LEFT", "FULL"):
        rows += [a + none for a in left if not any(match(a, b) for b in right)]
    if kind in ("RIGHT", "FULL"):
        rows += [none + b for b in right if not any(match(a, b) for a in left)]
    return Counter(rows)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["a", "b", None]),
        st.sampled_from([1, 2, None]),
        st.integers(0, 20),
        st.sampled_from(["", "", "cut", "restart"]),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=20,
)
BOUNDS = st.tuples(st.integers(-8, 8), st.integers(0, 8)).map(lambda b: (b[0], b[0] + b[1]))


def run(slot: RelationalSlot, steps: list[tuple[Any, ...]], watermarks: list[int], cuts: list[str]) -> Counter[Row]:
    """Runs rows with the watermarks at which they arrive, in batches that end at the cuts."""
    found: Counter[Row] = Counter()
    batch: tuple[list[Row], list[Row]] = ([], [])
    marks: tuple[list[int], list[int]] = ([], [])
    ranks: tuple[list[int], list[int]] = ([], [])
    ends = [*watermarks[1:], MAX_WATERMARK]
    for number, ((side, key, value, time, *_), mark, end, cut) in enumerate(
        zip(steps, watermarks, ends, cuts, strict=True)
    ):
        batch[side].append(row_of(key, value, time))
        marks[side].append(mark)
        ranks[side].append(number)
        if cut or number == len(steps) - 1:
            out = slot.run_inputs(batch, marks=marks, ranks=ranks, watermark=end)
            assert all(kind == "+I" for (kind, _), _ in out)
            found.update(row for (_, row), _ in out)
            batch, marks, ranks = ([], []), ([], []), ([], [])
        if cut == "restart":
            slot.restart()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_condition", [False, True])
@settings(max_examples=40)
@given(steps=STEPS, bounds=BOUNDS)
def test_rows_in_time_are_joined_by_the_bounds(
    kind: str, with_condition: bool, steps: list[tuple[Any, ...]], bounds: tuple[int, int]
) -> None:
    slot = make_slot(kind, *bounds, LARGER if with_condition else None)
    watermarks = [min(step[3] for step in steps[i:]) - 1 for i in range(len(steps))]
    found = run(slot, steps, watermarks, [step[4] for step in steps])
    sides = [[row_of(*step[1:4]) for step in steps if step[0] == side] for side in (0, 1)]
    assert found == model(kind, sides[0], sides[1], *bounds, with_condition)
    assert slot.count_entries() == 0


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(steps=STEPS, bounds=BOUNDS)
def test_late_rows_do_not_depend_on_the_cut_into_batches(
    kind: str, steps: list[tuple[Any, ...]], bounds: tuple[int, int]
) -> None:
    watermark, watermarks = MIN_WATERMARK, []
    for step in steps:
        watermarks.append(watermark)
        if step[5] == 0:
            watermark = max(watermark, step[3] + 2)
    slot = make_slot(kind, *bounds, LARGER)
    found = run(slot, steps, watermarks, [step[4] for step in steps])
    assert found == run(make_slot(kind, *bounds, LARGER), steps, watermarks, ["cut"] * len(steps))
    assert slot.count_entries() == 0


def test_a_row_without_match_is_emitted_half_an_interval_after_it_expired() -> None:
    slot = make_slot("LEFT", 0, 10)  # the right row is up to 10 ms earlier
    row = row_of("a", 1, 100)
    slot.run_inputs([[row], []], watermark=104)
    assert slot.operator.next_event_time(104) == 106
    assert slot.run_inputs([[], []], watermark=105) == []
    assert slot.run_inputs([[], []], watermark=200) == [(("+I", row + (None,) * 3), 105)]


def test_the_watermark_of_the_output_is_delayed() -> None:
    slot = make_slot("INNER", 0, 10, watermark_delay=15)
    left, right = row_of("a", 1, 100), row_of("a", 1, 95)
    assert slot.run_inputs([[left], [right]]) == [(("+I", left + right), MIN_WATERMARK)]
    slot.run_inputs([[], []], watermark=99)
    assert [mark for _, mark in slot.run_inputs([[left], []])] == [84]


def test_a_row_that_no_later_row_can_match_is_not_kept() -> None:
    slot = make_slot("LEFT", 0, 10)
    slot.run_inputs([[], []], watermark=100)
    row = row_of("a", 1, 90)
    assert [change for change, _ in slot.run_inputs([[row], []])] == [("+I", row + (None,) * 3)]
    assert slot.count_entries() == 0


def test_processing_time() -> None:
    slot = make_slot("LEFT", -10, 0, event_time=False)  # the right row comes up to 10 ms later
    row = row_of("a", 1, 0)
    assert slot.run_inputs([[row, row_of("b", 2, 0)], []], now=100) == []
    assert [change for change, _ in slot.run_inputs([[], [row]], now=110)] == [("+I", row + row)]
    assert slot.operator.wake() == 116
    assert [change for change, _ in slot.run_inputs([[], []], now=116)] == [("+I", row_of("b", 2, 0) + (None,) * 3)]
    assert slot.run_inputs([[], [row]], now=117) == []
