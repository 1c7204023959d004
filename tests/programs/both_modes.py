"""Programs that have the same final results as a stream that ends and as a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import penstock as ps
from penstock.cep import CEP, Pattern
from penstock.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)


class Event(NamedTuple):
    """An element of either input."""

    key: str
    time: int
    number: int


Stream = ps.DataStream[Any]
STRATEGY = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event.time)


def by_key(event: Event) -> str:
    return event.key


def later(one: Event, two: Event) -> Event:
    return Event(one.key, max(one.time, two.time), one.number + two.number)


class Numbers(ps.WindowFunction[Event, Any, str, Any]):
    """Which elements a window holds."""

    def apply(self, key: str, window: Any, inputs: Iterable[Event]) -> Iterable[Any]:
        yield key, window.start, sorted(e.number for e in inputs)


class Watched(ps.KeyedProcessFunction):
    """Emits at each timer how much has arrived until then: one timer for each element, of event time."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ps.ListStateDescriptor("seen"))

    def process_element(self, value: Event, ctx: Any) -> None:
        self.seen.add(value.time)
        ctx.timer_service().register_event_time_timer(value.time + 5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp, sum(t + 5 <= timestamp for t in self.seen.get())


class Slow(ps.AsyncFunction[Event, int]):
    async def async_invoke(self, value: Event) -> list[int]:
        return [value.number * 2]


def matched(match: dict[str, list[Event]]) -> Any:
    return tuple(event.number for events in match.values() for event in events)


ASCENT = (
    Pattern.begin("first")
    .where(lambda e: e.number % 2 == 0)
    .followed_by("second")
    .where(lambda e: e.number % 2 == 1)
    .within(ps.Time.milliseconds(12))
)


def two_levels(left: Stream, right: Stream) -> Stream:
    sums = left.union(right).key_by(by_key).window(TumblingEventTimeWindows.of(10)).reduce(later)
    return sums.key_by(lambda e: "all").window(TumblingEventTimeWindows.of(20)).reduce(later)


PROGRAMS: dict[str, Callable[[Stream, Stream], Stream]] = {
    "process function": lambda left, right: left.key_by(by_key).process(Watched()),
    "tumbling": lambda left, right: left.key_by(by_key).window(TumblingEventTimeWindows.of(7, 2)).reduce(later),
    "sliding": lambda left, right: left.key_by(by_key).window(SlidingEventTimeWindows.of(9, 4)).apply(Numbers()),
    "sessions": lambda left, right: left.key_by(by_key).window(EventTimeSessionWindows.with_gap(4)).apply(Numbers()),
    "reduced sessions": lambda left, right: (
        left.key_by(by_key).window(EventTimeSessionWindows.with_gap(4)).reduce(later)
    ),
    "sum by name": lambda left, right: left.key_by(by_key).window(TumblingEventTimeWindows.of(10)).sum(2),
    "count windows": lambda left, right: left.key_by(by_key).count_window(3).reduce(later),
    "whole stream": lambda left, right: left.window_all(TumblingEventTimeWindows.of(10)).max(2),
    "two levels": two_levels,
    "join": lambda left, right: (
        left.join(right)
        .where(by_key)
        .equal_to(by_key)
        .window(TumblingEventTimeWindows.of(10))
        .apply(lambda one, two: (one.number, two.number))
    ),
    "co_group": lambda left, right: (
        left.co_group(right)
        .where(by_key)
        .equal_to(by_key)
        .window(EventTimeSessionWindows.with_gap(4))
        .apply(lambda ones, twos: [(sorted(e.number for e in ones), sorted(e.number for e in twos))])
    ),
    "interval join": lambda left, right: (
        left.key_by(by_key)
        .interval_join(right.key_by(by_key))
        .between(-5, 5)
        .process(lambda one, two, ctx: [(one.number, two.number)])
    ),
    "patterns": lambda left, right: CEP.pattern(left.key_by(by_key), ASCENT).select(matched),
    "asynchronous": lambda left, right: ps.AsyncDataStream.unordered_wait(left, Slow(), ps.Time.seconds(5)),
}
