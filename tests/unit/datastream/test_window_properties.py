"""Results of windows equal a batch computation, for all batch boundaries, parallelisms and orders of arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.connectors.scripted import At
from penstock.datastream import WindowedStream
from penstock.functions import WindowContext
from penstock.testing import Harness, PushSource
from penstock.windows import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)

BOUND = 4  # how far elements are out of order
LATE: ps.OutputTag[Any] = ps.OutputTag("late")


class Event(NamedTuple):
    """An element with its key and its time."""

    key: str
    time: int
    value: int


class FormatElements(ps.ProcessWindowFunction[Event, tuple[Any, ...], str, Any]):
    """Returns the key, the window and the values in the order in which they came."""

    def process(self, key: str, context: WindowContext[Any], elements: Iterable[Event]) -> Iterable[tuple[Any, ...]]:
        yield (key, *context.window().namespace(), tuple(e.value for e in elements))


class Listed(ps.AggregateFunction[Event, tuple[int, ...], tuple[int, ...]]):
    """Collects the values in the accumulator."""

    def create_accumulator(self) -> tuple[int, ...]:
        return ()

    def add(self, value: Event, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        return (*accumulator, value.value)

    def get_result(self, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        return accumulator

    def merge(self, acc_a: tuple[int, ...], acc_b: tuple[int, ...]) -> tuple[int, ...]:
        return acc_a + acc_b


class FormatResult(ps.ProcessWindowFunction[tuple[int, ...], tuple[Any, ...], str, Any]):
    """The same of an aggregate."""

    def process(
        self, key: str, context: WindowContext[Any], elements: Iterable[tuple[int, ...]]
    ) -> Iterable[tuple[Any, ...]]:
        (values,) = elements
        yield (key, *context.window().namespace(), values)


Windows = WindowedStream[Event, str, Any]
Make = Callable[[ps.KeyedStream[Event, str]], Windows]


def run(make: Make, batches: list[list[Event]], bound: int, incremental: bool = False, **harness: Any) -> list[Any]:
    """All results and late elements, in their order. The watermark follows the events."""
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_millis(bound))
    env = ps.StreamExecutionEnvironment()
    events = env.from_source(PushSource(), strategy)
    windows = make(events.key_by(lambda event: event.key)).side_output_late_data(LATE)
    results = windows.aggregate(Listed(), FormatResult()) if incremental else windows.process(FormatElements())
    with Harness(env, **harness) as running:
        out, late = running.collect(results), running.collect(results.get_side_output(LATE))
        for batch in batches:
            running.push_all([At(event, event.time) for event in batch])
        running.end()
        return [*((r.timestamp, r.value) for r in out.records), *(("late", r.value) for r in late.records)]


# -- events

TIMES = st.integers(-30, 60)
EVENTS = st.lists(st.tuples(st.sampled_from("abc"), TIMES), max_size=25).map(
    lambda drawn: [Event(key, time, number) for number, (key, time) in enumerate(drawn)]
)


@st.composite
def nearly_sorted(draw: st.DrawFn) -> list[Event]:
    """Events that are out of order by at most BOUND, so that none is late."""
    events = draw(EVENTS)
    delays = draw(st.lists(st.integers(0, BOUND), min_size=len(events), max_size=len(events)))
    return [e for _, e in sorted(zip(delays, events, strict=True), key=lambda drawn: drawn[0] + drawn[1].time)]


def cut(events: list[Event], at: list[int]) -> list[list[Event]]:
    places = sorted({0, len(events), *(a for a in at if a < len(events))})
    return [events[a:b] for a, b in pairwise(places)]


CUTS = st.lists(st.integers(0, 25), max_size=5)


# -- windows, and what a batch computation makes of them


class Sized(NamedTuple):
    """Tumbling (slide = size) or sliding windows."""

    size: int
    slide: int
    offset: int

    def make(self, stream: ps.KeyedStream[Event, str]) -> Windows:
        if self.size == self.slide:
            return stream.window(TumblingEventTimeWindows.of(self.size, self.offset))
        return stream.window(SlidingEventTimeWindows.of(self.size, self.slide, self.offset))

    def expected(self, events: list[Event]) -> Counter[Any]:
        found: dict[Any, list[int]] = {}
        for event in events:
            for start in range(event.time - self.size + 1, event.time + 1):
                if (start - self.offset) % self.slide == 0:
                    found.setdefault((event.key, start, start + self.size), []).append(event.value)
        return Counter((*window, tuple(sorted(values))) for window, values in found.items())


class Sessions(NamedTuple):
    """Windows that end after a silence."""

    gap: int

    def make(self, stream: ps.KeyedStream[Event, str]) -> Windows:
        return stream.window(EventTimeSessionWindows.with_gap(self.gap))

    def expected(self, events: list[Event]) -> Counter[Any]:
        found: list[list[Any]] = []
        for event in sorted(events):
            if found and found[-1][0] == event.key and event.time <= found[-1][2]:
                found[-1][2] = event.time + self.gap
                found[-1][3].append(event.value)
            else:
                found.append([event.key, event.time, event.time + self.gap, [event.value]])
        return Counter((key, start, end, tuple(sorted(values))) for key, start, end, values in found)


SIZED = st.tuples(st.integers(1, 15), st.integers(1, 15), st.integers(-20, 20)).map(
    lambda drawn: Sized(drawn[0], drawn[1], drawn[2] % drawn[1])
)
ASSIGNED = st.one_of(
    SIZED, SIZED.map(lambda drawn: Sized(drawn.slide, drawn.slide, drawn.offset)), st.integers(1, 12).map(Sessions)
)


def unordered(results: list[Any]) -> Counter[Any]:
    return Counter((*value[:-1], tuple(sorted(value[-1]))) for stamp, value in results if stamp != "late")


@settings(max_examples=60, deadline=None)
@given(windows=ASSIGNED, events=nearly_sorted(), at=CUTS, incremental=st.booleans())
def test_without_late_events_results_are_those_of_a_batch_computation(
    windows: Any, events: list[Event], at: list[int], incremental: bool
) -> None:
    results = run(windows.make, cut(events, at), BOUND + 1, incremental, parallelism=2)
    assert unordered(results) == windows.expected(events)
    assert all(stamp == value[2] - 1 for stamp, value in results)


@settings(max_examples=40, deadline=None)
@given(gap=st.integers(1, 12), events=EVENTS, data=st.data())
def test_sessions_do_not_depend_on_the_order_of_arrival(gap: int, events: list[Event], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(events))
    results = run(Sessions(gap).make, cut(shuffled, data.draw(CUTS)), bound=1000)
    assert unordered(results) == Sessions(gap).expected(events)


@settings(max_examples=40, deadline=None)
@given(windows=ASSIGNED, events=EVENTS, incremental=st.booleans())
def test_in_batch_mode_nothing_is_late(windows: Any, events: list[Event], incremental: bool) -> None:
    results = run(windows.make, [events], 0, incremental, parallelism=2, batch_mode=True)
    assert unordered(results) == windows.expected(events)


# -- with late events, any trigger, evictor and lateness


def _difference(old: Event, new: Event) -> int:
    return abs(new.time - old.time)


TRIGGERS: dict[str, Callable[[Windows], Windows]] = {
    "own": lambda windows: windows,
    "count": lambda windows: windows.trigger(CountTrigger.of(2)),
    "purging count": lambda windows: windows.trigger(PurgingTrigger.of(CountTrigger.of(3))),
    "continuous": lambda windows: windows.trigger(ContinuousEventTimeTrigger.of(3)),
    "purging": lambda windows: windows.trigger(PurgingTrigger.of(ContinuousEventTimeTrigger.of(5))),
    "evictor": lambda windows: windows.evictor(CountEvictor.of(2)),
    "time evictor": lambda windows: windows.trigger(CountTrigger.of(2)).evictor(TimeEvictor.of(5, True)),
}
GLOBAL: dict[str, Callable[[Windows], Windows]] = {
    "delta": lambda windows: windows.trigger(DeltaTrigger.of(6, _difference)),
    "count": lambda windows: windows.trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3)),
    "purging delta": lambda windows: windows.trigger(PurgingTrigger.of(DeltaTrigger.of(6, _difference))),
}


@st.composite
def settled(draw: st.DrawFn) -> Make:
    if draw(st.integers(0, 4)) == 0:
        chosen = GLOBAL[draw(st.sampled_from(sorted(GLOBAL)))]
        return lambda stream: chosen(stream.window(GlobalWindows.create()))
    windows, lateness = draw(ASSIGNED), draw(st.sampled_from([0, 0, 3, 50]))
    chosen = TRIGGERS[draw(st.sampled_from(sorted(TRIGGERS)))]
    return lambda stream: chosen(windows.make(stream).allowed_lateness(lateness))


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")  # windows without event time have no late elements
@settings(max_examples=60, deadline=None)
@given(make=settled(), events=EVENTS, at=CUTS, bound=st.integers(0, 8), groups=st.sampled_from([1, 3, 8, 128]))
def test_results_depend_on_neither_cuts_nor_parallelism(
    make: Make, events: list[Event], at: list[int], bound: int, groups: int
) -> None:
    whole = run(make, [events], bound, parallelism=1, max_parallelism=128)
    assert run(make, cut(events, at), bound, parallelism=1, max_parallelism=128) == whole
    spread = run(make, cut(events, at), bound, parallelism=min(groups, 3), max_parallelism=groups)
    assert Counter(spread) == Counter(whole)
    for key in "abc":
        assert [r for r in spread if r[1][0] == key] == [r for r in whole if r[1][0] == key]
