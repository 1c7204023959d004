"""Functions that create an object of each class that can be created outside of a running job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from penstock import windows
from tests.parity import samples, window_members
from tests.parity.lookup import find


def _stream() -> Any:
    return samples.env().from_collection([(1, 2)])


def _keyed() -> Any:
    return _stream().key_by(samples.First())


def _connected() -> Any:
    stream = _stream()
    return stream.connect(stream.map(samples.same))


def _connected_with_rules() -> Any:
    stream = _stream()
    return stream.connect(stream.broadcast(samples.RULES))


def _environment() -> Any:
    """An environment with a job to run."""
    env = samples.env()
    env.from_collection([1]).print()
    return env


def _result_of(method: str) -> Callable[[], Any]:
    def make() -> Any:
        return getattr(_environment(), method)()

    return make


def _of_class(owner: str, *arguments: Any) -> Callable[[], Any]:
    def make() -> Any:
        return find(owner)(*arguments)

    return make


def _cleanup() -> Any:
    builder = ps.StateTtlConfig.new_builder(ps.Time.seconds(1))
    config = builder.cleanup_full_snapshot().cleanup_incrementally(10, True).cleanup_in_rocksdb_compact_filter(1000)
    return config.build().get_cleanup_strategies()


def _slots() -> Any:
    return find("SlotSharingGroup").builder("slots")


def _one_of(make_all: Callable[[], dict[str, Any]], owner: str) -> Callable[[], Any]:
    return lambda: make_all()[owner]


SAMPLE_OBJECTS: dict[str, Callable[[], Any]] = {
    "WindowedStream": lambda: _keyed().window(samples.tumbling()),
    "AllWindowedStream": lambda: _stream().window_all(samples.tumbling()),
    "Window": lambda: windows.TimeWindow(0, 10),
    "TimeWindow": lambda: windows.TimeWindow(0, 10),
    "CountWindow": lambda: windows.CountWindow(1),
    "GlobalWindow": lambda: windows.GlobalWindow(),
    "TriggerResult": lambda: windows.TriggerResult.FIRE,
    **{owner: _one_of(window_members.triggers, owner) for owner in window_members.triggers()},
    **{owner: _one_of(window_members.assigners, owner) for owner in window_members.assigners()},
    "DataStream": _stream,
    "KeyedStream": _keyed,
    "DataStreamSink": lambda: _stream().print(),
    "CachedDataStream": lambda: _stream().cache(),
    "ConnectedStreams": _connected,
    "BroadcastConnectedStream": _connected_with_rules,
    "CloseableIterator": lambda: _stream().execute_and_collect(),
    "AggregateFunction": samples.Count,
    "StateDescriptor": lambda: ps.ValueStateDescriptor("a", ps.Types.INT()),
    "ReducingStateDescriptor": lambda: ps.ReducingStateDescriptor("a", samples.sum_of, ps.Types.INT()),
    "AggregatingStateDescriptor": lambda: ps.AggregatingStateDescriptor("a", samples.Count(), ps.Types.INT()),
    "StateTtlConfig": lambda: ps.StateTtlConfig.new_builder(ps.Time.seconds(1)).build(),
    "StateTtlConfig.Builder": lambda: ps.StateTtlConfig.new_builder(ps.Time.seconds(1)),
    "StateTtlConfig.CleanupStrategies": _cleanup,
    "StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy": lambda: (
        _cleanup().get_incremental_cleanup_strategy()
    ),
    "StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy": lambda: (
        _cleanup().get_rocksdb_compact_filter_cleanup_strategy()
    ),
    "WatermarkStrategy": lambda: ps.WatermarkStrategy.for_monotonous_timestamps(),
    "SourceFunction": _of_class("SourceFunction", "org.example.Source"),
    "SinkFunction": _of_class("SinkFunction", "org.example.Sink"),
    "ConfigOption": lambda: find("ConfigOptions").key("a").int_type().default_value(1),
    "StreamExecutionEnvironment": _environment,
    "CheckpointConfig": _result_of("get_checkpoint_config"),
    "ExecutionConfig": _result_of("get_config"),
    "JobClient": _result_of("execute_async"),
    "JobExecutionResult": _result_of("execute"),
    "JobStatus": lambda: find("JobStatus").RUNNING,
    "CompletableFuture": lambda: _environment().execute_async().get_job_status(),
    "JobManagerCheckpointStorage": _of_class("JobManagerCheckpointStorage"),
    "FileSystemCheckpointStorage": _of_class("FileSystemCheckpointStorage", "checkpoints"),
    "EmbeddedRocksDBStateBackend": _of_class("EmbeddedRocksDBStateBackend"),
    "MemorySize": lambda: find("MemorySize").of_mebi_bytes(16),
    "SlotSharingGroup": lambda: _slots().set_cpu_cores(1.0).set_task_heap_memory_mb(16).build(),
    "SlotSharingGroup.Builder": lambda: _slots().set_cpu_cores(1.0).set_task_heap_memory_mb(16),
    "Configuration": lambda: ps.Configuration({"execution.resume": "folder"}),
    "ConfigOptions.OptionBuilder": lambda: find("ConfigOptions").key("a"),
    "ConfigOptions.TypedConfigOptionBuilder": lambda: find("ConfigOptions").key("a").int_type(),
    "RestartStrategyConfiguration": lambda: find("RestartStrategies").no_restart(),
    "RestartStrategies.FixedDelayRestartStrategyConfiguration": lambda: find("RestartStrategies").fixed_delay_restart(
        3, 10
    ),
    "RestartStrategies.FailureRateRestartStrategyConfiguration": lambda: find("RestartStrategies").failure_rate_restart(
        3, 10, 10
    ),
    "AsyncRetryPredicate": _of_class("RetryPredicate", None, None),
    "AsyncRetryStrategy": samples.retrying,
    "RetryPredicate": _of_class("RetryPredicate", None, None),
    "NoRetryStrategy": _of_class("NoRetryStrategy"),
    "FixedDelayRetryStrategy": samples.retrying,
    "ExponentialBackoffDelayRetryStrategy": lambda: ps.AsyncRetryStrategy.exponential_backoff(1, 1, 1, 2.0, None, None),
    "TypeInformation": lambda: ps.Types.INT(),
    "Row": lambda: find("Row")(n=1, m=2),
    "Instant": lambda: find("Instant").of_epoch_milli(5),
    "Time": lambda: ps.Time.seconds(1),
}
