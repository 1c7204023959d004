"""The roles that objects of a class can have in a program. Each is a pipeline that fails if an object is not as expected.

Every pipeline emits objects of the class, so that the caller can check what comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import penstock as ps
from penstock.connectors.collection import CollectionSource

COUNT = 40  # elements, so many that the wire encodes them as columns, too
Pipeline = Callable[[ps.StreamExecutionEnvironment, Any], ps.DataStream[Any]]


def expect(family: Any, value: Any, number: int | None = None) -> Any:
    """Returns an object of the family. Raises AssertionError if its class is another one or it does not work."""
    kind = type(family.make(0))  # a TypedDict makes dicts
    assert type(value) is kind, f"{type(value)} is not {kind}, which is {type(value).__qualname__ == kind.__qualname__}"
    assert not isinstance(family.kind, type) or kind is dict or isinstance(value, family.kind)
    assert number is None or value == family.make(number), (value, family.make(number))
    assert family.check is None or family.check(value), f"{value!r} does not work"
    return value


def element(env: ps.StreamExecutionEnvironment, family: Any) -> ps.DataStream[Any]:
    numbered = env.from_collection([(n, family.make(n)) for n in range(COUNT)])
    values = numbered.map(lambda pair: expect(family, pair[1], pair[0]))
    return values.rebalance().map(lambda value: expect(family, value)).rebalance().filter(lambda value: True)


def key(env: ps.StreamExecutionEnvironment, family: Any) -> ps.DataStream[Any]:
    class Keyed(ps.KeyedProcessFunction[Any, Any, Any]):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

        def process_element(self, value: int, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Any]:
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_processing_time_timer(1)
            yield expect(family, ctx.get_current_key(), value % 4)

        def on_timer(self, timestamp: int, ctx: ps.KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield expect(family, ctx.get_current_key())

    return env.from_collection(list(range(COUNT))).key_by(lambda n: family.make(n % 4)).process(Keyed())


class _InState(ps.KeyedProcessFunction[Any, Any, Any]):
    """Reads what the element before has written. `declared` sets the type of the state."""

    def __init__(self, family: Any, declared: bool) -> None:
        self.family = family
        self.declared = declared

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        types: Any = [self.family.kind] if self.declared else []
        names: Any = [str, *types] if self.declared else []
        self.last = runtime_context.get_state(ps.ValueStateDescriptor("last", *types))
        self.all = runtime_context.get_list_state(ps.ListStateDescriptor("all", *types))
        self.by_name = runtime_context.get_map_state(ps.MapStateDescriptor("by_name", *names))

    def process_element(self, value: int, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self.last.value()
        if before is not None:
            expect(self.family, before, value - 4)
            expect(self.family, list(self.all.get())[-1], value - 4)
            yield expect(self.family, self.by_name.get(str(value - 4)), value - 4)
        new = self.family.make(value)
        self.last.update(new)
        self.all.add(new)
        self.by_name.put(str(value), new)


def state(env: ps.StreamExecutionEnvironment, family: Any) -> ps.DataStream[Any]:
    numbers = env.from_source(CollectionSource(list(range(COUNT)), records_per_batch=15))
    return numbers.key_by(lambda n: n % 4).process(_InState(family, declared=False))


def declared_state(env: ps.StreamExecutionEnvironment, family: Any) -> ps.DataStream[Any]:
    numbers = env.from_source(CollectionSource(list(range(COUNT)), records_per_batch=15))
    return numbers.key_by(lambda n: n % 4).process(_InState(family, declared=True))


def accumulator(env: ps.StreamExecutionEnvironment, family: Any) -> ps.DataStream[Any]:
    class Last(ps.AggregateFunction[int, Any, Any]):
        def create_accumulator(self) -> Any:
            return family.make(0)

        def add(self, value: int, accumulator: Any) -> Any:
            expect(family, accumulator)
            return family.make(value)

        def get_result(self, accumulator: Any) -> Any:
            return expect(family, accumulator)

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return expect(family, acc_b)

    numbers = env.from_source(CollectionSource(list(range(COUNT)), records_per_batch=15))
    return numbers.key_by(lambda n: n % 4).count_window(10).aggregate(Last())


def broadcast(env: ps.StreamExecutionEnvironment, family: Any) -> ps.DataStream[Any]:
    rules = ps.MapStateDescriptor("rules")

    class WithRule(ps.BroadcastProcessFunction[int, Any, Any]):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            rule = ctx.get_broadcast_state(rules).get("rule")
            if rule is not None:
                yield expect(family, rule)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            ctx.get_broadcast_state(rules).put("rule", expect(family, value, 1))
            yield value

    numbers = env.from_source(CollectionSource(list(range(COUNT)), records_per_batch=15))
    return numbers.connect(env.from_collection([family.make(1)]).broadcast(rules)).process(WithRule())


def roles_of(family: Any) -> list[Pipeline]:
    """The roles that objects of a family can have."""
    roles: list[Pipeline] = [element, state, accumulator, broadcast]
    return roles + [key] * family.key + [declared_state] * family.declared
