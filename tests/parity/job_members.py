"""Calls of names that exist only inside a running job: functions, contexts, timers, state, metrics. Uses the harness.

The results are in the module variable `VERDICTS` because functions of importable modules are pickled by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import penstock as ps
from penstock.testing import Harness, PushSource
from tests.parity import samples, window_members
from tests.parity.member_calls import BUILT, Verdict, call_all

VERDICTS: dict[str, Verdict] = {}


def _mark_called(name: str) -> None:
    VERDICTS[name] = Verdict(BUILT)


def _call_members(owner: str, target: Any) -> None:
    VERDICTS.update(call_all(owner, target))


@cache
def verdicts() -> dict[str, Verdict]:
    """Runs all jobs once and returns the results."""
    VERDICTS.clear()
    _run_steps()
    _run_processes()
    _run_broadcasts()
    return {**VERDICTS, **window_members.verdicts()}


# -- functions without contexts


class Life(ps.MapFunction):
    def open(self, runtime_context: Any) -> None:
        _mark_called("Function.open")
        _call_members("RuntimeContext", runtime_context)
        _look_at_metrics(runtime_context)

    def close(self) -> None:
        _mark_called("Function.close")

    def map(self, value: Any) -> Any:
        _mark_called("MapFunction.map")
        return value


def _look_at_metrics(runtime_context: Any) -> None:
    if hasattr(runtime_context, "get_metrics_group"):
        group = runtime_context.get_metrics_group()
        VERDICTS.update(call_all("MetricGroup", group))
        _call_members("Counter", group.counter("counted"))
        _call_members("Meter", group.meter("met"))
        _call_members("Distribution", group.distribution("spread"))


class FlatMap(ps.FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        _mark_called("FlatMapFunction.flat_map")
        yield value


class Filter(ps.FilterFunction):
    def filter(self, value: Any) -> bool:
        _mark_called("FilterFunction.filter")
        return True


class Reduce(ps.ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        _mark_called("ReduceFunction.reduce")
        return value1


class Key(ps.KeySelector):
    def get_key(self, value: Any) -> Any:
        _mark_called("KeySelector.get_key")
        return value[0]


class Partition(ps.Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        _mark_called("Partitioner.partition")
        return 0


class CoMap(ps.CoMapFunction):
    def map1(self, value: Any) -> Any:
        _mark_called("CoMapFunction.map1")
        return value

    def map2(self, value: Any) -> Any:
        _mark_called("CoMapFunction.map2")
        return value


class CoFlatMap(ps.CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        _mark_called("CoFlatMapFunction.flat_map1")
        yield value

    def flat_map2(self, value: Any) -> Iterable[Any]:
        _mark_called("CoFlatMapFunction.flat_map2")
        yield value


class Assigner(ps.TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        _mark_called("TimestampAssigner.extract_timestamp")
        return int(value[1])


def _run_steps() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).map(Life()).flat_map(FlatMap()).filter(Filter())
    stamped = stream.assign_timestamps_and_watermarks(
        ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Assigner())
    )
    stamped.key_by(Key()).reduce(Reduce())
    stream.partition_custom(Partition(), samples.First()).process(samples.Process())
    stream.connect(stream).map(CoMap())
    stream.connect(stream).flat_map(CoFlatMap())
    with Harness(env) as harness:
        harness.push_all([("a", 1), ("a", 2)])


# -- functions with contexts


class Aggregate(ps.AggregateFunction):
    def create_accumulator(self) -> Any:
        _mark_called("AggregateFunction.create_accumulator")
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        _mark_called("AggregateFunction.add")
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        _mark_called("AggregateFunction.get_result")
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Process(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("ProcessFunction.process_element")
        _call_members("ProcessFunction.Context", ctx)
        yield value


class KeyedProcess(ps.KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        _call_members("KeyedStateStore", runtime_context)
        self._states = {
            "ValueState": runtime_context.get_state(ps.ValueStateDescriptor("value", ps.Types.INT())),
            "ListState": runtime_context.get_list_state(ps.ListStateDescriptor("list", ps.Types.INT())),
            "MapState": runtime_context.get_map_state(ps.MapStateDescriptor("map", ps.Types.STRING(), ps.Types.INT())),
            "AppendingState": runtime_context.get_reducing_state(
                ps.ReducingStateDescriptor("reduced", samples.sum_of, ps.Types.INT())
            ),
        }
        self._aggregating = runtime_context.get_aggregating_state(
            ps.AggregatingStateDescriptor("aggregated", Aggregate(), ps.Types.INT())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedProcessFunction.process_element")
        for owner, state in self._states.items():
            _call_members(owner, state)
        _call_members("State", self._states["ValueState"])
        self._aggregating.add(1)
        assert self._aggregating.get() == 1
        _call_members("KeyedProcessFunction.Context", ctx)
        _call_members("TimerService", ctx.timer_service())
        ctx.timer_service().register_event_time_timer(5)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedProcessFunction.on_timer")
        _call_members("KeyedProcessFunction.OnTimerContext", ctx)
        yield timestamp


class CoProcess(ps.CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("CoProcessFunction.process_element1")
        _call_members("CoProcessFunction.Context", ctx)
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("CoProcessFunction.process_element2")
        yield value


class KeyedCoProcess(ps.KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedCoProcessFunction.process_element1")
        _call_members("KeyedCoProcessFunction.Context", ctx)
        ctx.timer_service().register_event_time_timer(5)
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedCoProcessFunction.process_element2")
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedCoProcessFunction.on_timer")
        _call_members("KeyedCoProcessFunction.OnTimerContext", ctx)
        yield timestamp


def _run_processes() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource())
    keyed = stream.key_by(samples.First())
    stream.process(Process())
    keyed.process(KeyedProcess())
    stream.connect(stream).process(CoProcess())
    keyed.connect(keyed).process(KeyedCoProcess())
    with Harness(env) as harness:
        harness.push(("a", 1), 1)
        harness.push_watermark(20)


# -- beside a broadcast stream


class Broadcast(ps.BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("BroadcastProcessFunction.process_element")
        _call_members("BaseBroadcastProcessFunction.ReadOnlyContext", ctx)
        _call_members("BaseBroadcastProcessFunction.BaseContext", ctx)
        _call_members("ReadOnlyBroadcastState", ctx.get_broadcast_state(samples.RULES))
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("BroadcastProcessFunction.process_broadcast_element")
        _call_members("BaseBroadcastProcessFunction.Context", ctx)
        _call_members("BroadcastState", ctx.get_broadcast_state(samples.RULES))
        _call_members("OperatorStateStore", ctx)
        yield value


class KeyedBroadcast(ps.KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedBroadcastProcessFunction.process_element")
        _call_members("KeyedBroadcastProcessFunction.ReadOnlyContext", ctx)
        ctx.timer_service().register_event_time_timer(5)
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedBroadcastProcessFunction.process_broadcast_element")
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        _mark_called("KeyedBroadcastProcessFunction.on_timer")
        _call_members("KeyedBroadcastProcessFunction.OnTimerContext", ctx)
        yield timestamp


def _run_broadcasts() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource())
    rules = stream.broadcast(samples.RULES)
    stream.connect(rules).process(Broadcast())
    stream.key_by(samples.First()).connect(rules).process(KeyedBroadcast())
    with Harness(env) as harness:
        harness.push(("a", 1), 1)
        harness.push_watermark(20)
