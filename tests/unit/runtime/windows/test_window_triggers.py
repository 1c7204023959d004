"""Triggers on non-merging and merging windows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.runtime.windows.factory import window_operator
from penstock.windows import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from tests.unit.runtime.windows.window_driver import Driver, Event, FormatWindow, Total, one_split


class FormatSum:
    def apply(self, key: str, window: Window, elements: list[int]) -> list[str]:
        return [f"{key}={sum(elements)}"]


def run(
    assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any], *batches: str, restarting: bool = False
) -> list[list[str]]:
    function = FormatSum() if isinstance(assigner, GlobalWindows) else FormatWindow()
    driver = Driver(
        lambda: window_operator(assigner, aggregate=Total(), function=function, trigger=trigger), restarting=restarting
    )
    return driver.run_formatted(one_split(*batches))


def test_a_count_trigger_fires_every_n_elements_and_keeps_the_contents() -> None:
    assert run(TumblingEventTimeWindows.of(10), CountTrigger.of(2), "a@1 a@2 b@1 a@3 a@4", "b@2 !9") == [
        ["a[0,10)=2", "a[0,10)=4"],
        ["b[0,10)=2"],
    ]


def test_count_is_per_window() -> None:
    assert run(SlidingEventTimeWindows.of(10, 5), CountTrigger.of(2), "a@7 a@12 a@3") == [["a[5,15)=2", "a[0,10)=2"]]


@pytest.mark.parametrize("restarting", [False, True])
def test_purging_count_on_a_global_window(restarting: bool) -> None:
    first = "k2@3000 k2@3999 k1@20 k1@0 k1@999 k2@1998 k2@1999"
    second = "k2@1000 k1@10999 k2@1000 k2@1000 k2@1000"
    trigger = PurgingTrigger.of(CountTrigger.of(4))
    assert run(GlobalWindows.create(), trigger, first, second, restarting=restarting) == [
        ["k2=4"],
        ["k1=4", "k2=4"],
    ]


@pytest.mark.parametrize("restarting", [False, True])
def test_counts_of_merged_sessions_are_added(restarting: bool) -> None:
    first = "k2@0=1 k2@1000=2 k2@2500=3 k2@3500=4 k1@10=1 k1@1000=2"
    second = "k1@2500=3 k1@6000=1 k1@6500=2 k1@7000=3 k1@4500=10"
    trigger = PurgingTrigger.of(CountTrigger.of(4))
    assert run(EventTimeSessionWindows.with_gap(3000), trigger, first, second, restarting=restarting) == [
        ["k2[0,6500)=10"],
        ["k1[10,10000)=22"],
    ]


@pytest.mark.parametrize("restarting", [False, True])
def test_continuous_firing_on_merging_sessions(restarting: bool) -> None:
    out = run(
        EventTimeSessionWindows.with_gap(3000),
        ContinuousEventTimeTrigger.of(2000),
        "k1@1500=1 k2@0=1 k2@2500=3 k2@1000=2 !2500",
        "k2@4000=5 !3000",
        "k1@4000=2 k2@3500=4 !4000",
        restarting=restarting,
    )
    assert [sorted(o) for o in out] == [["k1[1500,4500)=1", "k2[0,5500)=6"], [], ["k1[1500,7000)=3", "k2[0,7000)=15"]]


def test_continuous_firing_on_a_tumbling_window() -> None:
    assert run(
        TumblingEventTimeWindows.of(10), ContinuousEventTimeTrigger.of(4), "a@1 !3 a@2 !4 a@5", "!8 a@6 !100"
    ) == [
        ["a[0,10)=2"],
        ["a[0,10)=3", "a[0,10)=4"],
    ]


def test_an_event_time_trigger_on_processing_time_windows() -> None:
    driver = Driver(
        lambda: window_operator(
            TumblingProcessingTimeWindows.of(10),
            aggregate=Total(),
            function=FormatWindow(),
            trigger=EventTimeTrigger.create(),
        )
    )
    assert driver.run_formatted(one_split("a@1 a@2 !8", now=3)) == [[]]
    assert driver.run_formatted(one_split("!9 a@3", now=3)) == [["a[0,10)=2", "a[0,10)=3"]]


def test_a_processing_time_trigger_on_event_time_windows() -> None:
    driver = Driver(
        lambda: window_operator(
            TumblingEventTimeWindows.of(10),
            aggregate=Total(),
            function=FormatWindow(),
            trigger=ProcessingTimeTrigger.create(),
        )
    )
    assert driver.run_formatted(one_split("a@1 a@2", now=100)) == [[]]
    assert driver.run_formatted(one_split("a@3", now=101)) == [["a[0,10)=2"]]
    assert driver.run_formatted(one_split("!9", now=102)) == [["a[0,10)=3"]]
    assert driver.first.count_entries() == 0


class FireOnLargeValue(Trigger[Event, Window]):
    """A custom trigger that fires for values of 100 and more, and purges for negative values."""

    def on_element(self, element: Event, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if element.value < 0:
            return TriggerResult.PURGE
        return TriggerResult.FIRE if element.value >= 100 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        pass


def test_a_custom_trigger() -> None:
    out = run(TumblingEventTimeWindows.of(10), FireOnLargeValue(), "a@1 a@2=100 a@3 a@4=-1 a@5=7 a@6=200 !9")
    assert out == [["a[0,10)=101", "a[0,10)=207"]]
    assert not FireOnLargeValue().can_merge()
    with pytest.raises(NotImplementedError, match="FireOnLargeValue"):
        FireOnLargeValue().on_merge(Window.__new__(GlobalWindows.window_type), None)  # type: ignore[arg-type]


class FireOnEveryElement(EventTimeTrigger):
    """A subclass that also fires for every element."""

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.FIRE


class ShiftNegative(TumblingEventTimeWindows):
    """Assigns elements with negative values to other windows."""

    def assign_windows(self, element: Event, timestamp: int, context: Any) -> list[TimeWindow]:
        return [self.window_of(timestamp + (1000 if element.value < 0 else 0))]


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(10)])
@pytest.mark.parametrize("purging", [False, True])
def test_a_trigger_subclass_is_called_for_every_element(assigner: WindowAssigner[Any, Any], purging: bool) -> None:
    trigger = PurgingTrigger.of(FireOnEveryElement()) if purging else FireOnEveryElement()
    assert [len(o) for o in run(assigner, trigger, "a@0 a@0 a@0", "!9")] == [3, 0 if purging else 1]


def test_an_assigner_subclass_is_called_for_every_element() -> None:
    assert run(ShiftNegative(10), EventTimeTrigger(), "a@1 a@2=-3 a@3 !2000") == [["a[0,10)=2", "a[1000,1010)=-3"]]


@pytest.mark.parametrize("result", list(TriggerResult))
def test_results(result: TriggerResult) -> None:
    assert (result.is_fire(), result.is_purge()) == result.value
