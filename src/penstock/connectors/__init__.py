"""Sources and sinks."""

from penstock.connectors.collection import CollectionSource, DataGeneratorSource, NumberSequenceSource
from penstock.connectors.files import FileSource, JsonLines, json_lines
from penstock.connectors.scripted import Abort, At, Mark, ScriptedSource, Step
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.connectors.sinks import CallableSink, CollectSink, DiscardingSink, JsonLinesSink, PrintSink
from penstock.connectors.source import Chunk, Offset, Source

__all__ = [
    "Abort",
    "At",
    "CallableSink",
    "Chunk",
    "CollectSink",
    "CollectionSource",
    "DataGeneratorSource",
    "DiscardingSink",
    "FileSource",
    "JsonLines",
    "JsonLinesSink",
    "Mark",
    "NumberSequenceSource",
    "Offset",
    "PrintSink",
    "ScriptedSource",
    "Sink",
    "SinkWriter",
    "Source",
    "Step",
    "WriteTask",
    "json_lines",
]
