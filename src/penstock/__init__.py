"""Penstock: Apache Flink's programming model for Python, on Spark."""

from penstock.config import Configuration
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    TimeDomain,
)
from penstock.row import Row, RowKind
from penstock.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.time import Duration, Instant, Time, TimestampAssigner, WatermarkGenerator, WatermarkStrategy
from penstock.types import TypeInformation, Types

__version__ = "0.1.0"

__all__ = [
    "AggregateFunction",
    "AggregatingStateDescriptor",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "Configuration",
    "DataStream",
    "Duration",
    "FilterFunction",
    "FlatMapFunction",
    "Instant",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "ListStateDescriptor",
    "MapFunction",
    "MapStateDescriptor",
    "OutputTag",
    "Partitioner",
    "ProcessFunction",
    "ReduceFunction",
    "ReducingStateDescriptor",
    "Row",
    "RowKind",
    "RuntimeContext",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "Time",
    "TimeDomain",
    "TimestampAssigner",
    "TypeInformation",
    "Types",
    "ValueStateDescriptor",
    "WatermarkGenerator",
    "WatermarkStrategy",
]
