"""The DataStream API. It builds plans, which an engine runs."""

from penstock.datastream import async_retry_predicates, async_retry_strategies
from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.datastream.jobs.future import CompletableFuture
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult, JobID
from penstock.datastream.jobs.job_status import JobStatus
from penstock.datastream.settings.checkpoint_config import CheckpointConfig
from penstock.datastream.settings.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.settings.execution_config import ExecutionConfig
from penstock.datastream.settings.modes import CheckpointingMode, ExternalizedCheckpointRetention, RuntimeExecutionMode
from penstock.datastream.settings.restart_strategies import RestartStrategies, RestartStrategyConfiguration
from penstock.datastream.settings.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.datastream.settings.state_backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.datastream.streams.all_windowed_stream import AllWindowedStream
from penstock.datastream.streams.async_data_stream import AsyncDataStream
from penstock.datastream.streams.broadcast_stream import BroadcastStream
from penstock.datastream.streams.connected_streams import BroadcastConnectedStream, ConnectedStreams
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.enrichment import cached_enrichment
from penstock.datastream.streams.interval_join import IntervalJoin, IntervalJoined
from penstock.datastream.streams.joined_streams import CoGroupedStreams, JoinedStreams
from penstock.datastream.streams.keyed_stream import KeyedStream
from penstock.datastream.streams.sink import DataStreamSink
from penstock.datastream.streams.windowed_stream import WindowedStream

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
