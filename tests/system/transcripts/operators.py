"""The operators that transcripts name: `show`, `timer+5`, `tumble 10` and so on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from penstock.datastream import DataStream
from penstock.functions import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    TimeDomain,
    WindowFunction,
    sum_of,
)
from penstock.runtime.loop.lateness import pattern_is_late
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.runtime.windows.factory import window_operator
from penstock.state import MapStateDescriptor
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.windows import (
    EarlyFiringTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

LATE = OutputTag("late")
RULES = MapStateDescriptor("rules")


class Record(NamedTuple):
    """An element of a transcript: a@5=7."""

    key: str
    timestamp: int | None = None
    value: int = 1

    def __str__(self) -> str:
        return self.key if self.timestamp is None else f"{self.key}@{self.timestamp}"


class Window(NamedTuple):
    """The result of a window: a[0,10)=2."""

    key: str
    start: int
    end: int
    value: int

    def __str__(self) -> str:
        return f"{self.key}[{self.start},{self.end})={self.value}"


class Shown(NamedTuple):
    """Any other result: its key, and its text in a transcript."""

    key: str
    text: str

    def __str__(self) -> str:
        return self.text


def watermark_text(watermark: int) -> str:
    return {MIN_WATERMARK: "MIN", MAX_WATERMARK: "MAX"}.get(watermark, str(watermark))


def key_of(element: Any) -> str:
    return str(element.key)


class Show(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Shown]:
        watermark = watermark_text(ctx.timer_service().current_watermark())
        yield Shown(value.key, f"{value.key}@{ctx.timestamp()}~{watermark}")


class EventTimer(KeyedProcessFunction):
    """timer+n registers timestamp + n, timer@n registers n. renew+n<m also registers t + n in on_timer while t < m."""

    def __init__(self, after: int | None = None, at: int = 0, below: int = MIN_WATERMARK) -> None:
        self._after = after
        self._at = at
        self._below = below

    def process_element(self, value: Any, ctx: Any) -> None:
        time = self._at if self._after is None else ctx.timestamp() + self._after
        ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Shown]:
        yield Shown(ctx.get_current_key(), f"{ctx.get_current_key()}!{timestamp}")
        if timestamp < self._below:
            ctx.timer_service().register_event_time_timer(timestamp + (self._after or 0))


class ProcessingTimer(KeyedProcessFunction):
    """processing+n emits elements and registers now + n. chain+n emits no elements and registers t + n in on_timer."""

    def __init__(self, after: int, chain: bool) -> None:
        self._after = after
        self._chain = chain

    def process_element(self, value: Any, ctx: Any) -> Iterable[Shown]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + self._after)
        if not self._chain:
            yield Shown(value.key, str(value))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Shown]:
        if self._chain:
            ctx.timer_service().register_processing_time_timer(timestamp + self._after)
        yield Shown(ctx.get_current_key(), f"{ctx.get_current_key()}!{timestamp}")


class WakeTimer(KeyedProcessFunction):
    """wake+n@m registers a processing timer at now + n, which registers an event timer at m."""

    def __init__(self, after: int, at: int) -> None:
        self._after = after
        self._at = at

    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + self._after)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Shown]:
        if ctx.time_domain() == TimeDomain.PROCESSING_TIME:
            ctx.timer_service().register_event_time_timer(self._at)
        else:
            yield Shown(ctx.get_current_key(), f"{ctx.get_current_key()}!{timestamp}")


class BothTimers(KeyedProcessFunction):
    def __init__(self, after: int) -> None:
        self._after = after

    def process_element(self, value: Any, ctx: Any) -> Iterable[Shown]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp() + self._after)
        timers.register_processing_time_timer(timers.current_processing_time() + self._after)
        yield Shown(value.key, f"{value}~{watermark_text(timers.current_watermark())}")

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Shown]:
        key = ctx.get_current_key()
        event = ctx.time_domain() == TimeDomain.EVENT_TIME
        yield Shown(key, f"{key}!{timestamp}" if event else f"{key} proc")


class Pattern(KeyedProcessFunction):
    """Sends records that are late for a pattern to the late output."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        late = pattern_is_late(ctx.timestamp(), ctx.timer_service().current_watermark())
        yield (LATE, value) if late else value


class Rules(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Shown]:
        seen = "".join(ctx.get_broadcast_state(RULES).keys())
        yield Shown(value.key, f"{value.key} sees {seen}")

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Shown]:
        ctx.get_broadcast_state(RULES).put(value.key, True)
        yield Shown(value.key, value.key)


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value.value)

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Label:
    """A window function that names the window."""

    def apply(self, key: str, window: Any, elements: Iterable[int]) -> Iterator[Window]:
        for total in elements:
            yield Window(key, window.start, window.end, total)


class Named(Label, WindowFunction[int, Window, str, Any]):
    """The same for the fluent API."""


class Pair:
    """A join function."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Shown]:
        yield Shown(left.key, f"{left}+{right}")


ASSIGNERS: dict[str, Callable[..., Any]] = {
    "tumble": TumblingEventTimeWindows.of,
    "slide": SlidingEventTimeWindows.of,
    "session": EventTimeSessionWindows.with_gap,
}

# Functions by their name in a transcript. The numbers after the name are the arguments.
FUNCTIONS: dict[str, Callable[..., KeyedProcessFunction]] = {
    "show": Show,
    "timer+": EventTimer,
    "timer@": lambda at: EventTimer(at=at),
    "renew+": lambda after, below: EventTimer(after, below=below),
    "processing+": lambda after: ProcessingTimer(after, chain=False),
    "chain+": lambda after: ProcessingTimer(after, chain=True),
    "both+": BothTimers,
    "wake+": WakeTimer,
    "pattern": Pattern,
}


def attach(
    stream: DataStream[Any], op: str, uid: str, lateness: int, late: bool, rules: Any = None, combined: bool = False
) -> DataStream[Any]:
    """Adds the operator that a transcript names. `late` adds a late output, `combined` aggregates before the shuffle."""
    word = re.match(r"[a-z]+[+@]?", op)
    assert word is not None, op
    numbers = [int(n) for n in re.findall(r"\d+", op)]
    keyed = stream.key_by(key_of)
    tag = LATE if late else None
    if word[0] in ASSIGNERS:
        assigner = ASSIGNERS[word[0]](*numbers)
        if combined:
            return keyed.window(assigner).aggregate(sum_of("value"), Named()).uid(uid)
        factory = partial(
            window_operator, assigner, aggregate=Sum(), function=Label(), allowed_lateness=lateness, late_tag=tag
        )
        return keyed.transform(op, factory).uid(uid)
    if word[0] == "early":
        early = TumblingEventTimeWindows.of(numbers[0]), EarlyFiringTrigger.of(numbers[1])
        windows = partial(window_operator, early[0], trigger=early[1], aggregate=Sum(), function=Label(), late_tag=tag)
        return keyed.transform(op, windows).uid(uid)
    if word[0] == "join":
        join = partial(IntervalJoinOperator, Pair(), -numbers[0], numbers[0], left_late_tag=tag, right_late_tag=tag)
        return keyed.connect(stream.key_by(key_of)).transform(op, join).uid(uid)
    if word[0] == "rules":
        return keyed.connect(rules.broadcast(RULES)).process(Rules()).uid(uid)  # type: ignore[no-any-return]
    return keyed.process(FUNCTIONS[word[0]](*numbers)).uid(uid)
