from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.operators.over import leaves_once
from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.operators import OverCall, OverSpec
from penstock.types.logical.kinds import BIGINT, DOUBLE, INT, STRING, MapType, TimestampType
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_table
from tests.unit.runtime.relational.operators.over_answers import ANSWERS

_TIMED = (STRING, INT, TimestampType(3))
_PLAIN = (STRING, INT, INT)

_SUM = AggregateCall("SUM", (1,), (INT,), INT)
_COUNT = AggregateCall("COUNT", (), (), BIGINT)
_MAX = AggregateCall("MAX", (1,), (INT,), INT)
_DISTINCT = AggregateCall("COUNT", (1,), (INT,), BIGINT, distinct=True)
_NUMBER = AggregateCall("ROW_NUMBER", (), (), BIGINT)


def _lag(*options: int) -> AggregateCall:
    return AggregateCall("LAG", (1,), (INT,), INT, options=options)


def _call(name: str, type_: Any = BIGINT) -> AggregateCall:
    return AggregateCall(name, (), (), type_)


def _spec(types: tuple[Any, ...], *calls: OverCall, **more: Any) -> OverSpec:
    output = (*types, *(c.call.type for c in calls))
    return OverSpec(input_types=types, keys=(0,), order=(SortKey(2),), calls=calls, output_types=output, **more)


# -- answers of Flink: key, value, seconds; the watermark follows each row by 2 seconds

_ROWS = [
    ("a", 1, 5), ("b", 2, 4), ("a", 3, 3), ("a", 4, 10), ("b", 5, 9), ("a", 6, 7.5), ("c", 7, 20), ("c", 8, 18), ("a", 9, 12),
    ("c", 10, 18), ("b", 11, 30), ("c", 12, 25), ("d", 13, 29.5), ("d", 14, 28), ("d", 15, 29), ("e", 16, 40), ("e", 17, 40),
]  # fmt: skip
_INSERTS = [("x", 1, 5), ("x", 2, 3), ("x", 3, 5), ("x", 4, 4), ("x", 5, 3), ("y", 6, 1), ("x", 7, 9), ("x", 2, 3),
            ("x", 8, None), ("y", 9, 0), ("x", 10, 1), ("x", 11, 3)]  # fmt: skip
_FEW = [("x", 1, 5), ("x", 2, 3), ("x", 3, 5), ("x", 4, 4), ("x", 5, 3), ("y", 6, 1), ("x", 7, None), ("x", 8, 4)]
_CHANGES = [
    ("+I", ("x", 1, 5)), ("+I", ("x", 2, 3)), ("+I", ("x", 3, 4)), ("+I", ("x", 4, 4)), ("-U", ("x", 1, 5)), ("+U", ("x", 1, 2)),
    ("-D", ("x", 2, 3)), ("+I", ("x", 5, 4)), ("-U", ("x", 3, 4)), ("+U", ("x", 3, 4)), ("-D", ("x", 4, 4)), ("-U", ("x", 1, 2)),
    ("+U", ("x", 1, 9)), ("+I", ("y", 6, 1)), ("-D", ("x", 99, 1)), ("-D", ("y", 6, 1)), ("+I", ("x", 3, 4)), ("-D", ("x", 3, 4)),
]  # fmt: skip
_FRAMES: dict[str, tuple[Any, Any]] = {
    "rows-b": ("ROWS", 1),
    "range-b": ("RANGE", 5000),
    "rows-u": ("ROWS", None),
    "range-u": ("RANGE", None),
}
_FUNCTIONS = {
    "row-number": (OverCall(_NUMBER, "ROWS"),),
    "lag": (OverCall(_lag()), OverCall(_lag(2, -1))),
    "ends": tuple(OverCall(AggregateCall(n, (1,), (INT,), INT)) for n in ("FIRST_VALUE", "LAST_VALUE")),
    "ranks": (OverCall(_call("RANK")), OverCall(_call("DENSE_RANK"))),
}


def _timed(spec: OverSpec, rows: list[Any]) -> list[Row]:
    slot, out = RelationalSlot(spec), []
    for key, value, seconds in rows:
        out += slot.run([(key, value, int(seconds * 10**9))], watermark=int(seconds * 1000) - 2000)
        slot.restart()
    out += slot.run([], watermark=10**12)
    assert {kind for kind, _ in out} == {"+I"}
    return [row for _, row in out]


def _text(row: Row) -> str:
    return f"({','.join(map(str, row))})"


@pytest.mark.parametrize("frame", _FRAMES)
def test_event_time_frames(frame: str) -> None:
    mode, lower = _FRAMES[frame]
    spec = _spec(_TIMED, *(OverCall(call, mode, lower) for call in (_SUM, _COUNT, _MAX)))
    rows = _timed(spec, _ROWS)
    shown = [(*row[:2], f"{row[2] / 1e9:g}", *row[3:]) for row in rows]
    assert [_text(row) for row in shown] == ANSWERS[f"over-{frame}"].split()


