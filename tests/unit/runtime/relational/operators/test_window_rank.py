"""Top-N and deduplication per window. Expected rows of the examples are those of Flink 2.3."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import WindowRankSpec
from penstock.time import MAX_WATERMARK
from penstock.types.logical.kinds import BIGINT, STRING, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.windows.streams import MS, Stream, streams

_TIMESTAMP = TimestampType(3)
_TYPES = (STRING, BIGINT, TimestampType(3, attribute="ROWTIME"), _TIMESTAMP)


def _instant(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def _spec(*order: SortKey, start: int = 1, end: int = 2, rank: bool = True, **facts: Any) -> WindowRankSpec:
    out = (*_TYPES, BIGINT) if rank else _TYPES
    return WindowRankSpec(
        input_types=_TYPES, keys=(0,), order=order, start=start, end=end, outputs_rank=rank, end_column=3, output_types=out,
        **facts,
    )  # fmt: skip


def _windowed(stream: Stream, size: int) -> Stream:
    rows = [(k, None if v % 5 == 4 else v % 3, t, (t // MS // size + 1) * size * MS) for k, v, t in stream.rows]
    return Stream(rows, stream.marks, stream.cuts, stream.restarts)


def _model(stream: Stream, key: SortKey, start: int, end: int) -> list[Any]:
    windows: dict[Any, list[Any]] = {}
    for row, mark in zip(stream.rows, stream.marks, strict=True):
        if row[3] // MS - 1 > mark:
            windows.setdefault((row[3], row[0]), []).append(row)
    result = []
    for rows in windows.values():
        present = sorted((r for r in rows if r[1] is not None), key=lambda r: r[1] if key.ascending else -r[1])
        nulls = [r for r in rows if r[1] is None]
        ranked = nulls + present if key.nulls_first else present + nulls
        result += [(*row, rank) for rank, row in enumerate(ranked, 1) if start <= rank <= end]
    return result


@settings(max_examples=100, deadline=None)
@given(
    streams(), st.builds(SortKey, st.just(1), st.booleans(), st.booleans()),
    st.integers(1, 2), st.integers(0, 2), st.integers(5, 20),
)  # fmt: skip
def test_ranks_do_not_depend_on_batches(stream: Stream, key: SortKey, start: int, more: int, size: int) -> None:
    windowed = _windowed(stream, size)
    slot = RelationalSlot(_spec(key, start=start, end=start + more))
    found = [row for _, row in windowed.run(slot)]
    assert [row[3] for row in found] == sorted(row[3] for row in found)
    order = lambda row: (row[3], str(row[0]), row[4])  # noqa: E731
    assert sorted(found, key=order) == sorted(_model(windowed, key, start, start + more), key=order)
    assert slot.count_entries() == 0


_TIES = [("a", 1, 1), ("a", 2, 3), ("a", 3, 3), ("a", 4, 2), ("a", 5, 1), ("a", 6, 14)]


@pytest.mark.parametrize("cut", [1, 2, 6])
@pytest.mark.parametrize(
    ("ascending", "end", "values"),
    [(True, 1, [1, 6]), (False, 1, [3, 6]), (True, 4, [1, 5, 4, 2, 6]), (False, 4, [2, 3, 4, 1, 6])],
)
def test_rows_with_equal_times(ascending: bool, end: int, values: list[int], cut: int) -> None:
    slot = RelationalSlot(_spec(SortKey(2, ascending, ascending), end=end, rank=False))
    rows = [(k, v, t * MS, (t // 10 + 1) * 10 * MS) for k, v, t in _TIES]
    out = [change for i in range(0, 6, cut) for change in slot.run(rows[i : i + cut])] + slot.run(
        watermark=MAX_WATERMARK
    )
    assert [row[1] for _, row in out] == values


def test_late_rows_are_dropped() -> None:
    slot = RelationalSlot(_spec(SortKey(1)))
    out = slot.run_marked([("a", 1, 0, 10 * MS), ("a", 2, 0, 10 * MS)], watermarks=[8, 9], watermark=12)
    assert out == [(("+I", ("a", 1, 0, 10 * MS, 1)), 8)]
    assert slot.operator.late_records == 1


def test_windows_in_local_time_and_in_processing_time() -> None:
    end = _instant("2024-11-03T01:30:00")  # occurs twice in this zone
    slot = RelationalSlot(_spec(SortKey(1), zone="America/Los_Angeles"))
    assert slot.run([("a", 1, 0, end * MS)], watermark=_instant("2024-11-03T08:30:00")) == []
    assert slot.operator.next_event_time(slot.watermark) == _instant("2024-11-03T09:30:00") - 1
    assert len(slot.run(watermark=_instant("2024-11-03T09:30:00") - 1)) == 1
    slot = RelationalSlot(_spec(SortKey(1), event_time=False, zone="UTC"))
    assert slot.run([("a", 1, None, 10 * MS)], now=5) == []
    assert slot.operator.wake() == 10
    assert len(slot.run(now=10)) == 1
    assert slot.operator.wake() is None
