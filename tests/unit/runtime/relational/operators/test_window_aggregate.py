"""Aggregates of windows on a grid. Expected rows of the examples are those of Flink 2.3."""

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
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.windows.streams import MS, Stream, streams

_TIMESTAMP = TimestampType(3)
_TYPES: tuple[LogicalType, ...] = (STRING, BIGINT, TimestampType(3, attribute="ROWTIME"))
_CALLS = (
    AggregateCall("COUNT", (), (), BIGINT),
    AggregateCall("SUM", (1,), (BIGINT,), BIGINT),
    AggregateCall("COUNT", (1,), (BIGINT,), BIGINT, distinct=True),
)


def _spec(window: Window, *, keys: tuple[int, ...] = (0,), **facts: Any) -> WindowAggregateSpec:
    calls = facts.pop("calls", _CALLS)
    types = facts.pop("input_types", _TYPES)
    out = (*(types[k] for k in keys), *(call.type for call in calls), _TIMESTAMP, _TIMESTAMP)
    return WindowAggregateSpec(
        input_types=types, keys=keys, calls=calls, window=window, properties=("start", "end"), output_types=out, **facts
    )


def _windows(window: Window, time: int) -> list[tuple[int, int]]:
    size, step, offset = window.size, window.slide, window.offset
    if window.kind == "HOP":
        last = (time - offset) // step * step + offset
        return [(start, start + size) for start in range(last, time - size, -step)]
    start = (time - offset) // size * size + offset
    if window.kind == "TUMBLE":
        return [(start, start + size)]
    return [(start, end) for end in range(start + step, start + size + 1, step) if time < end]


