"""Legacy group windows with early and late results. Expected changes of the examples are those of Flink 2.3."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.specs.window import Window
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types.logical.kinds import BIGINT, STRING, LogicalType, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot, final_table
from tests.unit.runtime.relational.windows.streams import MS, Stream, streams

_TYPES: tuple[LogicalType, ...] = (STRING, BIGINT, TimestampType(3, attribute="ROWTIME"))
_CALLS = (AggregateCall("COUNT", (), (), BIGINT), AggregateCall("SUM", (1,), (BIGINT,), BIGINT))
_ROWS = [("a", 1), ("a", 2), ("b", 3), ("a", 12), ("a", 4), ("b", 5), ("a", 17), ("a", 6), ("a", 33), ("a", 31)]


def _spec(window: Window, **facts: Any) -> WindowAggregateSpec:
    return WindowAggregateSpec(
        input_types=_TYPES, keys=(0,), calls=_CALLS, window=window, properties=("start",), legacy=True,
        output_types=(STRING, BIGINT, BIGINT, TimestampType(3)), **facts,
    )  # fmt: skip


def _run(**facts: Any) -> list[str]:
    """One row per batch; the watermark is one second behind."""
    slot = RelationalSlot(_spec(facts.pop("window", Window("TUMBLE", 10_000, time_column=2)), **facts))
    marks, mark = [], MIN_WATERMARK
    for _, second in _ROWS:
        marks.append(mark)
        mark = max(mark, second * 1000 - 1000)
    rows = [(key, i, second * 1000 * MS) for i, (key, second) in enumerate(_ROWS, 1)]
    out = Stream(rows, marks, [], []).run_one_by_one(slot)
    assert slot.count_entries() == 0
    return [f"{kind} {row[3] // 10**9} {row[0]} {row[1]} {row[2]}" for kind, row in out]


def test_early_results_as_in_flink() -> None:
    assert _run(early=0) == [
        "+I 0 a 1 1", "-U 0 a 1 1", "+U 0 a 2 3", "+I 0 b 1 3", "+I 10 a 1 4", "-U 10 a 1 4", "+U 10 a 2 11", "+I 30 a 1 9",
        "-U 30 a 1 9", "+U 30 a 2 19",
    ]  # fmt: skip
    assert _run(early=0, update_before=False) == [
        "+I 0 a 1 1", "+U 0 a 2 3", "+I 0 b 1 3", "+I 10 a 1 4", "+U 10 a 2 11", "+I 30 a 1 9", "+U 30 a 2 19",
    ]  # fmt: skip


def test_allowed_lateness_has_no_effect_without_late_results() -> None:
    assert _run(early=0, allow_lateness=10_000) == _run(early=0)


def test_late_results_as_in_flink() -> None:
    found = _run(late=0, allow_lateness=10_000)
    assert sorted(found[:2]) == ["+I 0 a 2 3", "+I 0 b 1 3"]  # both keys at the same watermark
    assert found[2:] == [
        "-U 0 a 2 3", "+U 0 a 3 8", "-U 0 b 1 3", "+U 0 b 2 9", "-U 0 a 3 8", "+U 0 a 4 16", "+I 10 a 2 11", "+I 30 a 2 19",
    ]  # fmt: skip


def test_early_and_late_results_as_in_flink() -> None:
    assert _run(early=0, late=0, allow_lateness=10_000) == [
        "+I 0 a 1 1", "-U 0 a 1 1", "+U 0 a 2 3", "+I 0 b 1 3", "+I 10 a 1 4", "-U 0 a 2 3", "+U 0 a 3 8", "-U 0 b 1 3",
        "+U 0 b 2 9", "-U 10 a 1 4", "+U 10 a 2 11", "-U 0 a 3 8", "+U 0 a 4 16", "+I 30 a 1 9", "-U 30 a 1 9", "+U 30 a 2 19",
    ]  # fmt: skip


def test_hop_windows_as_in_flink() -> None:
    found = _run(window=Window("HOP", 10_000, 4_000, time_column=2), early=0, late=0, allow_lateness=10_000)
    counts = [" ".join(text.split()[:4]) for text in found]
    assert counts[:15] == [
        "+I 0 a 1", "+I -4 a 1", "+I -8 a 1", "-U 0 a 1", "+U 0 a 2", "-U -4 a 1", "+U -4 a 2", "+I 0 b 1", "+I -4 b 1",
        "+I 12 a 1",
        "+I 8 a 1", "+I 4 a 1", "-U 4 a 1", "+U 4 a 2", "-U 0 a 2",
    ]  # fmt: skip
    assert counts[15:] == [
        "+U 0 a 3", "-U -4 a 2", "+U -4 a 3", "+I 4 b 1", "-U 0 b 1", "+U 0 b 2", "-U -4 b 1", "+U -4 b 2", "+I 16 a 1",
        "-U 12 a 1",
        "+U 12 a 2", "-U 8 a 1", "+U 8 a 2", "-U 4 a 2", "+U 4 a 3", "-U 0 a 3", "+U 0 a 4", "+I 32 a 1", "+I 28 a 1", "+I 24 a 1",
        "-U 28 a 1", "+U 28 a 2", "-U 24 a 1", "+U 24 a 2",
    ]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    streams(), st.sampled_from([None, 0]), st.sampled_from([None, 0]), st.integers(0, 20),
    st.sampled_from([Window("TUMBLE", 10, 0, 0, 2), Window("HOP", 10, 4, 1, 2)]),
)  # fmt: skip
def test_the_final_table_does_not_depend_on_batches(
    stream: Stream, early: int | None, late: int | None, lateness: int, window: Window
) -> None:
    spec = _spec(window, early=early, late=late, allow_lateness=lateness)
    slot = RelationalSlot(spec)
    found = final_table(stream.run(slot))
    expected: dict[Any, list[int]] = {}
    for (key, value, nanos), mark in zip(stream.rows, stream.marks, strict=True):
        time, step = nanos // MS, window.slide or window.size
        start = (time - window.offset) // step * step + window.offset
        while start > time - window.size:
            if start + window.size - 1 + (0 if late is None else lateness) > mark:
                expected.setdefault((key, start), []).append(value)
            start -= step
    assert found == {(key, len(v), sum(v), start * MS): 1 for (key, start), v in expected.items()}
    assert slot.count_entries() == 0


def test_early_results_at_intervals() -> None:
    slot = RelationalSlot(_spec(Window("TUMBLE", 1_000, time_column=2), early=100))
    assert slot.run([("a", 1, 0)], now=1_000) == []
    assert slot.operator.wake() == 1_100
    assert slot.run([("a", 2, 0)], now=1_050) == []
    assert slot.run([("a", 3, 0)], now=1_100) == [("+I", ("a", 2, 3, 0))]  # timers fire before the rows of the batch
    slot.restart()
    assert slot.operator.wake() == 1_200
    assert slot.run(now=1_210) == [("-U", ("a", 2, 3, 0)), ("+U", ("a", 3, 6, 0))]
    assert slot.operator.wake() is None
    assert slot.run([("a", 4, 0)], now=1_350) == []
    assert slot.operator.wake() == 1_400  # the times stay on the grid of the first row
    out = slot.run(watermark=MAX_WATERMARK, now=1_360)
    assert out == [("-U", ("a", 3, 6, 0)), ("+U", ("a", 4, 10, 0))]
    assert slot.count_entries() == 0


def test_late_results_at_intervals() -> None:
    slot = RelationalSlot(_spec(Window("TUMBLE", 10, time_column=2), late=100, allow_lateness=1_000))
    assert slot.run([("a", 1, 0)], watermark=9, now=1) == [("+I", ("a", 1, 1, 0))]
    assert slot.run([("a", 2, 0), ("b", 5, 0)], now=2) == [("+I", ("b", 1, 5, 0))]  # b had no result yet
    assert slot.run([("a", 3, 0)], now=50) == []
    assert slot.operator.wake() == 102
    assert slot.run(now=102) == [("-U", ("a", 1, 1, 0)), ("+U", ("a", 3, 6, 0))]
    assert slot.run([("a", 4, 0)], watermark=1_009, now=103) == []
    assert slot.count_entries() == 0


@pytest.mark.parametrize("zone", ["", "Asia/Tokyo"])
def test_windows_in_processing_time(zone: str) -> None:
    hour = 3_600_000
    slot = RelationalSlot(_spec(Window("TUMBLE", hour, time_column=2, event_time=False, zone=zone), early=0))
    assert [kind for kind, _ in slot.run([("a", 1, None)], now=5)] == ["+I"]
    assert slot.run(now=5) == []
    assert slot.operator.wake() == hour
    assert [kind for kind, _ in slot.run([("a", 2, None)], now=hour - 1)] == ["-U", "+U"]
    assert [(kind, row[1]) for kind, row in slot.run([("a", 3, None)], now=hour)] == [("+I", 1)]


def test_a_window_whose_rows_were_removed_is_deleted() -> None:
    slot = RelationalSlot(_spec(Window("TUMBLE", 10, time_column=2), early=0, insert_only=False))
    assert slot.run([("+I", ("a", 1, 0))]) == [("+I", ("a", 1, 1, 0))]
    assert slot.run([("-D", ("a", 1, 0))]) == [("-D", ("a", 1, 1, 0))]
    assert slot.run(watermark=MAX_WATERMARK) == []
