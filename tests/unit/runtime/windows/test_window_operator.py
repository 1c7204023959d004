"""The window operator: timestamps of results, functions, state, lateness, evictors and errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.errors import PenstockError, PlanError, StateError, TimeError
from penstock.functions import AggregateFunction
from penstock.runtime.windows.factory import window_operator
from penstock.runtime.windows.merging_operator import MergingWindowOperator
from penstock.runtime.windows.operator import WindowOperator
from penstock.runtime.windows.session_operator import SessionWindowOperator
from penstock.state import ListStateDescriptor, ValueStateDescriptor
from penstock.time import MAX_WATERMARK, NO_TIMESTAMP
from penstock.windows import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimestampedValue,
    TimeWindow,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from tests.unit.runtime.windows.window_driver import LATE, Batch, Driver, Event, FormatWindow, Total, one_split

TUMBLING = TumblingEventTimeWindows.of(10)


def make_driver(assigner: WindowAssigner[Any, Any], delay: int | None = None, **settings: Any) -> Driver:
    return Driver(lambda: window_operator(assigner, **settings), delay=delay)


def total(event: Event, other: Event) -> Event:
    return event._replace(value=event.value + other.value)


def run(driver: Driver, *batches: str, now: int = 0) -> list[tuple[Any, int]]:
    return [(r.value, r.timestamp) for part in driver.run_all(one_split(*batches, now=now)) for r in part]


# -- timestamps of results


def test_the_timestamp_of_a_late_firing_is_the_end_of_its_window() -> None:
    driver = make_driver(TUMBLING, aggregate=Total(), allowed_lateness=5)
    assert run(driver, "a@1 !12 a@3") == [(1, 9), (2, 9)]


def test_each_window_of_a_late_element_fires_with_its_own_timestamp() -> None:
    driver = make_driver(
        SlidingEventTimeWindows.of(10, 5), aggregate=Total(), function=FormatWindow(), allowed_lateness=20
    )
    assert run(driver, "!16 a@7") == [("a[5,15)=1", 14), ("a[0,10)=1", 9)]


def test_the_timestamp_of_a_global_window_is_the_maximum() -> None:
    driver = make_driver(GlobalWindows.create(), reduce=total, trigger=PurgingTrigger.of(CountTrigger.of(2)))
    assert run(driver, "a@1 b@1 a@2 a@3") == [(Event("a", 1, 2), MAX_WATERMARK)]


@pytest.mark.parametrize(
    ("assigner", "expected"),
    [
        (TumblingProcessingTimeWindows.of(10), [(2, 9), (1, 19)]),
        (SlidingProcessingTimeWindows.of(10, 5), [(1, 4), (2, 9), (2, 14), (1, 19)]),
        (ProcessingTimeSessionWindows.with_gap(7), [(3, 16)]),
        (ProcessingTimeSessionWindows.with_gap(3), [(1, 4), (1, 7), (1, 12)]),
    ],
)
def test_processing_time_windows(assigner: WindowAssigner[Any, Any], expected: list[tuple[Any, int]]) -> None:
    driver = make_driver(assigner, aggregate=Total())
    batches = [(2, "a@100"), (5, "a@0"), (10, "a@50"), (40, ""), (50, "")]
    out = [r for now, words in batches for part in driver.run_all(one_split(words, now=now)) for r in part]
    assert [(r.value, r.timestamp) for r in out] == expected
    assert driver.first.count_entries() == 0


def test_processing_time_windows_ignore_the_watermark() -> None:
    driver = make_driver(TumblingProcessingTimeWindows.of(10), aggregate=Total())
    assert run(driver, f"!{MAX_WATERMARK} a@1 a@2", now=3) == []
    assert run(driver, "", now=9) == [(2, 9)]


# -- lateness and cleanup


def test_a_window_is_never_cleared_if_its_cleanup_time_overflows() -> None:
    driver = make_driver(TUMBLING, aggregate=Total(), allowed_lateness=MAX_WATERMARK)
    assert run(driver, "a@1 !1000000 a@2") == [(1, 9), (2, 9)]


def test_an_element_between_windows_is_not_late() -> None:
    driver = make_driver(SlidingEventTimeWindows.of(2, 10), aggregate=Total(), late_tag=LATE)
    assert run(driver, "a@5 a@11 !20 a@15") == [(1, 11), ((LATE, Event("a", 15)), 15)]


def test_a_purged_window_starts_empty() -> None:
    driver = make_driver(
        TUMBLING, aggregate=Total(), trigger=PurgingTrigger.of(EventTimeTrigger.create()), allowed_lateness=20
    )
    assert run(driver, "a@1 a@2 !9 a@3 a@4=5", "a@5") == [(2, 9), (1, 9), (5, 9), (1, 9)]
    assert run(driver, "!29") == []
    assert driver.first.count_entries() == 0


def test_contents_that_did_not_fire_are_dropped_at_the_end() -> None:
    driver = make_driver(TUMBLING, reduce=total, trigger=CountTrigger.of(2))
    assert run(driver, "a@1 a@2 a@3 b@1", "a@4") == [(Event("a", 1, 2), 9), (Event("a", 1, 4), 9)]
    assert run(driver, "!9") == []
    assert driver.first.count_entries() == 0


# -- window functions and state


class CountFirings:
    """Counts its firings per window and per key, and clears the former."""

    def __init__(self) -> None:
        self.cleared: list[TimeWindow] = []

    def process(self, key: str, context: Any, elements: Iterable[Event]) -> Iterable[Any]:
        fired = context.window_state().get_state(ValueStateDescriptor("count", int))
        total = context.global_state().get_state(ValueStateDescriptor("count", int))
        fired.update((fired.value() or 0) + 1)
        total.update((total.value() or 0) + 1)
        window = context.window()
        yield (
            key,
            window.start,
            sum(e.value for e in elements),
            context.current_watermark(),
            fired.value(),
            total.value(),
        )

    def clear(self, context: Any) -> None:
        self.cleared.append(context.window())
        context.window_state().get_state(ValueStateDescriptor("count", int)).clear()


def test_a_process_function_has_state_per_window_and_per_key() -> None:
    function = CountFirings()
    driver = make_driver(TUMBLING, function=function, allowed_lateness=5, trigger=None)
    assert run(driver, "a@1 a@11=3 !9 a@2", "!19", "!24 b@31") == [
        (("a", 0, 1, 9, 1, 1), 9),
        (("a", 0, 2, 9, 2, 2), 9),
        (("a", 10, 3, 19, 1, 3), 19),
    ]
    assert function.cleared == [TimeWindow(0, 10), TimeWindow(10, 20)]


def test_states_of_trigger_and_function_may_have_the_same_name() -> None:
    driver = make_driver(TUMBLING, function=CountFirings(), trigger=CountTrigger.of(2))
    assert [v[0][2:] for v in run(driver, "a@1 a@2 a@3", "a@4")] == [(2, -(2**63), 1, 1), (4, -(2**63), 2, 2)]


def test_window_state_is_rejected_for_merging_windows() -> None:
    driver = make_driver(EventTimeSessionWindows.with_gap(5), function=CountFirings())
    with pytest.raises(StateError, match="STATE_OF_MERGING_WINDOW"):
        run(driver, "a@1 !20")


class CollectTimestamps(AggregateFunction):
    """An accumulator that is changed in place and is the result itself."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Event, accumulator: list[int]) -> list[int]:
        accumulator.append(value.timestamp)
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