@pytest.mark.parametrize("frame", ["rows-b", "rows-u", "range-u"])
def test_processing_time_frames(frame: str) -> None:
    mode, lower = _FRAMES[frame]
    rows = _timed(_spec(_TIMED, OverCall(_SUM, mode, lower), time="proctime"), _ROWS)
    assert [_text((row[0], row[1], row[3])) for row in rows] == ANSWERS[f"over-proc-{frame}"].split()


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_functions_of_event_time(name: str) -> None:
    rows = _timed(_spec(_TIMED, *_FUNCTIONS[name]), _ROWS)
    shown = [(*row[:2], f"{row[2] / 1e9:g}", *row[3:]) for row in rows]
    assert [_text(row) for row in shown] == ANSWERS[f"over-{name}"].split()


_MAINTAINED: dict[str, tuple[tuple[OverCall, ...], list[Any]]] = {
    "nontime-rows": ((OverCall(_SUM, "ROWS"),), _INSERTS),
    "nontime-range": ((OverCall(_SUM, "RANGE"),), _INSERTS),
    "nontime-cdc-rows": ((OverCall(_SUM, "ROWS"), OverCall(_COUNT, "ROWS")), _CHANGES),
    "nontime-rn": ((OverCall(_NUMBER, "ROWS"),), _INSERTS),
    "nontime-rank": ((OverCall(_call("RANK")),), _FEW),
    "nontime-avg": ((OverCall(AggregateCall("AVG", (2,), (INT,), INT)),), _FEW),
    "nontime-last": ((OverCall(AggregateCall("LAST_VALUE", (1,), (INT,), INT)),), _FEW),
}


@pytest.mark.parametrize("name", _MAINTAINED)
def test_other_orders_are_maintained(name: str) -> None:
    calls, rows = _MAINTAINED[name]
    slot, out = RelationalSlot(_spec(_PLAIN, *calls, time="", insert_only=rows is not _CHANGES)), []
    for row in rows:
        out += slot.run([row])
        slot.restart()
    assert [kind + _text(row) for kind, row in out] == ANSWERS[name].split()


# -- what Flink has not


def test_frames_after_the_current_row_and_shares() -> None:
    """In batch mode ranks are those of the SQL standard."""
    calls = (
        OverCall(_SUM, "ROWS", 1, 1),
        OverCall(_SUM, "ROWS", None, None),
        OverCall(_SUM, "RANGE", 0, 0),
        OverCall(AggregateCall("LEAD", (1,), (INT,), INT, options=(1, -1))),
        OverCall(AggregateCall("NTILE", (), (), INT, options=(2,))),
        OverCall(_call("CUME_DIST", DOUBLE)),
        OverCall(_call("PERCENT_RANK", DOUBLE)),
        OverCall(_call("RANK")),
        OverCall(_call("DENSE_RANK")),
        OverCall(_SUM, "RANGE", 1, 1),
    )
    slot = RelationalSlot(_spec(_PLAIN, *calls, time=""), in_batch_mode=True)
    assert [row[1:] for _, row in slot.run([("x", 3, 2), ("x", 1, 1), ("x", 2, 1), ("x", 9, 7)])] == [
        (1, 1, 3, 15, 3, 2, 1, 0.5, 0.0, 1, 1, 6),
        (2, 1, 6, 15, 3, 3, 1, 0.5, 0.0, 1, 1, 6),
        (3, 2, 14, 15, 3, 9, 2, 0.75, 2 / 3, 3, 2, 6),
        (9, 7, 12, 15, 9, -1, 2, 1.0, 1.0, 4, 3, 9),
    ]


def test_which_results_are_known_when_time_passes() -> None:
    assert leaves_once(_spec(_TIMED, OverCall(_SUM, "ROWS", 3)))
    assert not leaves_once(_spec(_TIMED, OverCall(_SUM, "ROWS", 3, 1)))
    assert not leaves_once(_spec(_TIMED, OverCall(_call("CUME_DIST", DOUBLE))))
    assert not leaves_once(_spec(_TIMED, OverCall(_SUM), insert_only=False))
    assert not leaves_once(_spec(_PLAIN, OverCall(_SUM), time=""))


def test_descending_range_with_an_offset() -> None:
    call = OverCall(_SUM, "RANGE", 2, 0)
    spec = OverSpec(
        input_types=_PLAIN,
        keys=(0,),
        order=(SortKey(2, False, False),),
        calls=(call,),
        output_types=(*_PLAIN, INT),
        time="",
    )
    out = RelationalSlot(spec).run([("x", 1, 9), ("x", 2, 8), ("x", 4, 6), ("x", 8, 5)])
    assert [row[3] for _, row in out] == [1, 3, 6, 12]


