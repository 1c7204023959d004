"""The modules of PyFlink with their public names, and the lookup of these names in Penstock."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.pyflink.table_names import SEARCHED_TABLE_MODULES, TABLE_MODULES

# The modules in which names are looked up, in this order.
SEARCHED_MODULES = (
    "penstock",
    "penstock.functions",
    "penstock.windows",
    "penstock.datastream",
    "penstock.state",
    "penstock.types",
    "penstock.metrics",
    "penstock.config",
    "penstock.time",
    "penstock.connectors",
    "penstock.connectors.kafka",
    "penstock.formats",
    "penstock.functions.async_retry",
    "penstock.pyflink.exceptions",
)

MODULES: dict[str, str] = {
    "": "",
    "common": """Configuration ConfigOption ConfigOptions ExecutionConfig TypeInformation TypeSerializer Types
        SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder CompletableFuture
        InputDependencyConstraint JobClient JobExecutionResult JobID JobStatus RestartStrategies RestartStrategyConfiguration
        Row RowKind WatermarkStrategy Duration Instant Time AssignerWithPeriodicWatermarksWrapper
        JsonRowDeserializationSchema JsonRowSerializationSchema CsvRowDeserializationSchema CsvRowSerializationSchema
        AvroRowDeserializationSchema AvroRowSerializationSchema""",
    "common.completable_future": "CompletableFuture",
    "common.config_options": "ConfigOptions ConfigOption",
    "common.configuration": "Configuration",
    "common.execution_config": "ExecutionConfig",
    "common.input_dependency_constraint": "InputDependencyConstraint",
    "common.io": "InputFormat",
    "common.job_client": "JobClient",
    "common.job_execution_result": "JobExecutionResult",
    "common.job_id": "JobID",
    "common.job_status": "JobStatus",
    "common.restart_strategy": "RestartStrategies RestartStrategyConfiguration",
    "common.serialization": """SerializationSchema DeserializationSchema SimpleStringSchema ByteArraySchema Encoder
        BulkWriterFactory RowDataBulkWriterFactory RowFieldExtractorSchema""",
    "common.serializer": "TypeSerializer VoidNamespaceSerializer",
    "common.time": "Duration Instant Time",
    "common.typeinfo": """TypeInformation BasicType BasicTypeInfo InstantTypeInfo SqlTimeTypeInfo PrimitiveArrayTypeInfo
        BasicArrayTypeInfo ObjectArrayTypeInfo PickledBytesTypeInfo RowTypeInfo TupleTypeInfo DateTypeInfo TimeTypeInfo
        TimestampTypeInfo ListTypeInfo MapTypeInfo LocalTimeTypeInfo ExternalTypeInfo Types""",
    "common.types": "Row RowKind",
    "common.watermark_strategy": "WatermarkStrategy TimestampAssigner AssignerWithPeriodicWatermarksWrapper",
    "datastream": """StreamExecutionEnvironment DataStream KeyedStream WindowedStream ConnectedStreams BroadcastStream
        BroadcastConnectedStream AsyncDataStream DataStreamSink MapFunction CoMapFunction FlatMapFunction CoFlatMapFunction
        ReduceFunction FilterFunction ProcessFunction KeyedProcessFunction CoProcessFunction KeyedCoProcessFunction
        WindowFunction ProcessWindowFunction AggregateFunction BroadcastProcessFunction KeyedBroadcastProcessFunction
        AsyncFunction RuntimeContext TimerService CheckpointingMode CheckpointConfig ExternalizedCheckpointRetention
        StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend CustomStateBackend PredefinedOptions CheckpointStorage
        JobManagerCheckpointStorage FileSystemCheckpointStorage CustomCheckpointStorage RuntimeExecutionMode Window TimeWindow
        CountWindow GlobalWindow WindowAssigner MergingWindowAssigner TriggerResult Trigger TimeDomain KeySelector Partitioner
        SourceFunction SinkFunction SlotSharingGroup MemorySize OutputTag AsyncRetryPredicate AsyncRetryStrategy""",
    "datastream.async_data_stream": "AsyncDataStream",
    "datastream.async_retry_predicates": "empty_result_predicate has_exception_predicate exception_type_predicate",
    "datastream.async_retry_strategies": """RetryPredicate NoRetryStrategy FixedDelayRetryStrategy
        ExponentialBackoffDelayRetryStrategy""",
    "datastream.checkpoint_config": "CheckpointConfig",
    "datastream.checkpoint_storage": """CheckpointStorage JobManagerCheckpointStorage FileSystemCheckpointStorage
        CustomCheckpointStorage""",
    "datastream.checkpointing_mode": "CheckpointingMode",
    "datastream.connectors": "Sink Source DeliveryGuarantee",
    "datastream.connectors.base": "Source Sink DeliveryGuarantee StreamTransformer SupportsPreprocessing",
    "datastream.connectors.file_system": """FileCompactor FileCompactStrategy OutputFileConfig FileSource FileSourceBuilder
        FileSink StreamingFileSink StreamFormat BulkFormat FileEnumeratorProvider FileSplitAssignerProvider RollingPolicy
        DefaultRollingPolicy OnCheckpointRollingPolicy BucketAssigner""",
    "datastream.connectors.kafka": """FlinkKafkaConsumer FlinkKafkaProducer KafkaSource KafkaSourceBuilder KafkaSink
        KafkaSinkBuilder Semantic KafkaTopicPartition KafkaOffsetsInitializer KafkaOffsetResetStrategy
        KafkaRecordSerializationSchema KafkaRecordSerializationSchemaBuilder KafkaTopicSelector DeliveryGuarantee""",
    "datastream.connectors.number_seq": "NumberSequenceSource",
    "datastream.data_stream": """CloseableIterator DataStream KeyedStream CachedDataStream ConnectedStreams WindowedStream
        AllWindowedStream DataStreamSink BroadcastStream BroadcastConnectedStream""",
    "datastream.execution_mode": "RuntimeExecutionMode",
    "datastream.externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "datastream.formats": "",
    "datastream.formats.avro": """AvroSchema GenericRecordAvroTypeInfo AvroInputFormat AvroBulkWriters
        AvroRowDeserializationSchema AvroRowSerializationSchema""",
    "datastream.formats.csv": """CsvSchema CsvSchemaBuilder CsvReaderFormat CsvBulkWriters CsvRowDeserializationSchema
        CsvRowSerializationSchema""",
    "datastream.formats.json": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    "datastream.formats.orc": "OrcBulkWriters",
    "datastream.formats.parquet": """AvroParquetReaders AvroParquetWriters ParquetColumnarRowInputFormat
        ParquetBulkWriters""",
    "datastream.functions": """KeyedStateStore RuntimeContext Function MapFunction CoMapFunction FlatMapFunction
        CoFlatMapFunction ReduceFunction AggregateFunction KeySelector NullByteKeySelector FilterFunction Partitioner
        SourceFunction SinkFunction ProcessFunction CoProcessFunction KeyedProcessFunction KeyedCoProcessFunction TimerService
        WindowFunction AllWindowFunction ProcessWindowFunction ProcessAllWindowFunction PassThroughWindowFunction
        PassThroughAllWindowFunction BaseBroadcastProcessFunction BroadcastProcessFunction KeyedBroadcastProcessFunction
        AsyncFunction AsyncFunctionDescriptor AsyncRetryPredicate AsyncRetryStrategy""",
    "datastream.output_tag": "OutputTag",
    "datastream.slot_sharing_group": "MemorySize SlotSharingGroup",
    "datastream.state": """OperatorStateStore State ValueState AppendingState MergingState ReducingState AggregatingState
        ListState MapState ReadOnlyBroadcastState BroadcastState StateDescriptor ValueStateDescriptor ListStateDescriptor
        MapStateDescriptor ReducingStateDescriptor AggregatingStateDescriptor StateTtlConfig""",
    "datastream.state_backend": """StateBackend HashMapStateBackend EmbeddedRocksDBStateBackend CustomStateBackend
        PredefinedOptions""",
    "datastream.stream_execution_environment": "StreamExecutionEnvironment",
    "datastream.time_domain": "TimeDomain",
    "datastream.timerservice": "TimerService",
    "datastream.utils": "ResultTypeQueryable",
    "datastream.window": """Window TimeWindow CountWindow GlobalWindow WindowAssigner TumblingProcessingTimeWindows
        TumblingEventTimeWindows SlidingProcessingTimeWindows SlidingEventTimeWindows ProcessingTimeSessionWindows
        EventTimeSessionWindows DynamicProcessingTimeSessionWindows DynamicEventTimeSessionWindows GlobalWindows
        MergingWindowAssigner CountTumblingWindowAssigner CountSlidingWindowAssigner TriggerResult Trigger EventTimeTrigger
        ProcessingTimeTrigger ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger NeverTrigger PurgingTrigger
        CountTrigger TimeWindowSerializer CountWindowSerializer GlobalWindowSerializer SessionWindowTimeGapExtractor""",
    "metrics": "MetricGroup Metric Counter Meter Distribution",
    "metrics.metricbase": "MetricGroup Metric Counter Meter Distribution",
    **TABLE_MODULES,
    "util": "",
    "util.exceptions": """JavaException TableException CatalogException DatabaseAlreadyExistException DatabaseNotEmptyException
        DatabaseNotExistException FunctionAlreadyExistException FunctionNotExistException ModelAlreadyExistException
        ModelNotExistException PartitionAlreadyExistsException PartitionNotExistException PartitionSpecInvalidException
        TableAlreadyExistException TableNotExistException TableNotPartitionedException""",
}

_JAVA = "wraps a Java class of Flink, which is not available"
_CONNECTOR = "is a connector that this version of Penstock does not support. Implement a Source or a Sink instead"
_SERIALIZER = "configures the serialization of Flink, which Penstock does not use"

# Modules that are not supported, with the reason.
MISSING_MODULES = {
    "java_gateway": "provides access to Java classes of Flink, which are not available",
    "util.java_utils": "provides access to Java classes of Flink, which are not available",
    "util.api_stability_decorators": "is internal to PyFlink",
    "fn_execution": "runs Python functions inside Flink",
    "testing": "is for tests of PyFlink itself. Use the harness in penstock.testing",
    "shell": "is the interactive shell of PyFlink. Use python or ipython",
    "serializers": _SERIALIZER,
    "common.utils": _JAVA,
    "common.constants": "contains constants of Flink",
    **{
        f"datastream.connectors.{name}": _CONNECTOR
        for name in (
            "cassandra",
            "dynamic_kafka",
            "elasticsearch",
            "hybrid_source",
            "jdbc",
            "kinesis",
            "pulsar",
            "rabbitmq",
        )
    },
}

# Modules that are supported only in part, with the reason for names and submodules that are missing.
PARTIAL_MODULES = {
    "table": "belongs to the part of the Table API that this version of Penstock does not have. Use SQL",
}

# Names that are missing for a specific reason. Other missing names are not implemented yet.
MISSING_NAMES = {
    "AssignerWithPeriodicWatermarksWrapper": _JAVA,
    "AsyncFunctionDescriptor": "is internal to PyFlink",
    "CachedDataStream": "is not supported, because a Spark query does not keep elements after it ends",
    "ExternalTypeInfo": _JAVA,
    "InputDependencyConstraint": "belongs to Flink's scheduler",
    "InputFormat": _JAVA,
    "LocalTimeTypeInfo": "is for types of the Table API",
    "ResultTypeQueryable": "is internal to PyFlink",
    "RowDataBulkWriterFactory": _JAVA,
    "StreamTransformer": "is internal to PyFlink",
    "SupportsPreprocessing": "is internal to PyFlink",
    "VoidNamespaceSerializer": _SERIALIZER,
}


def missing_reason(module: str) -> str | None:
    """Returns why a module of PyFlink, or the rest of one that is supported in part, is missing. None if it is not.

    >>> missing_reason("shell")
    'is the interactive shell of PyFlink. Use python or ipython'
    """
    parts = module.split(".")
    for known in (".".join(parts[:n]) for n in range(1, len(parts) + 1)):
        if known in MISSING_MODULES or known in PARTIAL_MODULES:
            return MISSING_MODULES.get(known) or PARTIAL_MODULES[known]
    return None


def names_of(module: str) -> list[str]:
    """Returns the public names of a module of PyFlink.

    >>> names_of("common.types")
    ['Row', 'RowKind']
    """
    return MODULES[module].split()


def find_name(name: str, module: str = "") -> Any:
    """Returns the object with this name of a module of PyFlink in Penstock. Raises KeyError.

    >>> find_name("Row").__module__
    'penstock.row'
    """
    of_tables = module.partition(".")[0] == "table"
    for path in (*SEARCHED_TABLE_MODULES, *SEARCHED_MODULES) if of_tables else SEARCHED_MODULES:
        searched = importlib.import_module(path)
        if name in getattr(searched, "__all__", ()) or (_is_without_all(path) and hasattr(searched, name)):
            return getattr(searched, name)
    raise KeyError(name)


_WITHOUT_ALL = ("penstock.state", "penstock.time", "penstock.functions.async_retry")


def _is_without_all(path: str) -> bool:
    return path in _WITHOUT_ALL or path.startswith(("penstock.table.expressions.", "penstock.table.user_functions."))
