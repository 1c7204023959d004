"""Sample functions and streams for calls."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import penstock as ps
from penstock import windows

RULES = ps.MapStateDescriptor("rules", ps.Types.STRING(), ps.Types.INT())
REDUCED = ps.ReducingStateDescriptor("reduced", min, ps.Types.LONG())
FILE = str(Path(__file__))

AVRO_SCHEMA = '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]}'


def env() -> ps.StreamExecutionEnvironment:
    """Returns an environment whose engine does not start a JVM."""
    return ps.StreamExecutionEnvironment.get_execution_environment(
        ps.Configuration({"execution.engine": "tests.parity.engine:InProcess"})
    )


def one() -> int:
    return 1


def same(value: Any) -> Any:
    return value


def twice(value: Any) -> Iterable[Any]:
    return [value, value]


def sum_of(a: Any, b: Any) -> Any:
    return a + b


def tumbling() -> Any:
    from penstock.windows import TumblingEventTimeWindows

    return TumblingEventTimeWindows.of(1000)


class Gap(windows.SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 100


class Merged(windows.MergingWindowAssigner.MergeCallback[Any]):
    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        """Nothing more is to do."""


class InWindow(ps.WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class InAllWindow(ps.AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class ProcessWindow(ps.ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements


class ProcessAllWindow(ps.ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return elements


class First(ps.KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0]


class ToTheFirst(ps.Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return 0


class Stamps(ps.TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Process(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class KeyedProcess(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class CoProcess(ps.CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class CoMap(ps.CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class CoFlatMap(ps.CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield value

    def flat_map2(self, value: Any) -> Iterable[Any]:
        yield value


class Broadcast(ps.BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Count(ps.AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Ask(ps.AsyncFunction):
    async def async_invoke(self, value: Any) -> Iterable[Any]:
        return [value]


def retrying() -> ps.AsyncRetryStrategy:
    return ps.AsyncRetryStrategy.fixed_delay(1, 1, None, None)
