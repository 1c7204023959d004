"""The DataStream API: it only builds plans."""

from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.datastream.stream import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    KeyedStream,
)

__all__ = [
    "BroadcastConnectedStream",
    "BroadcastStream",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "StreamExecutionEnvironment",
]
