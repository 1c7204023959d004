"""Sources and sinks of a job."""

from penstock.connectors.basic_sinks import CallableSink, CollectSink, DiscardingSink, JsonLinesSink, PrintSink
from penstock.connectors.collection import CollectionSource, DataGeneratorSource, NumberSequenceSource
from penstock.connectors.dataframe import ForeachBatchSink, SparkSink
from penstock.connectors.datagen import DataGenSource, RandomField, SequenceField
from penstock.connectors.delivery_guarantee import DeliveryGuarantee
from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner, BucketContext
from penstock.connectors.file.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file.sink.output_file_config import OutputFileConfig
from penstock.connectors.file.sink.rolling_policy import DefaultRollingPolicy, OnCheckpointRollingPolicy, RollingPolicy
from penstock.connectors.file.sink.sink import FileSink
from penstock.connectors.file.sink.streaming_file_sink import StreamingFileSink
from penstock.connectors.file.source.enumerator import FileEnumeratorProvider, FileSplitAssignerProvider
from penstock.connectors.file.source.source import FileSource, json_lines
from penstock.connectors.file.source.source_builder import FileSourceBuilder
from penstock.connectors.file.source.stream_format import JsonLines, StreamFormat, WholeFile
from penstock.connectors.scripted import Abort, At, Mark, ScriptedSource, Step
from penstock.connectors.secret import Secret
from penstock.connectors.simple_sink import SimpleSink
from penstock.connectors.simple_source import SimpleSource
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.connectors.source import Chunk, Offset, Source

__all__ = [
    "Abort",
    "At",
    "BucketAssigner",
    "BucketContext",
    "CallableSink",
    "Chunk",
    "CollectSink",
    "CollectionSource",
    "DataGenSource",
    "DataGeneratorSource",
    "DefaultRollingPolicy",
    "DeliveryGuarantee",
    "DiscardingSink",
    "Encoder",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "ForeachBatchSink",
    "JsonLines",
    "JsonLinesSink",
    "Mark",
    "NumberSequenceSource",
    "Offset",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PrintSink",
    "RandomField",
    "RollingPolicy",
    "ScriptedSource",
    "Secret",
    "SequenceField",
    "SimpleSink",
    "SimpleSource",
    "Sink",
    "SinkWriter",
    "Source",
    "SparkSink",
    "Step",
    "StreamFormat",
    "StreamingFileSink",
    "WholeFile",
    "WriteTask",
    "json_lines",
]