def test_lag_of_a_map() -> None:
    type_ = MapType(DOUBLE, DOUBLE)
    lag = OverCall(AggregateCall("LAG", (1,), (type_,), type_))
    slot = RelationalSlot(_spec((STRING, type_, TimestampType(3)), lag))
    out = slot.run([("a", [(42.0, 42.0)], 10**9)], watermark=1000)
    slot.restart()
    out += slot.run([("a", [(1.0, 2.0)], 2 * 10**9)], watermark=9000)
    assert [row[3] for _, row in out] == [None, [(42.0, 42.0)]]


# -- state


def test_rows_that_no_frame_needs_are_removed() -> None:
    slot = RelationalSlot(_spec(_TIMED, OverCall(_SUM, "ROWS", 2)))
    for i in range(10):
        slot.run([("a", i, i * 10**9)], watermark=i * 1000)
    assert slot.count_entries() == 1 + 2  # facts of the key, and two rows
    ranges = RelationalSlot(_spec(_TIMED, OverCall(_SUM, "RANGE", 2000)))
    for i in range(10):
        ranges.run([("a", i, i * 10**9)], watermark=i * 1000)
    assert ranges.operator.next_event_time(9000) == 12001
    ranges.run([], watermark=20_000)
    assert ranges.count_entries() == 0
    unbounded = RelationalSlot(_spec(_TIMED, OverCall(_SUM), OverCall(_NUMBER, "ROWS")))
    for i in range(10):
        unbounded.run([("a", i, i * 10**9)], watermark=i * 1000)
    assert unbounded.count_entries() == 1


def test_late_rows_are_counted() -> None:
    slot = RelationalSlot(_spec(_TIMED, OverCall(_SUM)))
    slot.run([("a", 1, 5 * 10**9)], watermark=5000)
    assert slot.run([("a", 2, 5 * 10**9), ("a", 3, 6 * 10**9)], watermark=7000) == [("+I", ("a", 3, 6 * 10**9, 4))]
    assert slot.operator.late_records == 1


def test_rows_leave_before_the_watermark_that_they_waited_for() -> None:
    slot = RelationalSlot(_spec(_TIMED, OverCall(_COUNT)))
    assert slot.run([("a", 1, 5 * 10**9)], watermark=4999) == []
    assert slot.operator.next_event_time(4999) == 5000
    assert slot.run_marked([], watermark=9000) == [(("+I", ("a", 1, 5 * 10**9, 1)), 4999)]


def test_processing_time_range() -> None:
    slot = RelationalSlot(_spec(_TIMED, OverCall(_SUM, "RANGE", 100), time="proctime"))
    out = [
        *slot.run([("a", 1, 0)], now=0),
        *slot.run([("a", 2, 0), ("a", 3, 0)], now=100),
        *slot.run([("a", 4, 0)], now=201),
    ]
    assert [row[3] for _, row in out] == [1, 6, 6, 4]


def test_time_to_live() -> None:
    for time in ("proctime", ""):
        slot = RelationalSlot(_spec(_TIMED, OverCall(_SUM, "ROWS"), time=time, ttl=100))
        assert slot.run([("a", 1, 0)], now=0)[0][1][3] == 1
        assert slot.run([("a", 2, 0)], now=100)[-1][1][3] == 2
        slot.run([], now=200)
        assert slot.count_entries() == 0


def test_many_rows_of_one_key() -> None:
    """Running results are computed in blocks, so more rows than one block must have the same results."""
    rows = [("a", i % 7, i * 10**6) for i in range(150)]
    calls = [OverCall(c, "ROWS") for c in (_SUM, _MAX)] + [OverCall(_DISTINCT, "ROWS"), OverCall(_SUM, "ROWS", 40)]
    out = RelationalSlot(_spec(_TIMED, *calls)).run(rows, watermark=10**9)
    values = [row[1] for row in rows]
    assert [row[3:] for _, row in out] == [
        (sum(values[: i + 1]), max(values[: i + 1]), len(set(values[: i + 1])), sum(values[max(i - 40, 0) : i + 1]))
        for i in range(150)
    ]
    without_sets = RelationalSlot(_spec(_TIMED, *calls[:2])).run(rows, watermark=10**9)
    assert [row[3:5] for _, row in without_sets] == [row[3:5] for _, row in out]


# -- results do not depend on batches

_EVENTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 3), st.integers(0, 12), st.integers(0, 4)), max_size=12
)
_SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4)
_SETS = {
    "bounded": (OverCall(_SUM, "ROWS", 1), OverCall(_COUNT, "RANGE", 3)),
    "ranges": (OverCall(_SUM, "RANGE", 2), OverCall(_DISTINCT, "RANGE", 3)),
    "all": (
        OverCall(_SUM),
        OverCall(_DISTINCT, "ROWS"),
        OverCall(_MAX, "ROWS", 2),
        OverCall(_lag(2)),
        OverCall(_NUMBER, "ROWS"),
    ),
}


