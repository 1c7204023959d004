"""Aggregates of sessions. Expected rows of the examples are those of Flink 2.3."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
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
_TYPES: tuple[LogicalType, ...] = (STRING, STRING, TimestampType(3, attribute="ROWTIME"))
_CALLS = (AggregateCall("COUNT", (), (), BIGINT), AggregateCall("LISTAGG", (1,), (STRING,), STRING))


def _instant(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def _spec(gap: int, keys: tuple[int, ...] = (0,), **facts: Any) -> WindowAggregateSpec:
    types = facts.pop("input_types", _TYPES)
    window = Window("SESSION", gap, time_column=2, **facts.pop("window", {}))
    calls = facts.pop("calls", _CALLS)
    out = (*(types[k] for k in keys), *(call.type for call in calls), _TIMESTAMP, _TIMESTAMP)
    return WindowAggregateSpec(
        input_types=types, keys=keys, calls=calls, window=window, properties=("start", "end"), output_types=out, **facts
    )


def _model(stream: Stream, gap: int) -> tuple[dict[Any, str], int]:
    live: list[list[Any]] = []  # key, start, end, texts
    ended: list[list[Any]] = []
    late = 0
    for (key, text, nanos), mark in zip(stream.rows, stream.marks, strict=True):
        time = nanos // MS
        ended += [s for s in live if s[2] - 1 <= mark]
        live = [s for s in live if s[2] - 1 > mark]
        touched = sorted((s for s in live if s[0] == key and s[1] <= time + gap and s[2] >= time), key=lambda s: s[1])
        if not touched and time + gap - 1 <= mark:
            late += 1
            continue
        for other in touched:
            live.remove(other)
        texts = [t for other in touched for t in other[3]]
        bounds = [b for other in touched for b in other[1:3]]
        live.append([key, min([time, *bounds]), max([time + gap, *bounds]), [*texts, text]])
    return {(key, start, end): ",".join(texts) for key, start, end, texts in ended + live}, late


@settings(max_examples=200, deadline=None)
@given(streams(), st.integers(1, 12))
def test_sessions_do_not_depend_on_batches(stream: Stream, gap: int) -> None:
    stream.rows = [(key, str(value), time) for key, value, time in stream.rows]
    slot = RelationalSlot(_spec(gap))
    found = stream.run(slot)
    expected, late = _model(stream, gap)
    assert {(row[0], row[3] // MS, row[4] // MS): row[2] for _, row in found} == expected
    assert all(row[1] == row[2].count(",") + 1 for _, row in found)
    assert [row[4] for _, row in found] == sorted(row[4] for _, row in found)
    assert len(found) == len(expected)
    assert slot.count_entries() == 0
    if not any(stream.restarts):
        assert slot.operator.late_records == late
        assert stream.run_one_by_one(RelationalSlot(_spec(gap))) == found


def _run(times: Sequence[tuple[str, float]], gap: float, legacy: bool = False) -> list[tuple[Any, ...]]:
    """The watermark is one second behind."""
    marks, mark = [], MIN_WATERMARK
    for _, second in times:
        marks.append(mark)
        mark = max(mark, int(second * 1000) - 1000)
    rows = [(key, str(i), int(second * 1000) * MS) for i, (key, second) in enumerate(times, 1)]
    out = Stream(rows, marks, [], []).run(RelationalSlot(_spec(int(gap * 1000), legacy=legacy)))
    return [(row[3] / 10**9, row[4] / 10**9, row[0], row[2]) for _, row in out]


def test_late_rows_as_in_flink() -> None:
    times = [
        ("a", 1), ("b", 4), ("a", 12), ("a", 3), ("b", 7), ("a", 18), ("a", 14), ("a", 9), ("b", 22), ("a", 21), ("b", 11),
        ("a", 35), ("a", 24), ("b", 29), ("a", 50),
    ]  # fmt: skip
    assert _run(times, 4) == [
        (1, 5, "a", "1"), (4, 8, "b", "2"), (12, 16, "a", "3"), (14, 25, "a", "6,7,10"), (22, 26, "b", "9"), (35, 39, "a", "12"),
        (50, 54, "a", "15"),
    ]  # fmt: skip


@pytest.mark.parametrize("legacy", [True, False])
def test_a_row_does_not_join_a_session_that_has_ended(legacy: bool) -> None:
    assert _run([("a", 10), ("a", 18), ("a", 14), ("a", 40)], 4, legacy) == [
        (10, 14, "a", "1"), (14, 22, "a", "2,3"), (40, 44, "a", "4"),
    ]  # fmt: skip
    assert _run([("a", 1), ("a", 3), ("a", 9), ("a", 4), ("a", 2), ("a", 14), ("a", 11), ("a", 40)], 4, legacy) == [
        (1, 7, "a", "1,2"), (9, 13, "a", "3"), (11, 18, "a", "6,7"), (40, 44, "a", "8"),
    ]  # fmt: skip


def test_a_row_joins_two_sessions() -> None:
    assert _run([("a", 14.2), ("a", 10.0), ("a", 13.9), ("a", 13.0), ("a", 40)], 4)[0] == (10, 18.2, "a", "2,1,3,4")
    assert _run([("a", 10), ("a", 10.5), ("a", 14.6), ("a", 14.2)], 4)[0] == (10, 18.6, "a", "1,2,3,4")


def test_sessions_of_local_time_as_in_flink() -> None:
    local = TimestampType(3, local=True, attribute="ROWTIME")
    types = (STRING, STRING, local)
    times = ["08:10", "08:40", "09:10", "09:40", "09:20", "10:10", "08:50", "12:00"]
    rows = [("a", str(i), _instant(f"2024-11-03T{t}:00") * MS) for i, t in enumerate(times, 1)]
    marks, mark = [], MIN_WATERMARK
    for row in rows:
        marks.append(mark)
        mark = max(mark, row[2] // MS - 1000)
    spec = _spec(20 * 60_000, input_types=types, window={"zone": "America/Los_Angeles"})
    out = Stream(rows, marks, [], []).run(RelationalSlot(spec))
    day = _instant("2024-11-03T00:00:00")
    found = [((row[3] // MS - day) // 60_000, (row[4] // MS - day) // 60_000, row[1]) for _, row in out]
    assert found == [(70, 90, 2), (80, 120, 3), (110, 150, 2), (240, 260, 1)]


def test_a_session_without_rows_has_no_result() -> None:
    slot = RelationalSlot(_spec(5, insert_only=False, calls=_CALLS[:1]))
    slot.run(
        [
            ("+I", ("a", "x", 0)),
            ("-D", ("a", "x", 0)),
            ("+I", ("b", "x", 0)),
            ("-U", ("b", "x", 0)),
            ("+U", ("b", "y", 0)),
        ]
    )
    assert slot.run(watermark=MAX_WATERMARK) == [("+I", ("b", 1, 0, 5 * MS))]
