"""Partial accumulators: results are those of the rows."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.relational.operators.operator import Input
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.specs.window import Window
from penstock.runtime.relational.windows.partials import SlicePartials
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.types.logical.kinds import BIGINT, STRING, LogicalType, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot, from_changes, to_changes
from tests.unit.runtime.relational.windows.streams import Stream, streams

_TYPES: tuple[LogicalType, ...] = (BIGINT, STRING, BIGINT, TimestampType(3, attribute="ROWTIME"))
_CALLS = (AggregateCall("COUNT", (), (), BIGINT), AggregateCall("SUM", (2,), (BIGINT,), BIGINT))
_WINDOWS = [
    Window("TUMBLE", 10, 0, 2, 3), Window("HOP", 12, 4, 1, 3), Window("HOP", 10, 4, 0, 3), Window("CUMULATE", 15, 5, 0, 3),
    Window("HOP", 12, 4, 1, 3, zone="Asia/Tokyo"),
]  # fmt: skip


def _spec(window: Window) -> WindowAggregateSpec:
    return WindowAggregateSpec(
        input_types=_TYPES, keys=(1,), calls=_CALLS, window=window, properties=("start", "end"),
        output_types=(STRING, BIGINT, BIGINT, TimestampType(3), TimestampType(3)),
    )  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(streams(), st.sampled_from(_WINDOWS))
def test_results_are_those_of_the_rows(stream: Stream, window: Window) -> None:
    spec = _spec(window)
    stream.rows = [(0, *row) for row in stream.rows]
    expected = RelationalSlot(spec)
    wanted = stream.run(expected)
    slot = RelationalSlot(msgspec.structs.replace(spec, partials=True))
    partials = SlicePartials(spec)
    found, start, before = [], 0, MIN_WATERMARK
    for stop in [*stream.cuts, len(stream.rows), len(stream.rows)]:
        last = stop == len(stream.rows)
        chunk = to_changes(stream.rows[start:stop], _TYPES)
        rows, marks = partials.of(chunk, np.array(stream.marks[start:stop], np.int64))
        end = (
            MAX_WATERMARK
            if last and start == stop
            else stream.marks[stop]
            if not last
            else max([before, *stream.marks])
        )
        given_rows = Input(rows, np.maximum(marks, before), np.arange(len(marks)))
        out = slot.operator.run([given_rows], Advance(0, before, end, [], 0))
        found += [row for part, _ in out.parts for row in from_changes(part, spec.output_types)]
        start, before = stop, max(before, end)
    assert found == wanted
    if not any(stream.restarts):
        assert slot.operator.late_records == expected.operator.late_records


def test_windows_in_processing_time_are_assigned_after_the_exchange() -> None:
    spec = _spec(Window("TUMBLE", 10, time_column=3, event_time=False))
    slot = RelationalSlot(msgspec.structs.replace(spec, partials=True))
    rows = to_changes([(0, "a", 1, None), (0, "b", 2, None), (0, "a", 3, None)], _TYPES)
    partials, marks = SlicePartials(spec).of(rows, np.zeros(3, np.int64))
    assert partials.length == 2
    slot.operator.run([Input(partials, marks, np.arange(2))], Advance(15, 0, 0, [], 0))
    out = slot.operator.run([], Advance(20, 0, 0, [], 1))
    assert sorted(row[:3] for part, _ in out.parts for _, row in from_changes(part, spec.output_types)) == [
        ("a", 2, 4), ("b", 1, 2),
    ]  # fmt: skip