@pytest.mark.parametrize("assigner", [TUMBLING, EventTimeSessionWindows.with_gap(10)])
def test_an_emitted_accumulator_does_not_change(assigner: WindowAssigner[Any, Any]) -> None:
    driver = make_driver(assigner, aggregate=CollectTimestamps(), allowed_lateness=50)
    assert [value for value, _ in run(driver, "a@0 !9 a@0 a@0")] == [[0], [0, 0], [0, 0, 0]]


@pytest.mark.parametrize("value_type", [None, int])
def test_accumulators_survive_restarts(value_type: type | None) -> None:
    driver = Driver(lambda: window_operator(TUMBLING, aggregate=Total(), value_type=value_type), restarting=True)
    assert sorted(run(driver, "a@1 b@2", "a@3=4", "!9")) == [(1, 9), (5, 9)]


def test_functions_are_opened_and_closed() -> None:
    calls = []

    class RecordCalls(CollectTimestamps):
        def open(self, runtime_context: Any) -> None:
            calls.append(runtime_context.get_task_name())

        def close(self) -> None:
            calls.append("closed")

    driver = make_driver(TUMBLING, aggregate=RecordCalls())
    driver.first.operator.close()
    assert calls == ["op", "closed"]


# -- evictors


class KeepLast(Evictor):
    """Keeps the last elements of a window."""

    def __init__(self, count: int, after: bool) -> None:
        self._count = count
        self._after = after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: Any) -> None:
        assert size == len(elements)
        if not self._after:
            del elements[: size - self._count]

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: Any) -> None:
        if self._after:
            del elements[: size - self._count]


