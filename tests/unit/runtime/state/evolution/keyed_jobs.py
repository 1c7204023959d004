"""Jobs with every kind of keyed state and a chosen key type, and their complete state for comparison."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock import (
    AggregatingStateDescriptor,
    DataStream,
    Duration,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    RuntimeContext,
    StateTtlConfig,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.cep import CEP, Pattern
from penstock.functions import AggregateFunction, ProcessWindowFunction
from penstock.functions.named_aggregates import sum_of
from penstock.runtime.state.keys import decode_key
from penstock.savepoints import open_savepoint
from penstock.savepoints.check import StateCheck, check_restore
from penstock.testing import Harness, PushSource
from penstock.time import Time, WatermarkStrategy
from penstock.windows import EventTimeSessionWindows, TumblingEventTimeWindows, TumblingProcessingTimeWindows

Element = tuple[int, str, int]  # user, region, number


class Keyed(NamedTuple):
    """A type of keys, and the key of an element."""

    type: Any
    of: Callable[[Any], Any]


class Add(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Everything(KeyedProcessFunction[Any, Any, Any]):
    """Uses all kinds of state, with and without a time to live, and both kinds of timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context: Any = runtime_context
        ttl = StateTtlConfig.new_builder(Duration.of_millis(5_000)).build()

        def with_ttl(descriptor: Any) -> Any:
            descriptor.enable_time_to_live(ttl)
            return descriptor

        self.value = context.get_state(ValueStateDescriptor("value", int))
        self.list = context.get_list_state(ListStateDescriptor("list", int))
        self.map = context.get_map_state(MapStateDescriptor("map", str, int))
        self.reduced = context.get_reducing_state(ReducingStateDescriptor("reduced", max, int))
        self.added = context.get_aggregating_state(AggregatingStateDescriptor("added", Add(), int))
        self.recent = context.get_state(with_ttl(ValueStateDescriptor("recent", int)))
        self.recent_list = context.get_list_state(with_ttl(ListStateDescriptor("recent list", int)))
        self.recent_map = context.get_map_state(with_ttl(MapStateDescriptor("recent map", None, int)))

    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        _, region, n = value
        self.value.update((self.value.value() or 0) + n)
        self.list.add(n)
        self.map.put(region, n)
        self.reduced.add(n)
        self.added.add(n)
        self.recent.update(n)
        self.recent_list.add(n)
        self.recent_map.put((region, n), n)
        ctx.timer_service().register_event_time_timer(1_000 + n)
        ctx.timer_service().register_processing_time_timer(10_000 + n)
        yield "element", value, *self._all()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", timestamp, str(ctx.time_domain()), *self._all()

    def _all(self) -> tuple[Any, ...]:
        values = (
            self.value.value(),
            list(self.list.get()),
            sorted(self.map.items()),
            self.reduced.get(),
            self.added.get(),
        )
        recent = (self.recent.value(), list(self.recent_list.get()), sorted(self.recent_map.items()))
        return (*values, *recent)


class Numbers(ProcessWindowFunction[Any, Any, Any, Any]):
    """Emits the elements of a window and the number of calls for the key, from state of the function."""

    def __init__(self, merging: bool) -> None:
        self._merging = merging

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        times = context.global_state().get_state(ValueStateDescriptor("times", int))
        times.update((times.value() or 0) + 1)
        if not self._merging:
            here = context.window_state().get_state(ValueStateDescriptor("here", int))
            here.update((here.value() or 0) + 1)
        yield sorted(elements), times.value(), context.window().start


def _everything(stream: Any, key: Keyed) -> DataStream[Any]:
    return stream.key_by(key.of, key_type=key.type).process(Everything()).uid("op")  # type: ignore[no-any-return]


def _windows(assigner: Any, merging: bool = False) -> Any:
    def make(stream: Any, key: Keyed) -> Any:
        windows = stream.key_by(key.of, key_type=key.type).window(assigner).allowed_lateness(40)
        return windows.process(Numbers(merging)).uid("op")

    return make


def _columns(assigner: Any) -> Any:
    def make(stream: Any, key: Keyed) -> Any:
        named = stream.map(lambda e: {"e": e, "n": e[2]}).uid("named")
        windows = named.key_by(lambda e: key.of(e["e"]), key_type=key.type).window(assigner)
        return windows.aggregates(total=sum_of("n")).uid("op").map(lambda row: row.total).uid("totals")

    return make


