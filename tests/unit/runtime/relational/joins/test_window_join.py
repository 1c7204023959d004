"""Window joins of random rows, watermarks and batches, compared with a join of the rows that were in time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.tree import Call, Column, Expression
from penstock.runtime.relational.specs.operators import WindowJoinSpec
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types.logical.kinds import BOOLEAN, INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot, Row

KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
TYPES = (STRING, INT, TimestampType(3), TimestampType(3))
LARGER = Call(">", (Column(1, INT), Column(5, INT)), BOOLEAN)
MILLI = 1_000_000  # values of timestamps are nanoseconds


def make_slot(kind: Any, condition: Expression | None = None, **fields: Any) -> RelationalSlot:
    spec = WindowJoinSpec(
        input_types=TYPES,
        right_types=TYPES,
        output_types=TYPES if kind in ("SEMI", "ANTI") else TYPES + TYPES,
        keys=(0, 2, 3),
        right_keys=(0, 2, 3),
        kind=kind,
        condition=condition,
        end_column=3,
        right_end_column=3,
        **fields,
    )
    return RelationalSlot(spec, input_types=[TYPES, TYPES])


def row_of(key: str | None, value: int | None, window: int) -> Row:
    return (key, value, window * 10 * MILLI, (window + 1) * 10 * MILLI)


def model(kind: str, left: list[Row], right: list[Row], with_condition: bool) -> list[Row]:
    """The join of the rows of one window and key, in Flink's order."""

    def match(a: Row, b: Row) -> bool:
        if a[0] is None:
            return False
        return not with_condition or (a[1] is not None and b[1] is not None and a[1] > b[1])

    none = (None,) * 4
    if kind in ("SEMI", "ANTI"):
        return [a for a in left if any(match(a, b) for b in right) == (kind == "SEMI")]
    rows: list[Row] = []
    if kind == "RIGHT":
        for b in right:
            found = [a + b for a in left if match(a, b)]
            rows += found or [none + b]
        return rows
    for a in left:
        found = [a + b for b in right if match(a, b)]
        rows += found or ([a + none] if kind in ("LEFT", "FULL") else [])
    if kind == "FULL":
        rows += [none + b for b in right if not any(match(a, b) for a in left)]
    return rows


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["a", "b", None]),
        st.sampled_from([1, 2, None]),
        st.integers(0, 3),
        st.sampled_from(["", "", "cut", "restart", "watermark"]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_condition", [False, True])
@settings(max_examples=40)
@given(steps=STEPS)
def test_each_window_is_joined_once(kind: str, with_condition: bool, steps: list[tuple[Any, ...]]) -> None:
    slot = make_slot(kind, LARGER if with_condition else None)
    stored: dict[tuple[int, Any], tuple[list[Row], list[Row]]] = {}
    watermark, late = MIN_WATERMARK, 0
    batch: tuple[list[Row], list[Row]] = ([], [])
    marks: tuple[list[int], list[int]] = ([], [])
    found: list[tuple[Row, int]] = []

    def run(end: int) -> None:
        out = slot.run_inputs([list(batch[0]), list(batch[1])], marks=[list(marks[0]), list(marks[1])], watermark=end)
        assert all(change[0] == "+I" for change, _ in out)
        found.extend((change[1], mark) for change, mark in out)
        for part in (*batch, *marks):
            part.clear()

    for side, key, value, window, then in steps:
        batch[side].append(row_of(key, value, window))
        marks[side].append(watermark)
        if (window + 1) * 10 - 1 <= watermark:
            late += 1
        else:
            stored.setdefault((window, key), ([], []))[side].append(row_of(key, value, window))
        if then == "watermark":
            watermark = max(watermark, window * 10 + 9)
        elif then:
            run(watermark)
            if then == "restart":
                late -= slot.operator.late_records
                slot.restart()
    run(MAX_WATERMARK)
    wanted = [
        (row, (window + 1) * 10 - 2)
        for (window, _), (left, right) in stored.items()
        for row in model(kind, left, right, with_condition)
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted)) or _unmarked(found) == _unmarked(wanted)
    for window_and_key in stored:  # within a window and key, the order is Flink's
        assert _of(found, window_and_key) == _of(wanted, window_and_key)
    assert slot.operator.late_records == late
    assert slot.count_entries() == 0


def _unmarked(rows: list[tuple[Row, int]]) -> list[str]:
    return sorted(repr(row) for row, _ in rows)


def _of(rows: list[tuple[Row, int]], window_and_key: tuple[int, Any]) -> list[Row]:
    window, key = window_and_key
    half = [(row[:4] if row[3] is not None else row[4:], row) for row, _ in rows]
    return [row for part, row in half if part[0] == key and part[2] == window * 10 * MILLI]


def test_results_come_before_the_watermark_that_ends_the_window() -> None:
    slot = make_slot("INNER")
    row = row_of("a", 1, 0)
    assert slot.run_inputs([[row], [row]], watermark=8) == []
    assert slot.operator.next_event_time(8) == 9
    assert slot.run_inputs([[], []], watermark=50) == [(("+I", row + row), 8)]


def test_rows_that_are_deleted_before_the_end_are_not_joined() -> None:
    slot = make_slot("LEFT")
    left, right = row_of("a", 1, 0), row_of("a", 2, 0)
    slot.run_inputs([[left], [right]])
    slot.run_inputs([[], [("-D", right)]])
    assert [change for change, _ in slot.run_inputs([[], []], watermark=9)] == [("+I", left + (None,) * 4)]


def test_windows_in_processing_time_end_with_the_clock() -> None:
    slot = make_slot("INNER", event_time=False)
    row = row_of("a", 1, 0)
    assert slot.run_inputs([[row], [row]], now=5) == []
    assert slot.operator.wake() == 10
    assert [change for change, _ in slot.run_inputs([[], []], now=10)] == [("+I", row + row)]