@pytest.mark.parametrize(("after", "expected"), [(False, [2, 2, 2]), (True, [2, 4, 4])])
@pytest.mark.parametrize("reducing", [False, True])
def test_evictors(after: bool, expected: list[int], reducing: bool) -> None:
    class Count:
        def apply(self, key: str, window: Window, elements: list[Event]) -> list[int]:
            return [sum(e.value for e in elements)]

    settings: dict[str, Any] = {"reduce": total} if reducing else {}
    driver = make_driver(
        GlobalWindows.create(), function=Count(), trigger=CountTrigger.of(2), evictor=KeepLast(2, after), **settings
    )
    assert [value for value, _ in run(driver, "a@1 a@2 a@3", "a@4 a@5 a@6")] == expected


def test_an_evictor_gets_the_elements_of_merged_windows_in_order_of_window_start() -> None:
    seen = []

    class RecordTimestamps(KeepLast):
        def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: Any) -> None:
            seen.append([e.timestamp for e in elements])

    driver = make_driver(
        EventTimeSessionWindows.with_gap(5), function=FormatWindow(), evictor=RecordTimestamps(0, True)
    )
    assert run(driver, "a@20 a@10 a@14 a@1 a@19 !100") == [("a[1,6)=1", 5), ("a[10,25)=4", 24)]
    assert seen == [[1], [10, 14, 20, 19]]


# -- merging


def test_sessions_with_an_event_time_trigger_use_the_session_operator() -> None:
    sessions = EventTimeSessionWindows.with_gap(5)
    assert type(window_operator(sessions, reduce=total)) is SessionWindowOperator
    assert type(window_operator(sessions, reduce=total, trigger=CountTrigger.of(2))) is MergingWindowOperator
    assert type(window_operator(sessions, reduce=total, batch_mode=True)) is MergingWindowOperator
    assert type(window_operator(TUMBLING, reduce=total)) is WindowOperator


@pytest.mark.parametrize("continuous_first", [True, False])
def test_sessions_continue_with_another_trigger(continuous_first: bool) -> None:
    """Each session operator can continue with the timers of the other one."""
    triggers: list[Trigger[Any, Any]] = [ContinuousEventTimeTrigger.of(1000), EventTimeTrigger.create()]
    order = iter(triggers if continuous_first else triggers[::-1])
    driver = Driver(
        lambda: window_operator(
            EventTimeSessionWindows.with_gap(10), aggregate=Total(), function=FormatWindow(), trigger=next(order)
        )
    )
    assert run(driver, "a@1 a@7 b@3 b@30 c@5 c@20") == []
    driver.first.restart()
    assert run(driver, "!4 a@12 c@14 !100") == [
        ("b[3,13)=1", 12),
        ("a[1,22)=3", 21),
        ("c[5,30)=3", 29),
        ("b[30,40)=1", 39),
    ]
    if not continuous_first:  # else the state of the first trigger remains, because the second one does not use it
        assert driver.first.count_entries() == 0


class Shrinking(EventTimeSessionWindows):
    """Merges into a window that ends earlier, which is not allowed."""

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        listed = sorted(windows)
        if len(listed) > 1:
            callback.merge(listed, TimeWindow(listed[0].start, listed[0].start + 1))


def test_a_merged_window_must_not_be_late() -> None:
    driver = make_driver(Shrinking(5), aggregate=Total())
    with pytest.raises(TimeError, match="MERGED_WINDOW_LATE"):
        run(driver, "a@10 !12 a@11")