def _run(spec: OverSpec, rows: list[Row], marks: list[int], sizes: list[int]) -> tuple[list[Change], int]:
    slot, out, at, late = RelationalSlot(spec), [], 0, 0
    for size in itertools.cycle(sizes):
        if at >= len(rows):
            break
        stop = min(at + size, len(rows))
        out += slot.run(rows[at:stop], watermarks=marks[at:stop], watermark=marks[stop - 1])
        at = stop
        late += slot.operator.late_records
        slot.restart()
    return out + slot.run([], watermark=1000), late


@pytest.mark.parametrize("name", _SETS)
@settings(deadline=None, max_examples=50)
@given(events=_EVENTS, sizes=_SIZES)
def test_event_time_in_any_batches(name: str, events: list[Any], sizes: list[int]) -> None:
    marks = list(itertools.accumulate(e[3] for e in events))
    rows = [(k, v, t * 10**6) for k, v, t, _ in events]
    spec = _spec(_TIMED, *_SETS[name])
    one_by_one = _run(spec, rows, marks, [1])
    assert _run(spec, rows, marks, sizes) == one_by_one
    out, late = one_by_one
    assert len(out) + late == len(rows)
    if name == "bounded" and all(row[2] // 10**6 > mark for row, mark in zip(rows, marks, strict=True)):
        assert sorted(map(repr, (row for _, row in out))) == sorted(map(repr, _bounded_model(rows)))
    if name == "all":
        on_time = [row for row, mark in zip(rows, marks, strict=True) if row[2] // 10**6 > mark]
        assert sorted(map(repr, (row for _, row in out))) == sorted(map(repr, _model(on_time)))


def _bounded_model(rows: list[Row]) -> list[Row]:
    """The results of the calls named "bounded"."""
    result: list[Row] = []
    for key in "ab":
        mine = sorted((r for r in rows if r[0] == key), key=lambda r: r[2])
        for i, row in enumerate(mine):
            two = [r[1] for r in mine[max(i - 1, 0) : i + 1] if r[1] is not None]
            near = [r for r in mine if row[2] - 3 * 10**6 <= r[2] <= row[2]]
            result.append((*row, sum(two) if two else None, len(near)))
    return result


def _model(rows: list[Row]) -> list[Row]:
    """The results of the calls named "all"."""
    result: list[Row] = []
    for key in "ab":
        mine = sorted((r for r in rows if r[0] == key), key=lambda r: r[2])
        for i, row in enumerate(mine):
            upto = [r[1] for r in mine if r[2] <= row[2]]
            known = [v for v in upto if v is not None]
            distinct = len({r[1] for r in mine[: i + 1]} - {None})
            recent = [r[1] for r in mine[max(i - 2, 0) : i + 1] if r[1] is not None]
            lag = upto[-3] if len(upto) > 2 else None
            result.append((*row, sum(known) if known else None, distinct, max(recent, default=None), lag, i + 1))
    return result


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from("xy"), st.integers(0, 3), st.none() | st.integers(0, 3), st.booleans()), max_size=12
    ),
    _SIZES,
    st.booleans(),
)
def test_maintained_results_in_any_batches(events: list[Any], sizes: list[int], update_before: bool) -> None:
    calls = (OverCall(_SUM), OverCall(_SUM, "ROWS", 1, 1), OverCall(_DISTINCT), OverCall(_NUMBER, "ROWS"))
    live: list[Row] = []
    changes: list[Change] = []
    for *row, removes in events:
        if removes and live:
            old = live[row[1] % len(live)]
            live.remove(old)
            changes.append(("-D", old))
        else:
            live.append(tuple(row))
            changes.append(("+I", tuple(row)))
    expected: dict[Row, int] = {}
    for key in "xy":
        mine = sorted((r for r in live if r[0] == key), key=lambda r: (r[2] is not None, r[2] or 0))
        for i, row in enumerate(mine):
            upto = [r[1] for r in mine if (r[2] is not None, r[2] or 0) <= (row[2] is not None, row[2] or 0)]
            near = sum(r[1] for r in mine[max(i - 1, 0) : i + 2])
            result = (*row, sum(upto), near, len(set(upto)), i + 1)
            expected[result] = expected.get(result, 0) + 1
    slot, out, at = (
        RelationalSlot(_spec(_PLAIN, *calls, time="", insert_only=False, update_before=update_before)),
        [],
        0,
    )
    for size in itertools.cycle(sizes):
        if at >= len(changes):
            break
        out += slot.run(changes[at : at + size])
        at += size
        slot.restart()
    if update_before:
        assert final_table(out) == expected
    else:
        assert all(kind != "-U" for kind, _ in out)
