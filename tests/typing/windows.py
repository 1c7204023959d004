"""What type checkers know of windows. `test_checkers.py` runs them; a wrong claim here is an error there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

import penstock as ps
from penstock.datastream import AllWindowedStream, WindowedStream
from penstock.windows import (
    CountTrigger,
    CountWindow,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)

TEN = TumblingEventTimeWindows.of(ps.Duration.of_seconds(10))


@dataclass
class Order:
    user: str
    amount: int


LATE = ps.OutputTag("late", Order)


class Average(ps.AggregateFunction[Order, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Order, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.amount, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Named(ps.ProcessWindowFunction[float, tuple[str, int, float], str, TimeWindow]):
    def process(
        self, key: str, context: ps.ProcessWindowFunction.Context[TimeWindow], elements: Iterable[float]
    ) -> Iterator[tuple[str, int, float]]:
        assert_type(context.window(), TimeWindow)
        seen = context.global_state().get_state(ps.ValueStateDescriptor("seen", int))
        assert_type(seen.value(), int | None)
        for element in elements:
            yield key, context.window().start, element


class Users(ps.WindowFunction[Order, int, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Order]) -> Iterable[int]:
        return [window.end]


class Count(ps.ProcessAllWindowFunction[Order, int, TimeWindow]):
    def process(
        self, context: ps.ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Order]
    ) -> Iterable[int]:
        return [len(list(elements))]


class Untyped(ps.ProcessWindowFunction):
    """As PyFlink's programs are written."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key


def larger(a: Order, b: Order) -> Order:
    return a if a.amount > b.amount else b


def windows(env: ps.StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order("ann", 5)])
    by_user = orders.key_by(lambda order: order.user)
    assert_type(by_user.window(TEN), WindowedStream[Order, str, TimeWindow])
    assert_type(by_user.window(EventTimeSessionWindows.with_gap(10)), WindowedStream[Order, str, TimeWindow])
    assert_type(by_user.window(GlobalWindows.create()), WindowedStream[Order, str, GlobalWindow])
    assert_type(by_user.count_window(3), WindowedStream[Order, str, CountWindow])
    assert_type(orders.window_all(TEN), AllWindowedStream[Order, TimeWindow])
    assert_type(orders.count_window_all(3, 1), AllWindowedStream[Order, CountWindow])
    settled = by_user.window(TEN).trigger(CountTrigger.of(2)).allowed_lateness(5).side_output_late_data(LATE)
    assert_type(settled, WindowedStream[Order, str, TimeWindow])


def results(env: ps.StreamExecutionEnvironment) -> None:
    orders = env.from_collection([Order("ann", 5)])
    by_user = orders.key_by(lambda order: order.user)
    assert_type(by_user.window(TEN).reduce(larger), ps.DataStream[Order])
    assert_type(by_user.window(TEN).reduce(larger, Users()), ps.DataStream[int])
    assert_type(by_user.window(TEN).aggregate(Average()), ps.DataStream[float])
    assert_type(by_user.window(TEN).aggregate(Average(), Named()), ps.DataStream[tuple[str, int, float]])
    assert_type(by_user.window(TEN).apply(Users()), ps.DataStream[int])
    assert_type(by_user.window(TEN).process(Untyped()), ps.DataStream[Any])
    assert_type(orders.window_all(TEN).process(Count()), ps.DataStream[int])
    assert_type(orders.window_all(TEN).reduce(larger, Count()), ps.DataStream[int])
    assert_type(orders.window_all(TEN).aggregate(Average()), ps.DataStream[float])


def mistakes(env: ps.StreamExecutionEnvironment) -> None:
    """What a checker finds before the job runs."""
    orders = env.from_collection([Order("ann", 5)])
    words = env.from_collection(["a"])
    words.key_by(lambda word: word).window(TEN).apply(Users())  # type: ignore[arg-type]
    orders.key_by(lambda order: order.amount).window(TEN).apply(Users())  # type: ignore[arg-type]
    orders.window_all(TEN).process(Named())  # type: ignore[arg-type]
    orders.window_all(TumblingEventTimeWindows)  # type: ignore[arg-type]
