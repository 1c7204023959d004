"""What type checkers know of a pipeline. `test_checkers.py` runs them; a wrong claim here is an error there.

A comment `type: ignore` stands where a checker must find a mistake: both checkers complain about one that is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

import penstock as ps
from penstock.cep import CEP, Pattern, PatternContext, PatternProcessFunction, PatternStream
from penstock.datastream import (
    BroadcastConnectedStream,
    BroadcastStream,
    CloseableIterator,
    ConnectedStreams,
    DataStreamSink,
)
from penstock.state import AggregatingState, ListState, MapState, ReducingState, ValueState


@dataclass
class Order:
    user: str
    amount: int


class Amount(ps.MapFunction[Order, int]):
    def map(self, value: Order) -> int:
        return value.amount


class Letters(ps.FlatMapFunction[str, str]):
    def flat_map(self, value: str) -> Iterable[str]:
        return value


class Large(ps.FilterFunction[Order]):
    def filter(self, value: Order) -> bool:
        return value.amount > 100


class ByUser(ps.KeySelector[Order, str]):
    def get_key(self, value: Order) -> str:
        return value.user


class Score(ps.AsyncFunction[Order, float]):
    async def async_invoke(self, value: Order) -> list[float]:
        return [value.amount / 2]


async def limit_of(user: str) -> int:
    return len(user)


def is_allowed(order: Order, limit: int) -> bool:
    return order.amount < limit


LATE = ps.OutputTag("late", Order)


class Total(ps.KeyedProcessFunction[str, Order, tuple[str, int]]):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))
        assert_type(self.total, ValueState[int])

    def process_element(
        self, value: Order, ctx: ps.KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int] | tuple[ps.OutputTag[Order], Order]]:
        assert_type(ctx.timestamp(), int | None)
        if value.amount < 0:
            yield LATE, value
        total = (self.total.value() or 0) + value.amount
        self.total.update(total)
        yield value.user, total


class Untyped(ps.KeyedProcessFunction):
    """As PyFlink's programs are written."""

    def process_element(self, value: Any, ctx: ps.KeyedProcessFunction.Context) -> Any:
        yield value

    def on_timer(self, timestamp: int, ctx: ps.KeyedProcessFunction.OnTimerContext) -> Any:
        yield ctx.get_current_key()


class Shout(ps.ProcessFunction[str, str]):
    def process_element(self, value: str, ctx: ps.ProcessFunction.Context) -> Iterable[str]:
        return [value.upper()]


class Either(ps.CoMapFunction[Order, str, int]):
    def map1(self, value: Order) -> int:
        return value.amount

    def map2(self, value: str) -> int | None:
        return len(value) or None


class Matched(ps.KeyedCoProcessFunction[str, Order, str, float]):
    def process_element1(self, value: Order, ctx: ps.KeyedCoProcessFunction.Context) -> Iterable[float]:
        return [value.amount / 2]

    def process_element2(self, value: str, ctx: ps.KeyedCoProcessFunction.Context) -> None:
        return None


RULES = ps.MapStateDescriptor("rules", str, int)


class Ruled(ps.KeyedBroadcastProcessFunction[str, Order, str, bool]):
    def process_element(self, value: Order, ctx: ps.KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[bool]:
        return [assert_type(ctx.get_broadcast_state(RULES).get(value.user), int | None) is not None]

    def process_broadcast_element(self, value: str, ctx: ps.KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(value, 1)
        ctx.get_broadcast_state(RULES).put(1, 1)  # type: ignore[arg-type]


def streams(env: ps.StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order("ann", 5)])
    assert_type(orders, ps.DataStream[Order])
    words = orders.map(lambda order: order.user)
    assert_type(words, ps.DataStream[str])
    assert_type(orders.map(Amount()), ps.DataStream[int])
    assert_type(words.flat_map(lambda word: word.split()), ps.DataStream[str])
    assert_type(words.flat_map(Letters()), ps.DataStream[str])
    assert_type(orders.filter(lambda order: order.amount > 1), ps.DataStream[Order])
    assert_type(orders.filter(Large()), ps.DataStream[Order])
    assert_type(words.process(Shout()), ps.DataStream[str])
    assert_type(words.union(words, words), ps.DataStream[str])
    assert_type(words.rebalance().shuffle().global_(), ps.DataStream[str])
    assert_type(words.name("w").uid("w").set_parallelism(1), ps.DataStream[str])
    assert_type(words.print(), DataStreamSink)
    assert_type(orders.partition_custom(lambda key, n: len(key) % n, ByUser()), ps.DataStream[Order])


def keys(env: ps.StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order("ann", 5)])
    by_user = orders.key_by(lambda order: order.user)
    assert_type(by_user, ps.KeyedStream[Order, str])
    assert_type(orders.key_by(ByUser()), ps.KeyedStream[Order, str])
    totals = by_user.process(Total())
    assert_type(totals, ps.DataStream[tuple[str, int]])
    assert_type(totals.get_side_output(LATE), ps.DataStream[Order])
    assert_type(
        totals.add_sink(print, on_error="dead_letter").get_side_output(ps.DEAD_LETTERS), ps.DataStream[ps.DeadLetter]
    )
    assert_type(by_user.process(Untyped()), ps.DataStream[Any])
    assert_type(by_user.reduce(lambda a, b: Order(a.user, a.amount + b.amount)), ps.DataStream[Order])
    assert_type(by_user.sum("amount"), ps.DataStream[Order])
    assert_type(by_user.max_by("amount", on_error="dead_letter"), ps.DataStream[Order])
    assert_type(by_user.map(lambda order: order.amount), ps.DataStream[int])
    assert_type(by_user.key_by(lambda order: order.amount), ps.KeyedStream[Order, int])


