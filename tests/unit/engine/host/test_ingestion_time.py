"""Ingestion time: the watermark is the batch clock in all splits, so windows close without records (time-rules 7.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import (
    AggregateFunction,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream import DataStream, KeyedStream
from penstock.functions import count
from penstock.testing import Harness, PushSource
from penstock.time import MIN_WATERMARK
from penstock.windows import (
    ContinuousEventTimeTrigger,
    EarlyFiringTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

INGESTION = WatermarkStrategy.for_ingestion_time()
LATE = OutputTag("late")


class Counter(AggregateFunction):
    """Counts elements. It is not a named aggregate, so its windows are not computed by columns."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def key(value: Any) -> Any:
    return 0


def pushed(env: StreamExecutionEnvironment, *splits: str) -> DataStream[Any]:
    return env.from_source(PushSource(splits), INGESTION)


@pytest.mark.parametrize("aggregate", [Counter(), count()])
def test_a_silent_split_does_not_hold_windows_open(aggregate: Any) -> None:
    env = StreamExecutionEnvironment()
    windows = pushed(env, "s0", "s1").key_by(key).window(TumblingEventTimeWindows.of(1000)).aggregate(aggregate)
    harness = Harness(env, parallelism=2)
    out = harness.collect(windows)
    harness.set_time(10_000)
    harness.push_all("abc", split="s0")
    harness.set_time(10_999)
    assert out == []
    harness.set_time(11_000)
    assert out == [3]


WINDOWS: dict[str, tuple[Callable[[KeyedStream[Any]], Any], int]] = {
    "tumbling": (lambda keyed: keyed.window(TumblingEventTimeWindows.of(1000)), 11_000),
    "sliding": (lambda keyed: keyed.window(SlidingEventTimeWindows.of(1000, 500)), 10_500),
    "session": (lambda keyed: keyed.window(EventTimeSessionWindows.with_gap(700)), 10_800),
    "lateness": (lambda keyed: keyed.window(TumblingEventTimeWindows.of(1000)).allowed_lateness(50), 11_000),
    "early": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(1000)).trigger(ContinuousEventTimeTrigger.of(300)),
        10_201,
    ),
    "final": (
        lambda keyed: keyed.window(TumblingEventTimeWindows.of(1000)).trigger(EarlyFiringTrigger.of(600_000)),
        11_000,
    ),
}


@pytest.mark.parametrize("aggregate", [Counter(), count()])
@pytest.mark.parametrize("kind", WINDOWS)
def test_the_next_batch_is_requested_when_a_window_closes(kind: str, aggregate: Any) -> None:
    """Without new records, a batch starts at the first time at which the watermark, clock - 1, fires a window."""
    env = StreamExecutionEnvironment()
    window, wake_up = WINDOWS[kind]
    harness = Harness(env)
    out = harness.collect(window(pushed(env).key_by(key)).aggregate(aggregate))
    harness.set_time(10_100)
    harness.push_all("ab")
    assert (harness.next_wake(), out) == (wake_up, [])
    harness.set_time(wake_up)
    assert out == [2]
    fired = len(out)
    while (wake := harness.next_wake()) is not None and wake < 20_000:
        assert wake > harness.time
        harness.set_time(wake)
    assert len(out) - fired == {"sliding": 1, "early": 3}.get(kind, 0)


class Timer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


def test_a_timer_of_a_second_operator_requests_a_batch_too() -> None:
    env = StreamExecutionEnvironment()
    first = pushed(env).key_by(key).process(Timer()).uid("first")
    second = first.key_by(key).process(Timer()).uid("second")
    harness = Harness(env, parallelism=2)
    out = harness.collect(second)
    harness.set_time(1000)
    harness.push("a")
    assert harness.next_wake() == 1101
    harness.set_time(1101)
    assert harness.next_wake() == 1201
    harness.set_time(1201)
    assert (out, harness.next_wake()) == ([1200], None)


def test_other_sources_still_hold_event_time_back() -> None:
    """A batch for a timer that waits for another source would change nothing, so none is requested."""
    env = StreamExecutionEnvironment()
    other = env.from_source(PushSource(), WatermarkStrategy.for_monotonous_timestamps(), "other")
    both = env.from_source(PushSource(), INGESTION, "clock").union(other).key_by(key).process(Timer()).uid("both")
    harness = Harness(env)
    out = harness.collect(both)
    harness.set_time(1000)
    harness.push("a", source="clock")
    assert (harness.watermark("both"), harness.next_wake()) == (MIN_WATERMARK, None)
    harness.push("b", 5000, source="other")
    assert (harness.watermark("both"), harness.next_wake()) == (999, 1101)
    harness.set_time(1101)
    assert out == [1100]


def test_ingestion_time_after_an_operator_advances_without_records() -> None:
    env = StreamExecutionEnvironment()
    mapped = env.from_source(PushSource()).key_by(key).map(lambda v: v)
    timers = mapped.assign_timestamps_and_watermarks(INGESTION).key_by(key).process(Timer()).uid("timers")
    harness = Harness(env)
    out = harness.collect(timers)
    harness.set_time(1000)
    harness.push("a")
    assert harness.next_wake() == 1101
    harness.set_time(1101)
    assert out == [1100]


class ShowWatermark(KeyedProcessFunction):
    """Shows the watermark of each element, and registers a timer whose time has passed."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Any:
        timers = ctx.timer_service()
        timers.register_event_time_timer(timers.current_processing_time() - 50)
        yield value, timers.current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield "timer", timestamp


@pytest.mark.parametrize("batches", [["abc"], ["a", "bc"], ["a", "b", "c"]])
@pytest.mark.parametrize("after_an_operator", [False, True])
def test_the_watermark_advances_before_the_first_element_of_a_batch(
    after_an_operator: bool, batches: list[str]
) -> None:
    env = StreamExecutionEnvironment()
    if after_an_operator:
        mapped = env.from_source(PushSource()).key_by(key).map(lambda v: v)
        stream: DataStream[Any] = mapped.assign_timestamps_and_watermarks(INGESTION)
    else:
        stream = pushed(env, "s0")
    harness = Harness(env)
    out = harness.collect(stream.key_by(key).process(ShowWatermark()))
    for clock in (1000, 2000):
        for elements in batches:
            with harness.batch():
                harness.set_time(clock)
                harness.push_all(elements)
    first, second = ([(value, clock - 1) for value in "abc"] for clock in (1000, 2000))
    assert out == [*first, ("timer", 950), *second]
