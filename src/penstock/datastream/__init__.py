"""The DataStream API: it only builds plans."""

from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.connected_streams import BroadcastConnectedStream, ConnectedStreams
from penstock.datastream.data_stream import DataStream
from penstock.datastream.environment import StreamExecutionEnvironment
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.sink import DataStreamSink

__all__ = [
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "StreamExecutionEnvironment",
]