class EmptyWindows(EventTimeSessionWindows):
    """Elements with value 33 get a window of length 0, as in the tests of Flink."""

    def assign_windows(self, element: Event, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + (0 if element.value == 33 else self.gap))]


def test_windows_of_length_0_merge_with_windows_they_touch() -> None:
    driver = Driver(
        lambda: window_operator(EmptyWindows(3000), aggregate=Total(), function=FormatWindow()), restarting=True
    )
    out = run(driver, "k2@0=1 k2@1000=33", "k2@2500=33 k1@10=1 k1@1000=2 k1@2500=33 !12000")
    assert sorted(out) == [("k1[10,4000)=36", 3999), ("k2[0,3000)=67", 2999)]


@pytest.mark.parametrize("purging", [False, True])
def test_late_sessions_behave_as_in_flink(purging: bool) -> None:
    trigger: Trigger[Any, Any] = EventTimeTrigger.create()
    driver = make_driver(
        EventTimeSessionWindows.with_gap(3000),
        aggregate=Total(),
        function=FormatWindow(),
        trigger=PurgingTrigger.of(trigger) if purging else trigger,
        allowed_lateness=10_000 if purging else 10,
        late_tag=LATE,
    )
    words = "a@1000 !1999 a@2000 !4998 a@4500 a@8500 !7400 a@7000 !11501 a@11600 !14600 a@10000 a@14500 !20000 !100000"
    first = [("a[1000,11500)=5", 11499), ("a[11600,14600)=1", 14599)]
    late = (
        [("a[1000,14600)=1", 14599), ("a[1000,17500)=1", 17499)]
        if purging
        else [("a[10000,14600)=2", 14599), ("a[10000,17500)=3", 17499)]
    )
    assert run(driver, words) == first + late
    assert driver.first.count_entries() == 0


# -- errors


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"reduce": total, "allowed_lateness": -1}, "ALLOWED_LATENESS"),
        ({}, "WINDOW_WITHOUT_FUNCTION"),
        ({"reduce": total, "trigger": NeverTrigger()}, "TRIGGER_CANNOT_MERGE"),
    ],
)
def test_invalid_settings(settings: dict[str, Any], code: str) -> None:
    with pytest.raises(PlanError, match=code):
        window_operator(EventTimeSessionWindows.with_gap(5), **settings)


@pytest.mark.parametrize("assigner", [TUMBLING, SlidingEventTimeWindows.of(10, 5), EventTimeSessionWindows.with_gap(5)])
def test_event_time_windows_require_timestamps(assigner: WindowAssigner[Any, Any]) -> None:
    with pytest.raises(TimeError, match="ELEMENT_WITHOUT_TIMESTAMP"):
        make_driver(assigner, aggregate=Total()).run(Batch({"s0": [Event("a", NO_TIMESTAMP)]}))


def test_trigger_state_that_cannot_be_merged_is_rejected() -> None:
    class MergesValueState(NeverTrigger):
        def can_merge(self) -> bool:
            return True

        def on_merge(self, window: Window, ctx: Any) -> None:
            ctx.merge_partitioned_state(ValueStateDescriptor("last", int))

    driver = make_driver(EventTimeSessionWindows.with_gap(5), aggregate=Total(), trigger=MergesValueState())
    with pytest.raises(PenstockError, match="STATE_NOT_MERGEABLE"):
        run(driver, "a@1 a@3")


def test_list_state_of_a_trigger_is_merged() -> None:
    stamps = ListStateDescriptor("stamps", int)

    class Every3(NeverTrigger):
        def on_element(self, element: Any, timestamp: int, window: Window, ctx: Any) -> Any:
            ctx.get_partitioned_state(stamps).add(timestamp)
            return CountTrigger.of(len(list(ctx.get_partitioned_state(stamps).get())) % 3 + 1).on_element(
                element, timestamp, window, ctx
            )

        def can_merge(self) -> bool:
            return True

        def on_merge(self, window: Window, ctx: Any) -> None:
            ctx.merge_partitioned_state(stamps)

    driver = make_driver(
        EventTimeSessionWindows.with_gap(5), aggregate=Total(), function=FormatWindow(), trigger=Every3()
    )
    assert run(driver, "a@1 a@9 a@5") == [("a[1,14)=3", 13)]
