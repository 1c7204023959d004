from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.relational.specs.operators import DeduplicateSpec
from penstock.types.logical.kinds import BIGINT, INT, STRING, TimestampType
from tests.unit.runtime.relational.driver import Change, RelationalSlot, Row, final_table

_TYPES = (STRING, INT, TimestampType(3))
_S = 10**9


def _spec(keep_last: bool, event_time: bool, **more: Any) -> DeduplicateSpec:
    output = (*_TYPES, BIGINT) if more.get("outputs_rank") else _TYPES
    return DeduplicateSpec(
        input_types=_TYPES,
        keys=(0,),
        keep_last=keep_last,
        event_time=event_time,
        time_column=2,
        output_types=output,
        **more,
    )


# key, value, seconds: the input of the recorded answers of Flink 2.3 below. The watermark follows each row by 2 seconds.
_ROWS = [
    ("a", 1, 5), ("b", 2, 4), ("a", 3, 3), ("a", 4, 10), ("b", 5, 9), ("a", 6, 7.5), ("c", 7, 20), ("c", 8, 18), ("a", 9, 12),
    ("c", 10, 18), ("b", 11, 30), ("c", 12, 25), ("d", 13, 29.5), ("d", 14, 28), ("d", 15, 29), ("e", 16, 40), ("e", 17, 40),
]  # fmt: skip


def _row(key: str, value: int, seconds: float) -> Row:
    return (key, value, int(seconds * _S))


def _one_by_one(slot: RelationalSlot, rows: list[Any], delay: int = 2000) -> list[Change]:
    out = []
    for row in rows:
        out += slot.run([_row(*row)], watermark=int(row[2] * 1000) - delay)
        slot.restart()
    return out + slot.run([], watermark=10**9)


def _short(changes: list[Change]) -> str:
    return " ".join(f"{kind}{row[0]}{row[1]}" for kind, row in changes)


def test_last_row_by_event_time() -> None:
    slot = RelationalSlot(_spec(True, True))
    assert _short(_one_by_one(slot, _ROWS)) == (
        "+Ia1 +Ib2 -Ua1 +Ua4 -Ub2 +Ub5 +Ic7 -Ua4 +Ua9 -Ub5 +Ub11 -Uc7 +Uc12 +Id13 +Ie16 -Ue16 +Ue17"
    )
    assert slot.operator.late_records == 0


def test_first_row_by_event_time_is_emitted_by_the_watermark() -> None:
    slot = RelationalSlot(_spec(False, True))
    out = [change for row in _ROWS for change in slot.run([_row(*row)], watermark=int(row[2] * 1000) - 2000)]
    assert _short(out + slot.run([], watermark=10**9)) == "+Ia3 +Ib2 +Ic8 +Id14 +Ie16"
    assert (
        slot.operator.late_records == 3
    )  # rows below the watermark: a6, a9 and c12; rows at the watermark are not late


def test_first_and_last_row_by_processing_time() -> None:
    assert _short(_one_by_one(RelationalSlot(_spec(False, False)), _ROWS)) == "+Ia1 +Ib2 +Ic7 +Id13 +Ie16"
    assert _short(_one_by_one(RelationalSlot(_spec(True, False)), _ROWS)).startswith(
        "+Ia1 +Ib2 -Ua1 +Ua3 -Ua3 +Ua4 -Ub2 +Ub5"
    )


def test_equal_rows() -> None:
    """By processing time an equal row changes nothing. With a time to live it is written again, by event time always."""
    row = ("a", 1, 5 * _S)
    assert _run_twice(_spec(True, False), row) == [("+I", row)]
    assert _run_twice(_spec(True, False, ttl=10), row) == [("+I", row), ("-U", row), ("+U", row)]
    assert _run_twice(_spec(True, True, update_before=False), row) == [("+I", row), ("+U", row)]


def _run_twice(spec: DeduplicateSpec, row: Row) -> list[Change]:
    slot = RelationalSlot(spec)
    return slot.run([row]) + slot.run([row])


def test_rank_column_and_null_keys() -> None:
    slot = RelationalSlot(_spec(True, True, outputs_rank=True))
    assert slot.run([(None, 1, 0), (None, 2, 0)]) == [("+I", (None, 2, 0, 1))]


def test_first_row_waits_in_state() -> None:
    slot = RelationalSlot(_spec(False, True))
    assert slot.run([_row("a", 1, 5), _row("b", 2, 3)], watermark=2999) == []
    slot.restart()
    assert slot.operator.next_event_time(2999) == 3000
    assert slot.run_marked([_row("a", 3, 4)], watermark=4500) == [
        (("+I", ("b", 2, 3 * _S)), 2999),
        (("+I", ("a", 3, 4 * _S)), 3999),
    ]
    assert slot.run([_row("a", 4, 4.6)], watermark=9000) == []
    assert slot.operator.next_event_time(9000) is None
    assert slot.count_entries() == 2  # a mark per key


def test_row_at_the_watermark_is_not_late() -> None:
    slot = RelationalSlot(_spec(False, True))
    slot.run([], watermark=1000)
    assert slot.run([_row("a", 1, 1), _row("b", 2, 0.999)]) == []
    assert slot.operator.late_records == 1
    assert slot.run([], watermark=1001) == [("+I", ("a", 1, _S))]


@pytest.mark.parametrize("keep_last", [True, False])
def test_time_to_live(keep_last: bool) -> None:
    slot = RelationalSlot(_spec(keep_last, False, ttl=100))
    first, second = ("a", 1, 0), ("a", 2, 0)
    assert slot.run([first], now=0) == [("+I", first)]
    assert slot.run([second], now=100) == [("+I", second)]
    slot.run([], now=200)
    assert slot.count_entries() == 0


_EVENTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 12), st.integers(0, 4)), max_size=12
)


def _model(rows: list[tuple[Row, int]], keep_last: bool, event_time: bool) -> dict[Row, int]:
    """The rows that win: with the watermark of each row at its arrival."""
    kept: dict[str, tuple[int, int, Row]] = {}
    for row, mark in rows:
        time = row[2] // 10**6 if event_time else 0
        if event_time and not keep_last and time < mark:
            continue
        old = kept.get(row[0])
        if old is not None and not keep_last and (not event_time or old[1] <= mark or time >= old[0]):
            continue
        if old is not None and keep_last and time < old[0]:
            continue
        kept[row[0]] = (time, max(time, mark + 1), row)
    return {row: 1 for _, _, row in kept.values()}


@given(_EVENTS, st.lists(st.integers(1, 4), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_result_does_not_depend_on_batches(
    events: list[tuple[str, int, int, int]], sizes: list[int], keep_last: bool, event_time: bool
) -> None:
    marks = list(itertools.accumulate(e[3] for e in events))
    rows = [((k, v, t * 10**6), mark) for (k, v, t, _), mark in zip(events, marks, strict=True)]
    slot, out, at = RelationalSlot(_spec(keep_last, event_time)), [], 0
    for size in itertools.cycle(sizes):
        if at >= len(rows):
            break
        part = rows[at : at + size]
        out += slot.run([r for r, _ in part], watermarks=[m for _, m in part], watermark=part[-1][1])
        at += size
        slot.restart()
    out += slot.run([], watermark=1000)
    assert final_table(out) == _model(rows, keep_last, event_time)
