"""Windows with Python functions have the results of the built-in functions that do the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import WindowAggregateSpec
from penstock.runtime.relational.specs.window import Window
from penstock.time import MAX_WATERMARK
from penstock.types.logical.kinds import BIGINT, STRING, LogicalType, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.python_aggregates.functions import (
    LISTED,
    PANDAS_TOTAL,
    TOTAL,
    TOTAL_WITHOUT_MERGE,
    python_call,
)
from tests.unit.runtime.relational.windows.streams import MS, streams

_TIMESTAMP = TimestampType(3)
_TYPES: tuple[LogicalType, ...] = (STRING, BIGINT, TimestampType(3, attribute="ROWTIME"))
_WINDOWS = [
    Window("TUMBLE", 10, time_column=2),
    Window("HOP", 12, 4, time_column=2),
    Window("CUMULATE", 12, 4, time_column=2),
    Window("SESSION", 5, time_column=2),
]
_SUM = AggregateCall("SUM", (1,), (BIGINT,), BIGINT)


def _calls(merged: bool) -> tuple[AggregateCall, ...]:
    return (
        _SUM,
        python_call(TOTAL, (1,), _TYPES),
        python_call(TOTAL_WITHOUT_MERGE, (1,), _TYPES, replays=merged),
        python_call(PANDAS_TOTAL, (1,), _TYPES),
        python_call(TOTAL, (1,), _TYPES, distinct=True),
    )


def _slot(window: Window, calls: tuple[AggregateCall, ...], **facts: Any) -> RelationalSlot:
    out = (STRING, *(call.type for call in calls), _TIMESTAMP, _TIMESTAMP)
    return RelationalSlot(
        WindowAggregateSpec(
            input_types=_TYPES,
            keys=(0,),
            calls=calls,
            window=window,
            properties=("start", "end"),
            output_types=out,
            **facts,
        )
    )


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("window", _WINDOWS, ids=lambda w: w.kind)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_python_functions_equal_built_in_functions(window: Window, legacy: bool, data: Any) -> None:
    if window.kind == "CUMULATE" and legacy:
        return
    changes = data.draw(st.booleans())
    stream = data.draw(streams(changes=changes))
    calls = _calls(window.kind != "TUMBLE")
    found = stream.run(_slot(window, calls, legacy=legacy, insert_only=not changes))
    for kind, row in found:
        assert kind == "+I"
        assert len(set(row[1:6])) == 1, row
    single = stream.run_one_by_one(_slot(window, calls, legacy=legacy, insert_only=not changes))
    assert sorted(found, key=repr) == sorted(single, key=repr)


@pytest.mark.parametrize("replays", [True, False])
@pytest.mark.parametrize("window", _WINDOWS, ids=lambda w: w.kind)
def test_values_of_a_window_are_in_the_order_of_their_slices(window: Window, replays: bool) -> None:
    slot = _slot(window, (python_call(LISTED, (1,), _TYPES, replays=replays),))
    for number, time in enumerate((1, 2, 6)):
        slot.run([("a", number, time * MS)])
        slot.restart()
    results = [row[1] for _, row in slot.run(watermark=MAX_WATERMARK)]
    assert max(results, key=len) == [0, 1, 2]
    assert all(values == sorted(values) for values in results)
