"""OVER with Python functions returns the results of the built-in functions that do the same."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.specs.aggregate_call import AggregateCall, SortKey
from penstock.runtime.relational.specs.operators import OverCall, OverSpec
from penstock.types.logical.kinds import BIGINT, STRING, LogicalType, TimestampType
from tests.unit.runtime.relational.driver import RelationalSlot
from tests.unit.runtime.relational.python_aggregates.functions import (
    COUNTED,
    PANDAS_TOTAL,
    TOTAL,
    python_call,
)
from tests.unit.runtime.relational.windows.streams import streams

_TYPES: tuple[LogicalType, ...] = (STRING, BIGINT, TimestampType(3, attribute="ROWTIME"))
_FRAMES: list[tuple[Literal["ROWS", "RANGE"], int | None]] = [
    ("ROWS", None),
    ("RANGE", None),
    ("ROWS", 2),
    ("RANGE", 7),
]


def _slot(mode: Literal["ROWS", "RANGE"], lower: int | None, by_time: bool) -> RelationalSlot:
    calls = [
        AggregateCall("SUM", (1,), (BIGINT,), BIGINT),
        python_call(TOTAL, (1,), _TYPES),
        python_call(PANDAS_TOTAL, (1,), _TYPES),
        AggregateCall("COUNT", (1,), (BIGINT,), BIGINT, distinct=True),
        python_call(COUNTED, (1,), _TYPES),
        python_call(COUNTED, (1,), _TYPES, distinct=True),
    ]
    spec = OverSpec(
        input_types=_TYPES,
        keys=(0,),
        calls=tuple(OverCall(call, mode, lower) for call in calls),
        order=(SortKey(2),),
        time="rowtime" if by_time else "",
        output_types=(*_TYPES, *(BIGINT for _ in calls)),
    )
    return RelationalSlot(spec)


@pytest.mark.parametrize("by_time", [True, False])
@pytest.mark.parametrize(("mode", "lower"), _FRAMES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_python_functions_equal_built_in_functions(mode: Any, lower: int | None, by_time: bool, data: Any) -> None:
    stream = data.draw(streams(most=12))
    for _, row in stream.run(_slot(mode, lower, by_time)):
        total, python, pandas, *distinct = row[3:]
        assert total == python == pandas
        assert len(set(distinct)) == 1
