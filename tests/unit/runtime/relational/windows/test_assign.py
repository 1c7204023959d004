"""Rows with their windows. Expected windows are those of Flink 2.3."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.specs.window import Window
from penstock.runtime.relational.windows.assign import assign_windows
from penstock.runtime.relational.windows.grid import WindowGrid
from penstock.runtime.relational.windows.local_time import due_times, instants_of, latest_end, local_times
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

_MS = pa.timestamp("ms")
_LTZ = pa.timestamp("ms", "UTC")
_LOS_ANGELES = "America/Los_Angeles"


def _assigned(times: list[int | None], window: Window, type_: pa.DataType = _MS, now: int = 0) -> list[tuple[int, ...]]:
    changes = Changes([pa.array(range(len(times)), pa.int64()), pa.array(times, pa.int64()).cast(type_)], len(times))
    result = assign_windows(changes, window, now)
    assert result.columns[2].type == result.columns[3].type == _MS
    columns = [result.columns[0], *(c.cast(pa.int64()) for c in result.columns[2:])]
    return list(zip(*(c.to_pylist() for c in columns), strict=True))


def _instant(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


@pytest.mark.parametrize(("offset", "start"), [(0, 0), (6, -4), (-6, 4), (16, -4), (-16, 4)])
def test_tumble_with_offsets(offset: int, start: int) -> None:
    window = Window("TUMBLE", 10, offset=offset, time_column=1)
    assert _assigned([5], window) == [(0, start, start + 10, start + 9)]


def test_windows_of_hop_come_in_descending_order() -> None:
    window = Window("HOP", 15, 5, offset=2, time_column=1)
    assert _assigned([1, 6], window) == [
        (0, -3, 12, 11), (0, -8, 7, 6), (0, -13, 2, 1), (1, 2, 17, 16), (1, -3, 12, 11), (1, -8, 7, 6),
    ]  # fmt: skip


def test_hop_whose_size_is_no_multiple_of_the_slide() -> None:
    window = Window("HOP", 10, 4, time_column=1)
    assert [w[:3] for w in _assigned([1, 6], window)] == [(0, 0, 10), (0, -4, 6), (0, -8, 2), (1, 4, 14), (1, 0, 10)]


def test_hop_with_gaps_between_windows() -> None:
    window = Window("HOP", 10, 14, time_column=1)
    assert [w[:3] for w in _assigned([1, 9, 10, 13, 14], window)] == [(0, 0, 10), (1, 0, 10), (4, 14, 24)]


def test_windows_of_cumulate_come_in_ascending_order() -> None:
    window = Window("CUMULATE", 15, 5, time_column=1)
    assert [w[:3] for w in _assigned([1, 11, 16], window)] == [
        (0, 0, 5), (0, 0, 10), (0, 0, 15), (1, 0, 15), (2, 15, 20), (2, 15, 25), (2, 15, 30),
    ]  # fmt: skip


def test_rows_without_a_time_are_dropped_and_kinds_stay() -> None:
    changes = Changes([pa.array([1, None, 12], _MS)], 3, np.array([0, 0, 3], np.int8))
    result = assign_windows(changes, Window("TUMBLE", 10, time_column=0), 0)
    assert result.length == 2
    assert result.all_kinds().tolist() == [0, 3]
    assert result.columns[1].cast(pa.int64()).to_pylist() == [0, 10]


def test_no_rows() -> None:
    result = assign_windows(Changes([pa.array([], _LTZ)], 0), Window("HOP", 10, 5, time_column=0, zone="UTC"), 0)
    assert result.length == 0
    assert [c.type for c in result.columns] == [_LTZ, _MS, _MS, _LTZ]


def test_processing_time_windows_lie_on_local_time() -> None:
    window = Window("TUMBLE", 86_400_000, time_column=1, event_time=False, zone="Asia/Tokyo")
    nine = 9 * 3_600_000
    assert _assigned([None, None], window, now=nine) == [(i, 0, 86_400_000, 86_399_999 - nine) for i in range(2)]


def test_windows_of_instants_when_clocks_are_set_forward_and_back() -> None:
    window = Window("TUMBLE", 1_800_000, time_column=1, zone=_LOS_ANGELES)
    times = ["2024-03-10T09:50:00", "2024-03-10T10:05:00", "2024-11-03T08:40:00", "2024-11-03T09:40:00"]
    assert _assigned([_instant(t) for t in times], window, _LTZ) == [
        (0, _instant("2024-03-10T01:30:00"), _instant("2024-03-10T02:00:00"), _instant("2024-03-10T09:59:59.999")),
        (1, _instant("2024-03-10T03:00:00"), _instant("2024-03-10T03:30:00"), _instant("2024-03-10T10:29:59.999")),
        (2, _instant("2024-11-03T01:30:00"), _instant("2024-11-03T02:00:00"), _instant("2024-11-03T08:59:59.999")),
        (3, _instant("2024-11-03T01:30:00"), _instant("2024-11-03T02:00:00"), _instant("2024-11-03T08:59:59.999")),
    ]


def test_a_window_whose_end_occurs_twice_is_complete_after_the_second_time() -> None:
    ends = np.array([_instant("2024-11-03T01:30:00"), _instant("2024-11-03T02:00:00"), _instant("2024-11-03T02:30:00")])
    assert due_times(ends, _LOS_ANGELES).tolist() == [
        _instant("2024-11-03T09:30:00") - 1, _instant("2024-11-03T10:00:00") - 1, _instant("2024-11-03T10:30:00") - 1,
    ]  # fmt: skip


def test_a_window_whose_end_is_skipped_is_complete_after_the_gap() -> None:
    assert due_times(np.array([_instant("2024-03-10T02:30:00")]), _LOS_ANGELES).tolist() == [
        _instant("2024-03-10T10:00:00")
    ]


@given(
    st.lists(st.integers(-(10**12), 4 * 10**12), max_size=20), st.sampled_from(["", "UTC", "GMT+02:30", _LOS_ANGELES])
)
def test_the_bound_of_ends_holds_for_all_complete_windows(instants: list[int], zone: str) -> None:
    times = np.array(instants, np.int64)
    ends = local_times(times, zone) + 1
    due = due_times(ends, zone)
    for end, at in zip(ends.tolist(), due.tolist(), strict=True):
        assert end <= latest_end(at, zone)


def test_extreme_times_are_no_error() -> None:
    extremes = np.array([MIN_WATERMARK + 1, MAX_WATERMARK - 1], np.int64)
    for zone in ("", _LOS_ANGELES):
        local_times(extremes, zone)
        instants_of(extremes, zone)
        assert latest_end(MAX_WATERMARK, zone) == MAX_WATERMARK
        assert latest_end(MIN_WATERMARK, zone) <= MIN_WATERMARK + 1


@given(
    st.sampled_from(["TUMBLE", "HOP", "CUMULATE"]), st.integers(1, 6), st.integers(1, 5), st.integers(-20, 20),
    st.lists(st.integers(-60, 60), max_size=20),
)  # fmt: skip
def test_slices_cover_exactly_the_windows(kind: str, step: int, factor: int, offset: int, values: list[int]) -> None:
    size = step * factor
    window = Window(kind, size, 0 if kind == "TUMBLE" else step, offset)  # type: ignore[arg-type]
    grid = WindowGrid(window)
    times = np.array(values, np.int64)
    rows, starts, ends = grid.windows(times)
    found = list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))
    expected = [(i, *w) for i, t in enumerate(values) for w in _model(kind, t, size, step, offset)]
    assert found == expected
    slices = grid.slice_ends(times)
    assert (slices > times).all()
    assert (slices - grid.slice <= times).all()
    assert (grid.last_window_ends(slices) >= slices).all()


def _model(kind: str, time: int, size: int, step: int, offset: int) -> list[tuple[int, int]]:
    if kind == "TUMBLE":
        start = (time - offset) // size * size + offset
        return [(start, start + size)]
    if kind == "CUMULATE":
        start = (time - offset) // size * size + offset
        return [(start, end) for end in range(start + step, start + size + 1, step) if time < end]
    last = (time - offset) // step * step + offset
    return [(start, start + size) for start in range(last, time - size, -step)]
