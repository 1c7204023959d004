"""Partials made before the shuffle give what the records themselves would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions import AggregateFunction
from penstock.functions.named_aggregates import KINDS, NamedAggregate
from penstock.runtime.records import Column, Records, Tags, column
from penstock.runtime.window import WindowOperator
from penstock.runtime.window_build import window_operator
from penstock.runtime.window_combine import can_combine, combine_chunk
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP
from penstock.windows import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tests.runtime.test_window_random import cut, streams
from tests.runtime.window_driver import Batch, Driver, Event, Mark, one_split

ASSIGNERS: list[WindowAssigner[Any, Any]] = [
    TumblingEventTimeWindows.of(10),
    TumblingEventTimeWindows.of(7, -3),
    SlidingEventTimeWindows.of(10, 5),
    SlidingEventTimeWindows.of(9, 6, 2),
    SlidingEventTimeWindows.of(5, 5),
    TumblingProcessingTimeWindows.of(10),
    SlidingProcessingTimeWindows.of(10, 4),
    ProcessingTimeSessionWindows.with_gap(5),
]


class Labelled:
    """Shows key, window and result."""

    def apply(self, key: str, window: Any, elements: list[Any]) -> list[Any]:
        return [(key, window.start, window.end, *elements)]


def driver_of(assigner: WindowAssigner[Any, Any], kind: str, combined: bool, purging: bool = False) -> Driver:
    aggregate = NamedAggregate(kind, lambda event: event.value)
    trigger = PurgingTrigger.of(assigner.get_default_trigger()) if purging else None

    def partials(events: list[Event], watermarks: Column, before: int, origin: int, positions: Column) -> Records:
        made = combine_chunk(
            aggregate,
            assigner,
            [e.key for e in events],
            column([e.timestamp for e in events]),
            [e.value for e in events],
            watermarks,
        )
        tags = Tags.of_source(np.maximum(before, made.watermarks), origin, positions[made.positions])
        return Records(list(made.values), made.keys, None, column([NO_TIMESTAMP] * len(made.keys)), tags)

    return Driver(
        lambda: window_operator(assigner, aggregate=aggregate, function=Labelled(), trigger=trigger, combined=combined),
        delay=2,
        splits=["s0", "s1"],
        combined=partials if combined else None,
    )


def late_records(driver: Driver) -> int:
    assert isinstance(driver.first.operator, WindowOperator)
    return driver.first.operator.late_records


def test_transcript_30_class_1_partial_is_late_as_a_whole() -> None:
    driver = driver_of(TumblingEventTimeWindows.of(10), "count", True)
    driver._delay = 0
    driver._table.splits.pop("s1")
    [out] = driver.run_all(one_split("a@1 a@2 a@12 a@3 a@4 a@13"))
    assert [r.value for r in out] == [("a", 0, 10, 2)]
    assert late_records(driver) == 2
    assert driver.first.watermark == 12


def test_transcript_31_class_0_is_late_by_the_old_mark() -> None:
    driver = driver_of(TumblingEventTimeWindows.of(10), "count", True)
    driver._delay = 0
    driver._table.splits.pop("s1")
    assert driver.run_all(one_split("a@12", "a@3 a@4 a@13")) == [[], []]
    assert late_records(driver) == 2
    assert driver.first.watermark == 12


@settings(max_examples=250, deadline=None)
@given(
    assigner=st.sampled_from(ASSIGNERS),
    kind=st.sampled_from(KINDS),
    first=streams(marks=False).flatmap(cut),
    second=streams(marks=False).flatmap(cut),
    purging=st.booleans(),
    pace=st.integers(0, 6),
)
def test_combined_equals_raw(
    assigner: WindowAssigner[Any, Any],
    kind: str,
    first: list[list[Event | Mark]],
    second: list[list[Event | Mark]],
    purging: bool,
    pace: int,
) -> None:
    assert can_combine(assigner, NamedAggregate(kind))
    pairs = zip(first + [[]] * len(second), second + [[]] * len(first), strict=True)
    batches = [Batch({"s0": a, "s1": b}, now=pace * n) for n, (a, b) in enumerate(pairs)]
    batches += [Batch(now=1000, end=True), Batch(now=2000)]
    raw, combined = (driver_of(assigner, kind, which, purging) for which in (False, True))
    assert raw.run_all(batches) == combined.run_all(batches)
    assert late_records(raw) == late_records(combined)


VALUES: dict[str, list[Any]] = {
    "large": [3, -1, 7, 2**62, 2**62, 5],
    "huge": [2**70, 1, -(2**70), 4, 5, 6],
    "nan": [0.5, float("nan"), 2.5, -1.0, float("nan"), 3.0],
    "mixed": [1, 2.5, True, 3, 4, 5],
    "strings": ["b", "a", "d", "c", "f", "e"],  # they have no average
}


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k in KINDS for n in VALUES if (k, n) != ("avg", "strings")])
def test_any_values(kind: str, name: str) -> None:
    values = VALUES[name]
    aggregate = NamedAggregate(kind)
    keys = list("ababab")
    made = combine_chunk(
        aggregate, TumblingEventTimeWindows.of(10), keys, column(range(6)), values, column([MIN_WATERMARK] * 6)
    )
    expected: dict[str, Any] = {}
    for key, value in zip(keys, values, strict=True):
        expected[key] = aggregate.add(value, expected.get(key))
    assert made.keys == ["a", "b"]
    assert [repr(p.accumulator) for p in made.values] == [repr(a) for a in expected.values()]
    assert [p.count for p in made.values] == [3, 3]


@given(values=st.lists(st.floats(), min_size=1), data=st.data(), kind=st.sampled_from(["min", "max"]))
def test_extremes_do_not_depend_on_order(values: list[float], data: st.DataObject, kind: str) -> None:
    def extreme(order: list[float]) -> float:
        made = combine_chunk(
            NamedAggregate(kind),
            TumblingProcessingTimeWindows.of(10),
            ["a"] * len(order),
            column([0] * len(order)),
            order,
            column([0] * len(order)),
        )
        found: float = made.values[0].accumulator
        return found

    one, other = extreme(values), extreme(data.draw(st.permutations(values)))
    assert one == other or (one != one and other != other)


def test_many_keys_and_far_slices() -> None:
    keys = [f"k{n}" for n in range(3000)]
    stamps = column([n * 1_000_000 for n in range(3000)])
    made = combine_chunk(
        NamedAggregate("count"),
        TumblingEventTimeWindows.of(10),
        keys * 2,
        np.concatenate([stamps, stamps]),
        None,
        column([MIN_WATERMARK] * 6000),
    )
    assert made.keys == keys
    assert {p.count for p in made.values} == {2}
    assert made.positions.tolist() == list(range(3000))


class Own(AggregateFunction):
    def create_accumulator(self) -> Any: ...

    def add(self, value: Any, accumulator: Any) -> Any: ...

    def get_result(self, accumulator: Any) -> Any: ...

    def merge(self, acc_a: Any, acc_b: Any) -> Any: ...


TUMBLING = TumblingEventTimeWindows.of(10)


@pytest.mark.parametrize(
    ("assigner", "aggregate", "given"),
    [
        (TUMBLING, Own(), {}),
        (TUMBLING, NamedAggregate("sum"), {"allowed_lateness": 1}),
        (TUMBLING, NamedAggregate("sum"), {"late_output": True}),
        (TUMBLING, NamedAggregate("sum"), {"trigger": CountTrigger.of(2)}),
        (TUMBLING, NamedAggregate("sum"), {"trigger": ContinuousEventTimeTrigger.of(2)}),
        (SlidingEventTimeWindows.of(5, 10), NamedAggregate("sum"), {}),
        (EventTimeSessionWindows.with_gap(5), NamedAggregate("sum"), {}),
        (ProcessingTimeSessionWindows.with_dynamic_gap(len), NamedAggregate("sum"), {}),
        (GlobalWindows.create(), NamedAggregate("sum"), {}),
    ],
)
def test_where_combining_would_not_be_exact(
    assigner: WindowAssigner[Any, Any], aggregate: Any, given: dict[str, Any]
) -> None:
    assert not can_combine(assigner, aggregate, **given)
    assert can_combine(TUMBLING, NamedAggregate("sum"), trigger=PurgingTrigger.of(EventTimeTrigger.create()))