def two_streams(env: ps.StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order("ann", 5)])
    words = env.from_collection(["ann"])
    both = orders.connect(words)
    assert_type(both, ConnectedStreams[Order, str])
    assert_type(both.map(Either()), ps.DataStream[int])
    keyed = both.key_by(lambda order: order.user, lambda word: word)
    assert_type(keyed.process(Matched()), ps.DataStream[float])
    assert_type(words.broadcast(), ps.DataStream[str])
    rules = words.broadcast(RULES)
    assert_type(rules, BroadcastStream[str])
    beside = orders.key_by(ByUser()).connect(rules)
    assert_type(beside, BroadcastConnectedStream[Order, str])
    assert_type(beside.process(Ruled()), ps.DataStream[bool])


def services(env: ps.StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order("ann", 5)])
    assert_type(ps.AsyncDataStream.unordered_wait(orders, Score(), ps.Time.seconds(1)), ps.DataStream[float])
    assert_type(
        ps.AsyncDataStream.ordered_wait_with_retry(
            orders, Score(), 1000, ps.AsyncRetryStrategy.fixed_delay(3, 10, lambda scores: not scores, None)
        ),
        ps.DataStream[float],
    )
    ps.AsyncDataStream.ordered_wait(orders.map(str), Score(), 1000)  # type: ignore[misc]
    limits = ps.cached_enrichment(orders, ByUser(), limit_of, ttl=1000, timeout=1000)
    assert_type(limits, ps.DataStream[tuple[Order, int]])
    allowed = ps.cached_enrichment(orders, lambda order: order.user, limit_of, 1000, 1000, output=is_allowed)
    assert_type(allowed, ps.DataStream[bool])


def results(env: ps.StreamExecutionEnvironment) -> None:
    words = env.from_collection(["a"])
    assert_type(words.execute_and_collect(), CloseableIterator[str])
    assert_type(words.execute_and_collect("job"), CloseableIterator[str])
    assert_type(words.execute_and_collect("job", 3), list[str])
    assert_type(words.execute_and_collect(limit=3), list[str])
    with words.execute_and_collect() as found:
        assert_type(next(found), str)
        assert_type(list(found), list[str])


class Alert(PatternProcessFunction[Order, str]):
    def process_match(self, match: dict[str, list[Order]], ctx: PatternContext) -> Iterable[str]:
        yield match["large"][0].user


def patterns(orders: ps.DataStream[Order]) -> None:
    large = Pattern.begin("large").where(lambda order: order.amount > 100)
    found = CEP.pattern(orders.key_by(lambda order: order.user), large)
    assert_type(found, PatternStream[Order])
    assert_type(found.select(lambda match: match["large"][0].amount), ps.DataStream[int])
    assert_type(found.flat_select(lambda match: [order.user for order in match["large"]]), ps.DataStream[str])
    assert_type(found.process(Alert()), ps.DataStream[str])


def state(context: ps.RuntimeContext) -> None:
    assert_type(context.get_state(ps.ValueStateDescriptor("v", str)), ValueState[str])
    assert_type(context.get_state(ps.ValueStateDescriptor("v", str)).value(), str | None)
    assert_type(context.get_state(ps.ValueStateDescriptor("v", ps.Types.INT())), ValueState[Any])
    assert_type(context.get_state(ps.ValueStateDescriptor("v")), ValueState[Any])
    assert_type(context.get_list_state(ps.ListStateDescriptor("l", Order)), ListState[Order])
    assert_type(context.get_map_state(ps.MapStateDescriptor("m", str, int)), MapState[str, int])
    assert_type(context.get_map_state(ps.MapStateDescriptor("m", str, int))["a"], int | None)
    reducing = ps.ReducingStateDescriptor("r", lambda a, b: a + b, int)
    assert_type(context.get_reducing_state(reducing), ReducingState[int])
    aggregating = ps.AggregatingStateDescriptor("a", object(), ps.Types.INT())
    assert_type(context.get_aggregating_state(aggregating), AggregatingState[Any, Any])


def migrate(from_version: int, old: dict[str, Any]) -> Spent:
    return Spent(old["sum"] / from_version)


@ps.state_type(version=2, aliases={"total": ("sum", "amount")}, migrate=migrate)
@dataclass
class Spent:
    total: float


def evolved(context: ps.RuntimeContext) -> None:
    assert_type(Spent(1.0), Spent)
    descriptor = ps.ValueStateDescriptor("v", Spent).evolve(version=3, migrate=lambda version, old: Spent(1.0))
    assert_type(descriptor, ps.ValueStateDescriptor[Spent])
    assert_type(context.get_state(descriptor).value(), Spent | None)


def mistakes(env: ps.StreamExecutionEnvironment, context: ps.RuntimeContext) -> None:
    """What a checker finds before the job runs."""
    words = env.from_collection(["a"])
    words.map(Amount())  # type: ignore[arg-type]
    words.map(lambda word: word.amount)  # type: ignore[attr-defined]
    numbers = env.from_collection([1])
    words.union(numbers)  # type: ignore[arg-type]
    words.key_by(lambda word: word).process(Total())  # type: ignore[arg-type]
    context.get_state(ps.ValueStateDescriptor("v", int)).update("one")  # type: ignore[arg-type]
    ps.state_type(version="2")(Spent)  # type: ignore[arg-type]
    ps.ValueStateDescriptor("v", int).evolve(migrate=lambda old: old)  # type: ignore[misc, arg-type]
