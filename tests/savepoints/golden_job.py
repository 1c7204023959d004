"""The job of the golden savepoints: many kinds of state, timers, windows, joins and patterns, with a script in two parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import penstock as ps
from penstock.cep import CEP, Pattern
from penstock.connectors import ScriptedSource, Step
from penstock.connectors.scripted import At, Mark
from penstock.datastream import DataStream
from penstock.functions import count, max_of, sum_of
from penstock.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.ttl import StateTtlConfig
from penstock.types import Types
from penstock.windows import EventTimeSessionWindows, SlidingEventTimeWindows, TimeWindow, TumblingEventTimeWindows

Event = tuple[str, str, int]  # what it is, whose, how much
CUT = 3  # so many steps are in the savepoint
RULES = MapStateDescriptor("rules", str, int)
OWNERS = ("ann", "bob", "cid", "dot", "eve", "fay", "gus")


@dataclass(frozen=True)
class Owner:
    """A key that cannot be decoded from its bytes."""

    name: str
    region: int


@dataclass
class Summary:
    """A value with a declared type."""

    count: int
    largest: int
    names: list[str]


def steps() -> list[Step]:
    """Elements of all kinds, watermarks and clocks; the first CUT steps are in the savepoint."""
    rules = [At(("rule", "limit", 40), 0), At(("rule", "bonus", 3), 0)]
    script = [Step({"s": [*rules, *_events(0)]}, clock=1_000)]
    script += [Step({"s": _events(20)}, clock=1_200), Step({"s": [*_events(40), Mark(35)]}, clock=1_400)]
    script += [Step({"s": [At(("rule", "limit", 55), 60), *_events(60)]}, clock=1_600)]
    script += [Step({}, clock=9_000), Step({"s": [*_events(90), Mark(120)]}, clock=9_100)]
    return [*script, Step({"s": [Mark(10_000)]}, clock=20_000)]


def _events(first: int) -> list[Any]:
    kinds = ("order", "click", "pay")
    return [At((kinds[n % 3], OWNERS[(first + n) % len(OWNERS)], (first + n * 7) % 60), first + n) for n in range(18)]


def everything(env: ps.StreamExecutionEnvironment) -> DataStream[Any]:
    """All branches as one stream of (branch, result)."""
    source = env.from_source(ScriptedSource(steps(), known=("s",)), source_name="events").uid("events")
    events = source.filter(lambda e: e[0] != "rule").uid("no-rules")
    rules = source.filter(lambda e: e[0] == "rule").uid("rules").broadcast(RULES)
    by_owner = events.key_by(owner_of)
    orders = events.filter(lambda e: e[0] == "order").uid("orders").key_by(owner_of)
    payments = events.filter(lambda e: e[0] == "pay").uid("payments").key_by(owner_of)
    begin = Pattern.begin("click").where(lambda e: e[0] == "click")
    pattern = begin.followed_by("pay").where(lambda e: e[0] == "pay").within(ps.Duration.of_millis(30))
    branches: list[DataStream[Any]] = [
        events.key_by(lambda e: Owner(e[1], len(e[1]))).process(AllStates()).uid("all-states"),
        by_owner.connect(rules).process(Limited()).uid("limited"),
        by_owner.window(TumblingEventTimeWindows.of(50)).process(FormatWindow()).uid("tumbling"),
        by_owner.window(EventTimeSessionWindows.with_gap(9)).reduce(added).uid("sessions"),
        by_owner.window(SlidingEventTimeWindows.of(60, 20))
        .aggregates(n=count(), total=sum_of(2), most=max_of(2))
        .uid("by-columns"),
        by_owner.count_window(4).reduce(added).uid("counted"),
        orders.interval_join(payments).between(-25, 25).process(Pairs()).uid("joined"),
        CEP.pattern(by_owner, pattern).select(matched).uid("pattern"),
        by_owner.reduce(added).uid("running"),
    ]
    first, *others = [stream.map(partial(labelled, n)) for n, stream in enumerate(branches)]
    return first.union(*others)


def owner_of(event: Event) -> str:
    return event[1]


def added(a: Event, b: Event) -> Event:
    return a[0], a[1], a[2] + b[2]


def labelled(branch: int, value: Any) -> tuple[int, str]:
    return branch, repr(value)


def matched(match: Any) -> str:
    return " then ".join(f"{e[0]} {e[1]} {e[2]}" for events in match.values() for e in events)


class AllStates(ps.KeyedProcessFunction):
    """One state of each kind, with and without a declared type and a time to live, and timers of both clocks."""

    def open(self, runtime_context: Any) -> None:
        lasting = ValueStateDescriptor("lasting", Types.LONG())
        lasting.enable_time_to_live(StateTtlConfig.new_builder(ps.Duration.of_seconds(5)).build())
        self.lasting = runtime_context.get_state(lasting)
        self.plain = runtime_context.get_state(ValueStateDescriptor("plain"))
        self.summary = runtime_context.get_state(ValueStateDescriptor("summary", Summary))
        self.row = runtime_context.get_state(
            ValueStateDescriptor("row", Types.ROW_NAMED(["kind", "n"], [Types.STRING(), Types.INT()]))
        )
        self.amounts = runtime_context.get_list_state(ListStateDescriptor("amounts", int))
        self.by_kind = runtime_context.get_map_state(MapStateDescriptor("by-kind", str, int))
        self.total = runtime_context.get_reducing_state(ReducingStateDescriptor("total", larger, int))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def process_element(self, value: Event, ctx: Any) -> None:
        kind, name, amount = value
        self.lasting.update((self.lasting.value() or 0) + amount)
        self.plain.update({"last": amount, "kind": kind})
        before = self.summary.value() or Summary(0, 0, [])
        self.summary.update(Summary(before.count + 1, max(before.largest, amount), [*before.names[-2:], kind]))
        self.row.update(ps.Row(kind=kind, n=amount))
        self.amounts.add(amount)
        self.by_kind.put(kind, amount)
        self.total.add(amount)
        self.mean.add(amount)
        timers = ctx.timer_service()
        timers.register_event_time_timer(100 + len(name))
        timers.register_processing_time_timer(timers.current_processing_time() + 5_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        known = sorted(self.by_kind.items())
        values = (self.lasting.value(), self.plain.value(), self.summary.value(), self.row.value(), known)
        yield timestamp, ctx.get_current_key(), *values, list(self.amounts.get()), self.total.get(), self.mean.get()


def larger(a: int, b: int) -> int:
    return max(a, b)


class Mean(ps.AggregateFunction):
    """The mean of numbers."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Limited(ps.KeyedBroadcastProcessFunction):
    """Emits events above a limit that a rule sets."""

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        limit = rules.get("limit")
        if limit is not None and value[2] > limit:
            yield value[1], value[2], limit, rules.get("bonus")

    def process_broadcast_element(self, value: Event, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[1], value[2])


class FormatWindow(ps.ProcessWindowFunction):
    """Emits the events of a window and the number of windows of its key that have fired before."""

    def process(
        self, key: str, context: ps.ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Event]
    ) -> Any:
        fired = context.global_state().get_state(ValueStateDescriptor("fired", int))
        fired.update((fired.value() or 0) + 1)
        yield key, context.window().start, [e[2] for e in elements], fired.value()


class Pairs(ps.ProcessJoinFunction):
    """Orders with the payments near them."""

    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterator[Any]:
        yield left[1], left[2], right[2]
