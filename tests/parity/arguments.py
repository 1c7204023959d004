"""Sample arguments for names, by parameter or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from penstock import windows
from penstock.connectors import CollectionSource, CollectSink
from penstock.formats import AvroInputFormat, AvroSchema
from tests.parity import samples
from tests.parity.lookup import find
from tests.parity.names import Name


def _other_stream(target: Any) -> Any:
    """Returns another stream of the same job."""
    return target.get_execution_environment().from_collection([(1, 2)])


# By parameter. Created for the object that is called.
BY_TARGET: dict[str, Callable[[Any], Any]] = {"ds": _other_stream, "streams": _other_stream}

# By parameter. Created for each call.
BY_PARAMETER: dict[str, Callable[[], Any]] = {
    "name": lambda: "a name",
    "uid": lambda: "a-uid",
    "uid_hash": lambda: "0123456789abcdef0123456789abcdef",
    "description": lambda: "what it does",
    "parallelism": lambda: 2,
    "max_parallelism": lambda: 64,
    "timeout_millis": lambda: 100,
    "slot_sharing_group": lambda: "default",
    "key_selector": lambda: samples.First(),
    "key_selector1": lambda: samples.First(),
    "key_selector2": lambda: samples.First(),
    "field_indexes": lambda: 0,
    "watermark_strategy": ps.WatermarkStrategy.for_monotonous_timestamps,
    "partitioner": lambda: samples.ToTheFirst(),
    "sink": CollectSink,
    "output_tag": lambda: ps.OutputTag("side"),
    "position_to_sum": lambda: 1,
    "position_to_min": lambda: 1,
    "position_to_max": lambda: 1,
    "position_to_min_by": lambda: 1,
    "position_to_max_by": lambda: 1,
    "size": lambda: 2,
    "state_descriptor": lambda: samples.RULES,
    "key": lambda: "a",
    "value": lambda: 1,
    "values": lambda: [1, 2],
    "dict_value": lambda: {"b": 2},
    "timestamp": lambda: 10,
    "ttl_config": lambda: ps.StateTtlConfig.new_builder(1000).build(),
    "ttl": lambda: ps.Time.seconds(1),
    "update_type": lambda: next(iter(find("StateTtlConfig.UpdateType"))),
    "state_visibility": lambda: next(iter(find("StateTtlConfig.StateVisibility"))),
    "ttl_time_characteristic": lambda: find("StateTtlConfig.TtlTimeCharacteristic").ProcessingTime,
    "cleanup_size": lambda: 10,
    "run_cleanup_for_every_record": lambda: False,
    "query_time_after_num_entries": lambda: 1000,
    "timestamp_assigner": lambda: samples.Stamps(),
    "record_timestamp": lambda: 0,
    "idle_timeout": lambda: ps.Duration.of_seconds(1),
    "watermark_group": lambda: "group",
    "max_allowed_watermark_drift": lambda: ps.Duration.of_seconds(1),
    "max_out_of_orderness": lambda: ps.Duration.of_seconds(1),
    "execution_mode": lambda: find("RuntimeExecutionMode").STREAMING,
    "interval": lambda: 1000,
    "timeout": lambda: 1000,
    "enabled": lambda: False,
    "directory": lambda: "savepoints",
    "configuration": ps.Configuration,
    "file_path": lambda: samples.FILE,
    "requirements_file_path": lambda: samples.FILE,
    "archive_path": lambda: samples.FILE,
    "python_exec": lambda: "python3",
    "jars_path": lambda: "file:///a.jar",
    "classpaths": lambda: "file:///a.jar",
    "source": lambda: CollectionSource([1]),
    "source_name": lambda: "numbers",
    "collection": lambda: [1, 2],
    "checkpointing_mode": lambda: find("CheckpointingMode").EXACTLY_ONCE,
    "checkpoint_interval": lambda: 1000,
    "checkpoint_timeout": lambda: 60_000,
    "min_pause_between_checkpoints": lambda: 0,
    "max_concurrent_checkpoints": lambda: 1,
    "fail_on_checkpointing_errors": lambda: True,
    "tolerable_checkpoint_failure_number": lambda: 0,
    "retention_mode": lambda: find("ExternalizedCheckpointRetention").RETAIN_ON_CANCELLATION,
    "alignment_timeout": lambda: ps.Duration.of_seconds(1),
    "paths": lambda: "state",
    "options": lambda: find("PredefinedOptions").DEFAULT,
    "options_factory_class_name": lambda: "org.example.Options",
    "number_of_transfering_threads": lambda: 4,
    "mebi_bytes": lambda: 16,
    "cpu_cores": lambda: 1.0,
    "task_heap_memory": lambda: find("MemorySize").of_mebi_bytes(16),
    "task_off_heap_memory": lambda: find("MemorySize").of_mebi_bytes(16),
    "managed_memory": lambda: find("MemorySize").of_mebi_bytes(16),
    "task_heap_memory_mb": lambda: 16,
    "task_off_heap_memory_mb": lambda: 16,
    "managed_memory_mb": lambda: 16,
    "map": dict,
    "other": ps.Configuration,
    "target_dict": dict,
    "default_value": lambda: "default",
    "use_snapshot_compression": lambda: True,
    "global_job_parameters_dict": lambda: {"a": "b"},
    "restart_attempts": lambda: 3,
    "delay_between_attempts": lambda: 1000,
    "failure_rate": lambda: 3,
    "failure_interval": lambda: 1000,
    "delay_interval": lambda: 1000,
    "advance_to_end_of_event_time": lambda: False,
    "accumulator_name": lambda: "count",
    "obj": lambda: 1,
    "field_types": lambda: [ps.Types.INT()],
    "field_names": lambda: ["n"],
    "names": lambda: ["n"],
    "element_type": ps.Types.INT,
    "element_type_info": ps.Types.INT,
    "key_type_info": ps.Types.STRING,
    "value_type_info": ps.Types.INT,
    "row_kind": lambda: find("RowKind").INSERT,
    "data_stream": lambda: samples.env().from_collection([(1, 2)]),
    "async_function": lambda: samples.Ask(),
    "async_retry_strategy": samples.retrying,
    "current_attempts": lambda: 1,
    "max_attempts": lambda: 1,
    "backoff_time_millis": lambda: 1,
    "initial_delay": lambda: 1,
    "max_retry_delay": lambda: 1,
    "multiplier": lambda: 2.0,
    "result_predicate": lambda: samples.same,
    "exception_predicate": lambda: samples.same,
    "acc_a": lambda: 1,
    "acc_b": lambda: 2,
    "days": lambda: 1,
    "hours": lambda: 1,
    "minutes": lambda: 1,
    "seconds": lambda: 1,
    "millis": lambda: 1,
    "milliseconds": lambda: 1,
    "nanos": lambda: 1_000_000,
    "epoch_milli": lambda: 1,
    "func": lambda: samples.same,
    "sink_func": lambda: samples.same,
    "executable": lambda: False,
    "window_assigner": lambda: samples.tumbling(),
    "window_size": lambda: 4,
    "window_slide": lambda: 2,
    "slide": lambda: 1,
    "offset": lambda: 0,
    "extractor": lambda: samples.Gap(),
    "windows": lambda: [windows.TimeWindow(0, 10), windows.TimeWindow(5, 15)],
    "callback": lambda: samples.Merged(),
    "trigger": lambda: windows.CountTrigger.of(2),
    "nested_trigger": lambda: windows.CountTrigger.of(2),
    "time_ms": lambda: 1000,
    "time": lambda: 10,
    "reduce_function": lambda: samples.sum_of,
    "aggregate_function": lambda: samples.Count(),
    "env": lambda: None,
    "job_name": lambda: "a job",
    "limit": lambda: 1,
    "mode": lambda: find("CheckpointingMode").EXACTLY_ONCE,
    "broadcast_state_descriptor": lambda: samples.RULES,
}

# Where the parameter's name is not enough.
BY_NAME: dict[str, Callable[[], Any]] = {
    "DataStream.flat_map": lambda: [samples.twice],
    "DataStream.process": lambda: [samples.Process()],
    "DataStream.broadcast": lambda: [samples.RULES],
    "DataStream.execute_and_collect": list,
    "KeyedStream.flat_map": lambda: [samples.twice],
    "KeyedStream.reduce": lambda: [samples.sum_of],
    "KeyedStream.process": lambda: [samples.KeyedProcess()],
    "ConnectedStreams.map": lambda: [samples.CoMap()],
    "ConnectedStreams.flat_map": lambda: [samples.CoFlatMap()],
    "ConnectedStreams.process": lambda: [samples.CoProcess()],
    "BroadcastConnectedStream.process": lambda: [samples.Broadcast()],
    "KeyedStateStore.get_state": lambda: [ps.ValueStateDescriptor("v", ps.Types.INT())],
    "KeyedStateStore.get_list_state": lambda: [ps.ListStateDescriptor("l", ps.Types.INT())],
    "KeyedStateStore.get_map_state": lambda: [ps.MapStateDescriptor("m", ps.Types.STRING(), ps.Types.INT())],
    "KeyedStateStore.get_reducing_state": lambda: [ps.ReducingStateDescriptor("r", samples.sum_of, ps.Types.INT())],
    "KeyedStateStore.get_aggregating_state": lambda: [
        ps.AggregatingStateDescriptor("a", samples.Count(), ps.Types.INT())
    ],
    "empty_result_predicate": lambda: [[]],
    "has_exception_predicate": lambda: [ValueError("a")],
    "exception_type_predicate": lambda: [ValueError("a"), ValueError],
    "WindowedStream.apply": lambda: [samples.InWindow()],
    "WindowedStream.process": lambda: [samples.ProcessWindow()],
    "AllWindowedStream.apply": lambda: [samples.InAllWindow()],
    "AllWindowedStream.process": lambda: [samples.ProcessAllWindow()],
    "TimeWindow.intersects": lambda: [windows.TimeWindow(5, 15)],
    "TimeWindow.cover": lambda: [windows.TimeWindow(5, 15)],
    "Trigger.TriggerContext.get_partitioned_state": lambda: [samples.REDUCED],
    "Configuration.get_string": lambda: ["execution.resume", "none"],
    "Configuration.set_string": lambda: ["execution.resume", "folder"],
    "Configuration.get_integer": lambda: ["execution.checkpointing.interval", 5],
    "Configuration.set_integer": lambda: ["execution.checkpointing.interval", 5],
    "Configuration.get_boolean": lambda: ["spark.some.flag", True],
    "Configuration.set_boolean": lambda: ["spark.some.flag", True],
    "Configuration.get_float": lambda: ["spark.some.share", 0.5],
    "Configuration.set_float": lambda: ["spark.some.share", 0.5],
    "Configuration.get_bytearray": lambda: ["spark.some.bytes", bytearray(b"x")],
    "Configuration.set_bytearray": lambda: ["spark.some.bytes", bytearray(b"x")],
    "Configuration.contains_key": lambda: ["execution.resume"],
    "Configuration.remove_config": lambda: ["execution.resume"],
    "Configuration.parse_list_value": lambda: ["a;b"],
    "MetricGroup.add_group": lambda: ["group"],
    "MetricGroup.counter": lambda: ["counter"],
    "MetricGroup.gauge": lambda: ["gauge", samples.one],
    "MetricGroup.meter": lambda: ["meter"],
    "MetricGroup.distribution": lambda: ["distribution"],
    "StreamExecutionEnvironment.register_slot_sharing_group": lambda: [find("SlotSharingGroup").builder("s").build()],
    "StreamExecutionEnvironment.create_input": lambda: [
        AvroInputFormat("events.avro", AvroSchema(samples.AVRO_SCHEMA))
    ],
    "StreamExecutionEnvironment.add_source": lambda: [CollectionSource([1])],
    "Types.BASIC_ARRAY": lambda: [ps.Types.INT()],
    "SlotSharingGroup.Builder.set_external_resource": lambda: ["gpu", 1.0],
    "Row.of_kind": lambda: [find("RowKind").DELETE, 1],
    "Row.set_field_names": lambda: [["n", "m"]],
    "TimestampAssigner.extract_timestamp": lambda: [3, 0],
}


def arguments(name: Name, target: Any) -> list[Any]:
    """Positional arguments for a call; parameters with a default are left out."""
    if str(name) in BY_NAME:
        return list(BY_NAME[str(name)]())
    given = []
    for parameter in name.parameters or ():
        if parameter.endswith("?") or parameter.startswith("**"):
            continue
        plain = parameter.lstrip("*")
        given.append(BY_TARGET[plain](target) if plain in BY_TARGET else BY_PARAMETER[plain]())
    return given
