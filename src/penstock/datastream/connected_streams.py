"""Two streams for one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.data_stream import DataStream
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.wrong_function import wrong_function
from penstock.functions import CoMapFunction, CoProcessFunction
from penstock.plan.nodes import (
    BroadcastSpec,
    FactorySpec,
    Node,
    OperatorNode,
    PartitionNode,
    ProcessSpec,
    TransformNode,
)

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment


class ConnectedStreams:
    """Two streams, keyed both or neither."""

    def __init__(self, env: StreamExecutionEnvironment, first: DataStream[Any], second: DataStream[Any]) -> None:
        self._env = env
        self._first = first
        self._second = second

    def key_by(self, key_selector1: Any, key_selector2: Any, key_type: Any = None) -> ConnectedStreams:
        """The same streams by key."""
        return ConnectedStreams(self._env, self._first.key_by(key_selector1), self._second.key_by(key_selector2))

    def _inputs(self) -> tuple[Node, Node]:
        return self._first._node, self._second._node

    def _keyed(self) -> bool:
        return isinstance(self._first, KeyedStream) and isinstance(self._second, KeyedStream)

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """What a two-input process function emits."""
        if self._keyed():
            node = self._first._add(OperatorNode, "co_process", *self._inputs(), spec=ProcessSpec(func, True, True))
        elif isinstance(func, CoProcessFunction):
            node = self._first._add(TransformNode, "co_process", *self._inputs(), kind="process", function=func)
        else:
            raise wrong_function(
                "process", func, "a CoProcessFunction", "key both streams to use a KeyedCoProcessFunction"
            )
        return DataStream(self._env, node)

    def map(self, func: CoMapFunction, output_type: Any = None) -> DataStream[Any]:
        """One element for each element of either stream."""
        return DataStream(
            self._env, self._first._add(TransformNode, "co_map", *self._inputs(), kind="map", function=func)
        )

    def flat_map(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Any number of elements for each element of either stream."""
        return DataStream(
            self._env, self._first._add(TransformNode, "co_flat_map", *self._inputs(), kind="flat_map", function=func)
        )

    def transform(self, name: str, factory: Callable[[], Any]) -> DataStream[Any]:
        """A keyed two-input operator made by a factory."""
        return DataStream(self._env, self._first._add(OperatorNode, name, *self._inputs(), spec=FactorySpec(factory)))


class BroadcastConnectedStream:
    """A stream beside a broadcast one."""

    def __init__(self, env: StreamExecutionEnvironment, stream: DataStream[Any], broadcast: BroadcastStream) -> None:
        self._env = env
        self._stream = stream
        self._broadcast = broadcast

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """What a broadcast process function emits."""
        keyed = isinstance(self._stream, KeyedStream)
        main = self._stream._node if keyed else self._stream._add(PartitionNode, "forward", kind="forward")
        spec = BroadcastSpec(func, keyed, self._broadcast.descriptors)
        node = self._stream._add(OperatorNode, "broadcast_process", main, self._broadcast._node, spec=spec)
        return DataStream(self._env, node)
