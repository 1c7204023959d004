"""Aggregates of windows of TIMESTAMP_LTZ when clocks are set forward and back. Expected windows are those of Flink 2.3."""

from __future__ import annotations

import datetime

import pytest

from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.specs.window import Window
from penstock.time import MIN_WATERMARK
from penstock.types.logical.kinds import BIGINT, STRING, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.windows.streams import MS, Stream

_ZONE = "America/Los_Angeles"  # one hour forward at 2024-03-10 10:00 UTC, back at 2024-11-03 09:00 UTC
_MINUTE = 60_000
_TIMES = [
    "03-10 09:10", "03-10 09:50", "03-10 10:05", "03-10 10:40", "03-10 11:10", "11-03 08:10", "11-03 08:40", "11-03 09:10",
    "11-03 09:40", "11-03 09:20", "11-03 10:10", "11-03 08:50", "11-03 12:00",
]  # fmt: skip


def _instant(text: str) -> int:
    return int(datetime.datetime.fromisoformat(f"2024-{text}+00:00").timestamp() * 1000)


def _text(nanos: int) -> str:
    return datetime.datetime.fromtimestamp(nanos / 10**9, datetime.UTC).strftime("%m-%d %H:%M")


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (
            Window("TUMBLE", 30 * _MINUTE, time_column=1, zone=_ZONE),
            """03-10 01:00 01:30 1, 03-10 01:30 02:00 1, 03-10 03:00 03:30 1, 03-10 03:30 04:00 1, 03-10 04:00 04:30 1,
            11-03 01:00 01:30 2, 11-03 01:30 02:00 2, 11-03 02:00 02:30 1, 11-03 04:00 04:30 1""",
        ),
        (
            Window("HOP", 120 * _MINUTE, 60 * _MINUTE, time_column=1, zone=_ZONE),
            """03-10 00:00 02:00 2, 03-10 01:00 03:00 2, 03-10 02:00 04:00 2, 03-10 03:00 05:00 3, 03-10 04:00 06:00 1,
            11-03 00:00 02:00 5, 11-03 01:00 03:00 7, 11-03 02:00 04:00 1, 11-03 03:00 05:00 1, 11-03 04:00 06:00 1""",
        ),
        (
            Window("CUMULATE", 240 * _MINUTE, 60 * _MINUTE, time_column=1, zone=_ZONE),
            """03-10 00:00 02:00 2, 03-10 00:00 03:00 2, 03-10 00:00 04:00 4, 03-10 04:00 05:00 1, 03-10 04:00 06:00 1,
            03-10 04:00 07:00 1, 03-10 04:00 08:00 1, 11-03 00:00 02:00 5, 11-03 00:00 03:00 7, 11-03 00:00 04:00 7,
            11-03 04:00 05:00 1, 11-03 04:00 06:00 1, 11-03 04:00 07:00 1, 11-03 04:00 08:00 1""",
        ),
    ],
    ids=["TUMBLE", "HOP", "CUMULATE"],
)
def test_windows_when_clocks_are_set_forward_and_back(window: Window, expected: str, one_by_one: bool) -> None:
    spec = WindowAggregateSpec(
        input_types=(STRING, TimestampType(3, local=True, attribute="ROWTIME")), keys=(0,), window=window,
        calls=(AggregateCall("COUNT", (), (), BIGINT),), properties=("start", "end"),
        output_types=(STRING, BIGINT, TimestampType(3), TimestampType(3)),
    )  # fmt: skip
    rows = [("a", _instant(time) * MS) for time in _TIMES]
    marks, mark = [], MIN_WATERMARK
    for _, time in rows:
        marks.append(mark)
        mark = max(mark, time // MS - 1000)
    stream = Stream(rows, marks, [], [])
    slot = RelationalSlot(spec)
    out = stream.run_one_by_one(slot) if one_by_one else stream.run(slot)
    found = [f"{_text(start)} {_text(end)[6:]} {count}" for _, (_, count, start, end) in out]
    assert found == [text.strip() for text in expected.split(",")]
    assert slot.count_entries() == 0
