from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import TemporalSortSpec
from penstock.types.logical.kinds import INT, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot, Row

_TYPES = (INT, TimestampType(3))
_ORDER = (SortKey(1), SortKey(0, ascending=False, nulls_first=False))


def _spec(event_time: bool = True) -> TemporalSortSpec:
    return TemporalSortSpec(input_types=_TYPES, output_types=_TYPES, order=_ORDER, event_time=event_time)


def _row(value: int | None, seconds: float) -> Row:
    return (value, int(seconds * 10**9))


def test_order_and_late_rows_are_those_of_flink() -> None:
    """Rows below the watermark are kept while nothing later has left. The watermark follows each row by 2 seconds."""
    rows = [(1, 5), (2, 4), (3, 3), (4, 10), (5, 9), (6, 7.5), (7, 20), (8, 18), (9, 12), (10, 18), (11, 30), (12, 25), (13, 29.5),
            (14, 28), (15, 29), (16, 40), (17, 40)]  # fmt: skip
    slot, out = RelationalSlot(_spec()), []
    for value, seconds in rows:
        out += slot.run([_row(value, seconds)], watermark=int(seconds * 1000) - 2000)
        slot.restart()
    out += slot.run([], watermark=10**9)
    assert [row[0] for _, row in out] == [3, 2, 1, 6, 5, 4, 9, 10, 8, 7, 12, 14, 15, 13, 11, 17, 16]
    assert slot.run([_row(18, 40), _row(19, 41)], watermark=2 * 10**9) == [("+I", _row(19, 41))]
    assert slot.operator.late_records == 1


def test_rows_leave_before_the_watermark_that_they_waited_for() -> None:
    slot = RelationalSlot(_spec())
    assert slot.run([_row(1, 5), _row(None, 3)], watermark=2999) == []
    assert slot.operator.next_event_time(2999) == 3000
    assert slot.run_marked([], watermark=9000) == [(("+I", _row(None, 3)), 2999), (("+I", _row(1, 5)), 4999)]
    assert slot.operator.next_event_time(9000) is None


def test_processing_time_sorts_a_batch() -> None:
    slot = RelationalSlot(_spec(event_time=False))
    assert [row[0] for _, row in slot.run([_row(1, 5), _row(None, 3), _row(2, 4)])] == [2, 1, None]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 4)), max_size=12),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
def test_result_does_not_depend_on_batches(events: list[tuple[int, int, int]], sizes: list[int]) -> None:
    marks = list(itertools.accumulate(e[2] for e in events))
    rows = [(value, time * 10**6) for value, time, _ in events]
    expected = _run(rows, marks, [1])
    assert _run(rows, marks, sizes) == expected
    times = [row[1] for _, row in expected[0]]
    assert times == sorted(times)
    assert len(times) + expected[1] == len(rows)


def _run(rows: list[Row], marks: list[int], sizes: list[int]) -> tuple[list[Any], int]:
    slot, out, at, late = RelationalSlot(_spec()), [], 0, 0
    for size in itertools.cycle(sizes):
        if at >= len(rows):
            break
        stop = min(at + size, len(rows))
        end = marks[stop] if stop < len(rows) else marks[stop - 1]
        out += slot.run(rows[at:stop], watermarks=marks[at:stop], watermark=end)
        at = stop
        late += slot.operator.late_records
        slot.restart()
    return out + slot.run([], watermark=1000), late