def _patterns(stream: Any, key: Keyed) -> Any:
    pattern = Pattern.begin("odd").where(lambda e: e[2] % 2 == 1).followed_by("even").where(lambda e: e[2] % 2 == 0)
    matches = CEP.pattern(stream.key_by(key.of, key_type=key.type), pattern)
    return matches.select(lambda match: (match["odd"][0], match["even"][0])).uid("op")


def _interval_join(stream: Any, key: Keyed) -> Any:
    keyed = stream.key_by(key.of, key_type=key.type)
    joined = keyed.interval_join(stream.filter(lambda e: e[2] % 2).uid("odd").key_by(key.of, key_type=key.type))
    return joined.between(Time.milliseconds(-50), Time.milliseconds(50)).process(lambda a, b, ctx: [(a, b)]).uid("op")


def _window_join(stream: Any, key: Keyed) -> Any:
    odd = stream.filter(lambda e: e[2] % 2).uid("odd")
    joined = stream.join(odd).where(key.of, key_type=key.type).equal_to(key.of, key_type=key.type)
    return joined.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).apply(lambda a, b: (a, b)).uid("op")


JOBS: dict[str, Any] = {
    "process": _everything,
    "windows": _windows(TumblingEventTimeWindows.of(Time.milliseconds(100))),
    "sessions": _windows(EventTimeSessionWindows.with_gap(Time.milliseconds(30)), merging=True),
    "by columns": _columns(TumblingEventTimeWindows.of(Time.milliseconds(100))),
    "sessions by columns": _columns(EventTimeSessionWindows.with_gap(Time.milliseconds(30))),
    "by clock": _columns(TumblingProcessingTimeWindows.of(Time.milliseconds(100))),
    "patterns": _patterns,
    "interval join": _interval_join,
    "window join": _window_join,
}


@dataclass
class Job:
    """A job in a harness, and its output."""

    harness: Harness
    out: Any

    def feed(self, elements: list[Element], start: int) -> list[Any]:
        """Pushes elements ten milliseconds apart and returns the new output."""
        before = len(self.out)
        for number, element in enumerate(elements, start):
            self.harness.set_time(10 * number)
            self.harness.push(element, 10 * number)
        return self._since(before)

    def end(self) -> list[Any]:
        before = len(self.out)
        self.harness.set_time(50_000)
        self.harness.end()
        return self._since(before)

    def _since(self, before: int) -> list[Any]:
        return sorted(list(self.out)[before:], key=repr)

    def rows(self, saved: str) -> list[StateCheck]:
        return check_restore(open_savepoint(saved), self.harness.job.program).rows

    def key_row(self, saved: str) -> StateCheck:
        (row,) = [r for r in self.rows(saved) if r.state == "(key)"]
        return row


def job(kind: str, key: Keyed, parallelism: int = 2, max_parallelism: int | None = None) -> Job:
    env = StreamExecutionEnvironment()
    source = env.from_source(PushSource()).uid("source")
    timed = source.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()).uid("times")
    stream = JOBS[kind](timed, key)
    harness = Harness(env, parallelism=parallelism, max_parallelism=max_parallelism)
    return Job(harness, harness.collect(stream))


def state_of(job: Job) -> dict[tuple[int, str, str], dict[bytes, Any]]:
    """Returns all entries by slot, operator and state. Pickled keys are unpickled, since equal keys may have different pickles."""
    entries: dict[tuple[int, str, str], dict[bytes, Any]] = {}
    for (_, slot), state in job.harness.job.states().items():
        tables = {t.number.to_bytes(2, "big"): t for t in state.meta.tables}
        for stored, value in state.entries.items():
            table = tables[stored[:2]]
            shown: Any = value
            if table.kind == "keys":
                shown = pickle.loads(value)
            elif table.kind == "timers":
                end = 18 + int.from_bytes(value[:4], "big")
                shown = pickle.loads(value[4:]) if len(value) > 4 else decode_key(stored[18:end])
            entries.setdefault((slot, table.operator, table.name), {})[stored[2:]] = shown
    return entries