def _model(stream: Stream, window: Window, keyed: bool) -> tuple[dict[Any, tuple[int, ...]], int]:
    """Adds each row to all its windows that have not ended."""
    values: dict[Any, list[int]] = {}
    late = 0
    for change, mark in zip(stream.rows, stream.marks, strict=True):
        kind, (key, value, nanos) = change if isinstance(change[1], tuple) else ("+I", change)
        windows = _windows(window, nanos // MS)
        taken = [w for w in windows if w[1] - 1 > mark]
        late += bool(windows) and not taken
        for start, end in taken:
            found = values.setdefault((end, key if keyed else None, start), [])
            found.append(value) if kind == "+I" else found.remove(value)
    return {where: (len(found), sum(found), len(set(found))) for where, found in values.items() if found}, late


_GRIDS = st.one_of(
    st.builds(Window, st.just("TUMBLE"), st.integers(1, 20), st.just(0), st.integers(-5, 5), st.just(2)),
    st.integers(1, 8).flatmap(
        lambda step: st.builds(
            lambda kind, factor, offset: Window(kind, step * factor, step, offset, 2),
            st.sampled_from(["HOP", "CUMULATE"]), st.integers(1, 5), st.integers(-5, 5),
        )
    ),
    st.builds(Window, st.just("HOP"), st.integers(1, 12), st.integers(1, 12), st.integers(-5, 5), st.just(2)),
)  # fmt: skip


def _check(found: list[Any], expected: dict[Any, tuple[int, ...]], keyed: bool) -> None:
    assert all(kind == "+I" for kind, _ in found)
    rows = [row if keyed else (None, *row) for _, row in found]
    assert [row[5] for row in rows] == sorted(row[5] for row in rows), "in the order of ends"
    assert {(row[5] // MS, row[0], row[4] // MS): row[1:4] for row in rows} == expected
    assert len(rows) == len(expected)


@settings(max_examples=300, deadline=None)
@given(streams(), _GRIDS, st.booleans(), st.booleans())
def test_results_do_not_depend_on_batches(stream: Stream, window: Window, keyed: bool, legacy: bool) -> None:
    slot = RelationalSlot(_spec(window, keys=(0,) if keyed else (), legacy=legacy))
    found = stream.run(slot)
    expected, late = _model(stream, window, keyed)
    _check(found, expected, keyed)
    if not any(stream.restarts):
        assert slot.operator.late_records == late
    assert slot.count_entries() == 0
    assert slot.operator.next_event_time(MAX_WATERMARK - 1) is None
    if not any(stream.restarts):
        assert stream.run_one_by_one(RelationalSlot(_spec(window, keys=(0,) if keyed else ()))) == found


@settings(max_examples=150, deadline=None)
@given(streams(changes=True), _GRIDS)
def test_rows_that_are_removed(stream: Stream, window: Window) -> None:
    late = [m for (_, row), m in zip(stream.rows, stream.marks, strict=True) if row[2] // MS <= m]
    if late:  # a late row that is removed, or the removal of a row that was not late, has no model
        stream.marks = [MIN_WATERMARK] * len(stream.marks)
    slot = RelationalSlot(_spec(window, insert_only=False))
    _check(stream.run(slot), _model(stream, window, True)[0], True)
    assert slot.count_entries() == 0


# (key, second) in the order of arrival; the value is the position. The watermark is one second behind.
_LATE = [
    ("a", 1), ("b", 4), ("a", 12), ("a", 3), ("b", 7), ("a", 18), ("a", 14), ("a", 9), ("b", 22), ("a", 21), ("b", 11), ("a", 35),
    ("a", 24), ("b", 29), ("a", 50),
]  # fmt: skip
_TEXTS = (
    AggregateCall("COUNT", (), (), BIGINT),
    AggregateCall("LISTAGG", (1,), (STRING,), STRING),
)


def _late_rows() -> Stream:
    marks, mark = [], MIN_WATERMARK
    for _, second in _LATE:
        marks.append(mark)
        mark = max(mark, second * 1000 - 1000)
    return Stream([(k, str(i), s * 1000 * MS) for i, (k, s) in enumerate(_LATE, 1)], marks, [], [])


def _seconds(window: Window) -> Window:
    return Window(window.kind, window.size * 1000, window.slide * 1000, window.offset * 1000, 2)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (
            Window("TUMBLE", 10),
            "0-10 a 1: 1; 0-10 b 1: 2; 10-20 a 3: 3,6,7; 20-30 a 1: 10; 20-30 b 1: 9; 30-40 a 1: 12; 50-60 a 1: 15",
        ),
        (
            Window("HOP", 15, 5),
            "-10-5 a 1: 1; -10-5 b 1: 2; -5-10 a 1: 1; -5-10 b 1: 2; 0-15 a 3: 3,1,4; 0-15 b 2: 5,2; 5-20 a 4: 6,3,7,8; "
            "5-20 b 1: 5; 10-25 a 4: 10,6,3,7; 10-25 b 2: 9,11; 15-30 a 2: 10,6; 15-30 b 1: 9; 20-35 a 2: 10,13; "
            "20-35 b 2: 14,9; 25-40 a 1: 12; 25-40 b 1: 14; 30-45 a 1: 12; 35-50 a 1: 12; 40-55 a 1: 15; 45-60 a 1: 15; "
            "50-65 a 1: 15",
        ),
        (
            Window("HOP", 15, 5, -3),
            "-13-2 a 1: 1; -8-7 a 1: 1; -8-7 b 1: 2; -3-12 a 2: 4,1; -3-12 b 2: 5,2; 2-17 a 2: 3,4; 2-17 b 2: 5,2; "
            "7-22 a 5: 6,10,3,7,8; 7-22 b 2: 5,11; 12-27 a 4: 6,10,3,7; 12-27 b 1: 9; 17-32 a 2: 6,10; 17-32 b 1: 9; "
            "22-37 a 2: 12,13; 22-37 b 2: 14,9; 27-42 a 1: 12; 27-42 b 1: 14; 32-47 a 1: 12; 37-52 a 1: 15; 42-57 a 1: 15; "
            "47-62 a 1: 15",
        ),
        (
            Window("CUMULATE", 15, 5),
            "0-5 a 1: 1; 0-5 b 1: 2; 0-10 a 1: 1; 0-10 b 1: 2; 0-15 a 3: 1,4,3; 0-15 b 2: 2,5; 15-20 a 1: 6; 15-25 a 2: 6,10; "
            "15-25 b 1: 9; 15-30 a 2: 6,10; 15-30 b 1: 9; 30-40 a 1: 12; 30-45 a 1: 12; 45-55 a 1: 15; 45-60 a 1: 15",
        ),
        (
            Window("CUMULATE", 15, 5, 2),
            "-13-2 a 1: 1; 2-7 b 1: 2; 2-12 a 1: 4; 2-12 b 2: 2,5; 2-17 a 2: 4,3; 2-17 b 2: 2,5; 17-22 a 2: 6,10; "
            "17-27 a 2: 6,10; 17-27 b 1: 9; 17-32 a 2: 6,10; 17-32 b 1: 9; 32-37 a 1: 12; 32-42 a 1: 12; 32-47 a 1: 12; "
            "47-52 a 1: 15; 47-57 a 1: 15; 47-62 a 1: 15",
        ),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("one_by_one", [True, False])
def test_late_rows_as_in_flink(window: Window, expected: str, one_by_one: bool) -> None:
    types = (STRING, STRING, TimestampType(3, attribute="ROWTIME"))
    slot = RelationalSlot(_spec(_seconds(window), calls=_TEXTS, input_types=types))
    stream = _late_rows()
    out = stream.run_one_by_one(slot) if one_by_one else stream.run(slot)
    rows = [
        (end // 10**9, key, f"{start // 10**9}-{end // 10**9} {key} {n}: {text}")
        for _, (key, n, text, start, end) in out
    ]
    assert "; ".join(text for _, _, text in sorted(rows)) == expected


def test_a_legacy_hop_window_merges_the_earliest_slice_first() -> None:
    types = (STRING, STRING, TimestampType(3, attribute="ROWTIME"))
    times = [("a", 1), ("a", 2), ("b", 3), ("a", 12), ("a", 4), ("b", 5), ("a", 17), ("a", 6), ("a", 33), ("a", 31)]
    slot = RelationalSlot(_spec(Window("HOP", 10_000, 4_000, 0, 2), calls=_TEXTS, input_types=types, legacy=True))
    marks, mark = [], MIN_WATERMARK
    for _, second in times:
        marks.append(mark)
        mark = max(mark, second * 1000 - 1000)
    out = Stream([(k, str(i), s * 1000 * MS) for i, (k, s) in enumerate(times, 1)], marks, [], []).run(slot)
    assert sorted((row[3] // 10**9, row[0], row[2]) for _, row in out) == [
        (-8, "a", "1"), (-4, "a", "1,2"), (-4, "b", "3"), (0, "a", "1,2"), (0, "b", "3"), (4, "a", "5,4"), (4, "b", "6"),
        (8, "a", "4,7"), (12, "a", "4,7"), (16, "a", "7"), (24, "a", "10,9"), (28, "a", "10,9"), (32, "a", "9"),
    ]  # fmt: skip


def test_results_are_emitted_below_the_watermark_of_their_window() -> None:
    slot = RelationalSlot(_spec(Window("TUMBLE", 10, time_column=2)))
    rows = [("a", 1, 3 * MS), ("a", 2, 13 * MS), ("a", 3, 35 * MS)]
    out = slot.run_marked(rows, watermarks=[0, 2, 12], watermark=34)
    assert [(row[5] // MS, mark) for (_, row), mark in out] == [(10, 8), (20, 18)]
    assert slot.operator.next_event_time(34) == 39


def test_windows_that_are_given_as_columns() -> None:
    types = (STRING, BIGINT, _TIMESTAMP, _TIMESTAMP)
    spec = _spec(Window("TUMBLE", 0), input_types=types, start_column=2, end_column=3)
    slot = RelationalSlot(spec)
    rows = [
        ("a", 1, 0, 10 * MS),
        ("a", 2, 5 * MS, 10 * MS),
        ("a", 3, 0, 10 * MS),
        ("b", 4, 0, 20 * MS),
        ("a", 9, None, None),
    ]
    assert slot.run(rows, watermark=8) == []
    assert slot.run([("a", 5, 0, 10 * MS)], watermarks=[9], watermark=9) == [
        ("+I", ("a", 2, 4, 2, 0, 10 * MS)), ("+I", ("a", 1, 2, 1, 5 * MS, 10 * MS)),
    ]  # fmt: skip
    assert slot.operator.late_records == 1
    assert slot.run(watermark=MAX_WATERMARK) == [("+I", ("b", 1, 4, 1, 0, 20 * MS))]


def test_properties_of_instants() -> None:
    local = TimestampType(3, local=True)
    types = (STRING, BIGINT, TimestampType(3, local=True, attribute="ROWTIME"))
    hour = 3_600_000
    spec = WindowAggregateSpec(
        input_types=types, keys=(), calls=_CALLS[:1], properties=("time", "end", "start", "proctime"),
        window=Window("TUMBLE", 24 * hour, time_column=2, zone="Asia/Tokyo"),
        output_types=(BIGINT, local, _TIMESTAMP, _TIMESTAMP, local),
    )  # fmt: skip
    slot = RelationalSlot(spec)
    slot.run([("a", 1, 0), ("a", 1, 15 * hour * MS)])
    assert slot.run(watermark=15 * hour - 2, now=7) == []
    assert slot.run(watermark=15 * hour - 1, now=7) == [("+I", (1, (15 * hour - 1) * MS, 24 * hour * MS, 0, 7 * MS))]


@pytest.mark.parametrize(
    ("window", "fired"),
    [
        (Window("TUMBLE", 10, 0, 0, 2, False), [(0, 10, 2, 20), (20, 30, 1, 30)]),
        (
            Window("HOP", 10, 5, 0, 2, False),
            [(-5, 5, 1, 7), (0, 10, 2, 20), (5, 15, 1, 20), (15, 25, 1, 25), (20, 30, 1, 30)],
        ),
        (Window("CUMULATE", 10, 5, 0, 2, False), [(0, 5, 1, 7), (0, 10, 2, 20), (20, 25, 1, 25), (20, 30, 1, 30)]),
    ],
    ids=str,
)
def test_windows_in_processing_time(window: Window, fired: list[tuple[int, ...]]) -> None:
    slot = RelationalSlot(_spec(window))
    found: list[tuple[int, ...]] = []
    for now, rows in [(3, 1), (7, 1), (7, 0), (20, 1)]:
        slot.restart()
        out = slot.run([("a", 1, None)] * rows, now=now)
        found += [(row[4] // MS, row[5] // MS, row[1], now) for _, row in out]
    while (wake := slot.operator.wake()) is not None:
        found += [(row[4] // MS, row[5] // MS, row[1], wake) for _, row in slot.run(now=wake)]
        slot.restart()
    assert found == fired


def test_many_windows_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.relational.windows.aggregate.hop._MOST_PAIRS", 7)
    slot = RelationalSlot(_spec(Window("HOP", 20, 2, 0, 2)))
    out = slot.run([("a", i, i * MS) for i in range(60)], watermark=MAX_WATERMARK)
    assert [row[5] // MS for _, row in out] == list(range(2, 80, 2))
    assert sum(row[1] for _, row in out) == 600
