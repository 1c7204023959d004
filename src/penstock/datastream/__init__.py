"""The DataStream API: it only builds plans."""

from penstock.datastream import async_retry_predicates, async_retry_strategies
from penstock.datastream.all_windowed_stream import AllWindowedStream
from penstock.datastream.async_data_stream import AsyncDataStream
from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.connected_streams import BroadcastConnectedStream, ConnectedStreams
from penstock.datastream.data_stream import DataStream
from penstock.datastream.enrichment import cached_enrichment
from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.datastream.execution_config import ExecutionConfig
from penstock.datastream.future import CompletableFuture
from penstock.datastream.interval_join import IntervalJoin, IntervalJoined
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult, JobID
from penstock.datastream.job_status import JobStatus
from penstock.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.modes import CheckpointingMode, ExternalizedCheckpointRetention, RuntimeExecutionMode
from penstock.datastream.restart_strategies import RestartStrategies, RestartStrategyConfiguration
from penstock.datastream.sink import DataStreamSink
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.datastream.state_backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.datastream.windowed_stream import WindowedStream

__all__ = [
    "AllWindowedStream",
    "AsyncDataStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoGroupedStreams",
    "CompletableFuture",
    "ConnectedStreams",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExecutionConfig",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "HashMapStateBackend",
    "IntervalJoin",
    "IntervalJoined",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobManagerCheckpointStorage",
    "JobStatus",
    "JoinedStreams",
    "KeyedStream",
    "MemorySize",
    "PredefinedOptions",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "RuntimeExecutionMode",
    "SlotSharingGroup",
    "StateBackend",
    "StreamExecutionEnvironment",
    "WindowedStream",
    "async_retry_predicates",
    "async_retry_strategies",
    "cached_enrichment",
]
