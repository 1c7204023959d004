"""Contracts that users write against."""

from penstock.functions.context import (
    BaseBroadcastContext,
    BroadcastContext,
    BroadcastOnTimerContext,
    KeyedBroadcastContext,
    KeyedContext,
    KeyedReadOnlyBroadcastContext,
    OnTimerContext,
    ProcessContext,
    ReadOnlyBroadcastContext,
    TimeDomain,
    TimerService,
)
from penstock.functions.dead_letter import DEAD_LETTERS, DeadLetter
from penstock.functions.function import (
    AggregateFunction,
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from penstock.functions.java_function import SinkFunction, SourceFunction
from penstock.functions.output_tag import OutputTag
from penstock.functions.process_function import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from penstock.functions.runtime_context import KeyedStateStore, RuntimeContext

__all__ = [
    "DEAD_LETTERS",
    "AggregateFunction",
    "BaseBroadcastContext",
    "BaseBroadcastProcessFunction",
    "BroadcastContext",
    "BroadcastOnTimerContext",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "DeadLetter",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedBroadcastContext",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedContext",
    "KeyedProcessFunction",
    "KeyedReadOnlyBroadcastContext",
    "KeyedStateStore",
    "MapFunction",
    "OnTimerContext",
    "OutputTag",
    "Partitioner",
    "ProcessContext",
    "ProcessFunction",
    "ReadOnlyBroadcastContext",
    "ReduceFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimeDomain",
    "TimerService",
]
