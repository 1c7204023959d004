"""Which windows run as columnar operators, and which do not."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.functions import AggregateFunction, OutputTag, count, sum_of
from penstock.plan.aggregation import aggregation_of
from penstock.plan.windows import WindowDescription
from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EarlyFiringTrigger,
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


class CustomAggregate(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any: ...

    def add(self, value: Any, accumulator: Any) -> Any: ...

    def get_result(self, accumulator: Any) -> Any: ...

    def merge(self, acc_a: Any, acc_b: Any) -> Any: ...


class Shifted(TumblingEventTimeWindows):
    __slots__ = ()


class Eager(EventTimeTrigger):
    __slots__ = ()


TUMBLING = TumblingEventTimeWindows.of(10)
EVERY_SECOND = ContinuousProcessingTimeTrigger.of(1000)
EARLY = ContinuousEventTimeTrigger.of(2)


def describe(assigner: WindowAssigner[Any, Any], settings: dict[str, Any]) -> WindowDescription:
    return WindowDescription(
        assigner=assigner, **{"trigger": assigner.get_default_trigger(None), "aggregate": count(), **settings}
    )


@pytest.mark.parametrize(
    ("assigner", "settings", "kind", "combined"),
    [
        (TUMBLING, {}, "slices", True),
        (TUMBLING, {"trigger": PurgingTrigger.of(EventTimeTrigger())}, "slices", True),
        (SlidingEventTimeWindows.of(10, 5), {"aggregate": sum_of("x")}, "slices", True),
        (TUMBLING, {"trigger": EARLY}, "early", False),
        (TUMBLING, {"allowed_lateness": 1}, "late", False),
        (TUMBLING, {"late_tag": OutputTag("late")}, "late", False),
        (EventTimeSessionWindows.with_gap(5), {}, "sessions", False),
        (TumblingProcessingTimeWindows.of(5), {}, "clock", True),
        (TumblingProcessingTimeWindows.of(5), {"trigger": EVERY_SECOND}, "early by clock", True),
        (TUMBLING, {"trigger": EVERY_SECOND}, "early by clock", True),
        (TUMBLING, {"trigger": EarlyFiringTrigger.of(1000)}, "early by clock", True),
    ],
)
def test_columnar(assigner: Any, settings: dict[str, Any], kind: str, combined: bool) -> None:
    how = aggregation_of(describe(assigner, settings))
    assert how is not None
    assert (how.kind, how.combined) == (kind, combined)


@pytest.mark.parametrize(
    ("assigner", "settings"),
    [
        (TUMBLING, {"aggregate": CustomAggregate()}),
        (TUMBLING, {"aggregate": None, "reduce": max}),
        (SlidingEventTimeWindows.of(10, 5), {"allowed_lateness": 1}),
        (SlidingEventTimeWindows.of(10, 5), {"late_tag": OutputTag("late")}),
        (TUMBLING, {"trigger": PurgingTrigger.of(EventTimeTrigger()), "allowed_lateness": 1}),
        (EventTimeSessionWindows.with_gap(5), {"allowed_lateness": 1}),
        (TUMBLING, {"trigger": CountTrigger.of(2)}),
        (TUMBLING, {"trigger": PurgingTrigger.of(EARLY)}),
        (TUMBLING, {"trigger": Eager()}),
        (Shifted(10), {}),
        (SlidingEventTimeWindows.of(10, 5), {"trigger": EARLY}),
        (SlidingEventTimeWindows.of(5, 10), {}),
        (SlidingProcessingTimeWindows.of(10, 5), {}),
        (EventTimeSessionWindows.with_dynamic_gap(len), {}),
        (ProcessingTimeSessionWindows.with_gap(5), {}),
        (GlobalWindows.create(), {}),
    ],
)
def test_not_columnar(assigner: Any, settings: dict[str, Any]) -> None:
    assert aggregation_of(describe(assigner, settings)) is None
