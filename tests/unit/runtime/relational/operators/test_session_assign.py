"""Rows with their sessions. Expected rows of the examples are those of Flink 2.3."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.operators import SessionAssignSpec
from penstock.runtime.relational.specs.window import Window
from penstock.time import MAX_WATERMARK
from penstock.types.logical.kinds import BIGINT, STRING, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.windows.streams import MS, Stream, streams

_TIMESTAMP = TimestampType(3)
_TYPES = (STRING, BIGINT, TimestampType(3, attribute="ROWTIME"))
_OUT = (*_TYPES, _TIMESTAMP, _TIMESTAMP, _TIMESTAMP)


def _spec(gap: int, keys: tuple[int, ...] = (0,), event_time: bool = True) -> SessionAssignSpec:
    window = Window("SESSION", gap, time_column=2, event_time=event_time, partition=keys)
    return SessionAssignSpec(input_types=_TYPES, keys=keys, window=window, output_types=_OUT)


def _model(stream: Stream, gap: int, keyed: bool = True) -> tuple[list[tuple[Any, ...]], int]:
    """Sessions row by row: those that a row touches and that have not ended become one."""
    live: list[list[Any]] = []  # key, start, end, rows
    ended: list[list[Any]] = []
    late = 0
    for (key, value, nanos), mark in zip(stream.rows, stream.marks, strict=True):
        time = nanos // MS
        ended += [s for s in live if s[2] - 1 <= mark]
        live = [s for s in live if s[2] - 1 > mark]
        session = [key if keyed else None, time, time + gap, []]
        touched = sorted(
            (s for s in live if s[0] == session[0] and s[1] <= session[2] and s[2] >= time), key=lambda s: s[1]
        )
        if not touched and time + gap - 1 <= mark:
            late += 1
            continue
        for other in touched:
            live.remove(other)
            session = [session[0], min(session[1], other[1]), max(session[2], other[2]), session[3] + other[3]]
        session[3] = [*session[3], (key, value, nanos)]
        live.append(session)
    rows = [
        (*r, s * MS, e * MS, (e - 1) * MS) for _, s, e, found in sorted(ended + live, key=lambda s: s[2]) for r in found
    ]
    return rows, late


@settings(max_examples=150, deadline=None)
@given(streams(), st.integers(1, 12), st.booleans())
def test_sessions_do_not_depend_on_batches(stream: Stream, gap: int, keyed: bool) -> None:
    slot = RelationalSlot(_spec(gap, (0,) if keyed else ()))
    slot_late = 0
    found = []
    for kind, row in stream.run(slot):
        assert kind == "+I"
        found.append(row)
    slot_late = slot.operator.late_records
    expected, late = _model(stream, gap, keyed)
    assert [row[4] for row in found] == [row[4] for row in expected]  # in the order of their ends
    for key in {row[0] for row in found} if keyed else {None}:
        mine = [row for row in found if row[0] == key or not keyed]
        assert mine == [row for row in expected if row[0] == key or not keyed]
    if not any(stream.restarts):
        assert slot_late == late
    assert slot.count_entries() == 0


def test_rows_of_a_session_come_in_the_order_of_their_arrival() -> None:
    slot = RelationalSlot(_spec(4_000))
    times = [("a", 1), ("b", 4), ("a", 12), ("a", 3), ("b", 7), ("a", 18), ("a", 14), ("a", 9), ("b", 22), ("a", 21)]
    rows = [(k, i + 1, t * 1000 * MS) for i, (k, t) in enumerate(times)]
    marks, mark = [], -(2**63)
    for _, time in times:
        marks.append(mark)
        mark = max(mark, time * 1000 - 1000)
    out = slot.run(rows, watermarks=marks, watermark=mark) + slot.run(watermark=MAX_WATERMARK)
    found = [(row[0], row[1], row[3] // 10**9, row[4] // 10**9) for _, row in out]
    assert found == [
        ("a", 1, 1, 5), ("b", 2, 4, 8), ("a", 3, 12, 16), ("a", 6, 14, 25), ("a", 7, 14, 25), ("a", 10, 14, 25), ("b", 9, 22, 26),
    ]  # fmt: skip
    assert slot.operator.late_records == 3


def test_long_sessions_merge_their_blocks() -> None:
    slot = RelationalSlot(_spec(5))
    for i in range(200):
        assert slot.run([("a", i, i * MS)]) == []
    assert slot.count_entries() < 70
    assert [row[1] for _, row in slot.run(watermark=MAX_WATERMARK)] == list(range(200))


def test_kinds_of_changes_stay() -> None:
    slot = RelationalSlot(_spec(5))
    slot.run([("+I", ("a", 1, 0)), ("-U", ("a", 1, 0)), ("+U", ("a", 2, MS))])
    out = slot.run(watermark=MAX_WATERMARK)
    assert [(kind, row[1], row[3]) for kind, row in out] == [("+I", 1, 0), ("-U", 1, 0), ("+U", 2, 0)]


def test_sessions_in_processing_time_end_by_the_clock() -> None:
    slot = RelationalSlot(_spec(10, event_time=False))
    assert slot.run([("a", 1, None)], now=100) == []
    assert slot.operator.wake() == 110
    assert slot.run([("a", 2, None)], now=105) == []
    assert slot.operator.wake() == 115
    assert [row[1] for _, row in slot.run([("a", 3, None)], now=115)] == [1, 2]
    assert slot.operator.wake() == 125
