"""A function that uses every kind of state and timer, and the pipeline around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    KeyedBroadcastProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream import DataStream
from penstock.testing import PushSource

RULES = MapStateDescriptor("rules", str, int)


@dataclass(frozen=True, order=True)
class City:
    """A key that cannot be decoded from its encoded form alone."""

    name: str
    zip: int


KEYS: list[Any] = ["a", "b", 1, 2.0, 2.5, False, ("x", 1), City("Oslo", 150), City("Rome", 184), Decimal("0.10"), b"z"]


class Joined(AggregateFunction):
    def create_accumulator(self) -> str:
        return ""

    def add(self, value: Any, accumulator: str) -> str:
        return f"{accumulator},{value}"

    def get_result(self, accumulator: str) -> str:
        return accumulator[1:]

    def merge(self, acc_a: str, acc_b: str) -> str:
        return acc_a + acc_b


class UsesAllStates(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._emits_rules = runtime_context.get_index_of_this_subtask() == 0  # results do not depend on the parallelism
        self._value = runtime_context.get_state(ValueStateDescriptor("value", int))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self._map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self._sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, int))
        self._joined = runtime_context.get_aggregating_state(AggregatingStateDescriptor("joined", Joined(), str))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _, n = value
        self._value.update(n)
        self._list.add(n)
        self._map.put(n % 3, n)
        self._sum.add(n)
        self._joined.add(n)
        timers = ctx.timer_service()
        timers.register_event_time_timer(ctx.timestamp() + 7)
        timers.register_processing_time_timer(timers.current_processing_time() + 3)
        yield self._snapshot("element", ctx)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, len(value))
        if self._emits_rules:
            yield "rule", value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield self._snapshot(f"timer {ctx.time_domain()} at {timestamp}", ctx)

    def _snapshot(self, event: str, ctx: Any) -> Any:
        key = ctx.get_current_key()
        rules = dict(ctx.get_broadcast_state(RULES).items())
        states = (
            self._value.value(),
            list(self._list.get()),
            dict(self._map.items()),
            self._sum.get(),
            self._joined.get(),
        )
        return event, type(key).__name__, key, states, rules


def pipeline() -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    """Connects elements (key, number) of source "main" with broadcast rules of source "rules"."""
    env = StreamExecutionEnvironment()
    main = env.from_source(PushSource(), None, "main").key_by(lambda value: value[0])
    rules = env.from_source(PushSource(), None, "rules").broadcast(RULES)
    return env, main.connect(rules).process(UsesAllStates()).uid("everything")
