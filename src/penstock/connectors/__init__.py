"""Sources and sinks."""

from penstock.connectors.collection import CollectionSource, DataGeneratorSource, NumberSequenceSource
from penstock.connectors.datagen import DataGenSource, RandomField, SequenceField
from penstock.connectors.encoder import Encoder
from penstock.connectors.file.bucket_assigner import BucketAssigner, BucketContext
from penstock.connectors.file.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.file.output_file_config import OutputFileConfig
from penstock.connectors.file.rolling_policy import DefaultRollingPolicy, OnCheckpointRollingPolicy, RollingPolicy
from penstock.connectors.file.sink import FileSink
from penstock.connectors.files import FileSource, JsonLines, json_lines
from penstock.connectors.scripted import Abort, At, Mark, ScriptedSource, Step
from penstock.connectors.secret import Secret
from penstock.connectors.simple_sink import SimpleSink
from penstock.connectors.simple_source import SimpleSource
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.connectors.sinks import CallableSink, CollectSink, DiscardingSink, JsonLinesSink, PrintSink
from penstock.connectors.source import Chunk, Offset, Source
from penstock.connectors.stream_format import FileSourceBuilder, StreamFormat

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
    "DiscardingSink",
    "Encoder",
    "FileCompactStrategy",
    "FileCompactor",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
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
    "Step",
    "StreamFormat",
    "WriteTask",
    "json_lines",
]
