"""A stream. It only builds nodes; nothing runs before `execute`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.sink import Sink
from penstock.connectors.sinks import CallableSink, CollectSink, PrintSink
from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.sink import DataStreamSink
from penstock.datastream.wrong_function import wrong_function
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
)
from penstock.plan.nodes import (
    MaterializeSpec,
    Node,
    OperatorNode,
    PartitionNode,
    SideOutputNode,
    SinkNode,
    TransformNode,
    UnionNode,
    WatermarkNode,
)
from penstock.state import MapStateDescriptor
from penstock.time import WatermarkStrategy

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment
    from penstock.datastream.keyed_stream import KeyedStream

T = TypeVar("T")
R = TypeVar("R")


class DataStream(Generic[T]):
    """A stream of elements."""

    def __init__(self, env: StreamExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    # -- names and settings

    def get_name(self) -> str:
        return self._node.name

    def name(self, name: str) -> DataStream[T]:
        return self._changed(name=name)

    def uid(self, uid: str) -> DataStream[T]:
        """Names the operator's state in checkpoints."""
        return self._changed(uid=uid)

    def set_parallelism(self, parallelism: int) -> DataStream[T]:
        return self._changed(parallelism=parallelism)

    def _changed(self, **fields: Any) -> DataStream[T]:
        self._node = self._env.replace(replace(self._node, **fields))
        return self

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._env

    def _add(self, node_type: type[Node], name: str, *inputs: Node, **fields: Any) -> Node:
        from penstock.datastream.environment import user_line

        env = self._env
        of = tuple(i.id for i in inputs) or (self._node.id,)
        return env.add(
            node_type(id=env.next_id(), name=name, uid=env.unique(name), inputs=of, line=user_line(), **fields)
        )

    # -- stateless steps

    def map(self, func: Callable[[T], R] | MapFunction, output_type: Any = None) -> DataStream[R]:
        """One element for each element."""
        return DataStream(self._env, self._add(TransformNode, "map", kind="map", function=func))

    def flat_map(self, func: Callable[[T], Any] | FlatMapFunction, output_type: Any = None) -> DataStream[Any]:
        """Any number of elements for each element."""
        return DataStream(self._env, self._add(TransformNode, "flat_map", kind="flat_map", function=func))

    def filter(self, func: Callable[[T], bool] | FilterFunction) -> DataStream[T]:
        """The elements for which the function holds."""
        return DataStream(self._env, self._add(TransformNode, "filter", kind="filter", function=func))

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """What a process function emits."""
        if not isinstance(func, ProcessFunction):
            raise wrong_function(
                "process", func, "a ProcessFunction", "call key_by first to use a KeyedProcessFunction"
            )
        return DataStream(self._env, self._add(TransformNode, "process", kind="process", function=func))

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream[T]:
        """The same elements with timestamps and watermarks."""
        return DataStream(self._env, self._add(WatermarkNode, "watermarks", strategy=watermark_strategy))

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """The elements of all streams."""
        return DataStream(self._env, self._add(UnionNode, "union", self._node, *(s._node for s in streams)))

    def get_side_output(self, output_tag: OutputTag) -> DataStream[Any]:
        """What the function before yielded as `(output_tag, value)`."""
        return DataStream(self._env, self._add(SideOutputNode, f"side:{output_tag.tag_id}", tag=output_tag.tag_id))

    # -- where elements go

    def key_by(self, key_selector: Callable[[T], Any] | KeySelector, key_type: Any = None) -> KeyedStream[T]:
        """The same elements, those of one key in one place."""
        from penstock.datastream.keyed_stream import KeyedStream

        node = self._add(PartitionNode, "key_by", kind="key", selector=key_selector)
        return KeyedStream(self._env, node)

    def _partition(self, kind: str, **fields: Any) -> DataStream[T]:
        return DataStream(self._env, self._add(PartitionNode, kind, kind=kind, **fields))

    def rebalance(self) -> DataStream[T]:
        """Elements dealt out to all subtasks in turn."""
        return self._partition("rebalance")

    def rescale(self) -> DataStream[T]:
        """Elements dealt out to all subtasks in turn."""
        return self._partition("rescale")

    def shuffle(self) -> DataStream[T]:
        """Elements scattered over all subtasks."""
        return self._partition("shuffle")

    def forward(self) -> DataStream[T]:
        """Elements kept in their subtask."""
        return self._partition("forward")

    def global_(self) -> DataStream[T]:
        """All elements in subtask 0."""
        return self._partition("global")

    def partition_custom(
        self, partitioner: Callable[[Any, int], int] | Partitioner, key_selector: Any
    ) -> DataStream[T]:
        """Elements where the partitioner puts their key."""
        return self._partition("custom", selector=key_selector, partitioner=partitioner)

    def broadcast(self, *descriptors: MapStateDescriptor) -> Any:
        """Every element in every subtask; with descriptors: a stream to connect others with."""
        if descriptors:
            return BroadcastStream(self._env, self._add(PartitionNode, "broadcast", kind="broadcast"), descriptors)
        return self._partition("broadcast")

    def connect(self, stream: DataStream[Any] | BroadcastStream) -> Any:
        """Two streams for one function."""
        from penstock.datastream.connected_streams import BroadcastConnectedStream, ConnectedStreams

        if isinstance(stream, BroadcastStream):
            return BroadcastConnectedStream(self._env, self, stream)
        return ConnectedStreams(self._env, self, stream)

    def materialize(self) -> DataStream[T]:
        """Stores the elements with the batch: a stage that Spark runs again reads the same ones (see docs/explanation)."""
        spread = self._add(PartitionNode, "forward", kind="forward")
        return DataStream(self._env, self._add(OperatorNode, "materialize", spread, spec=MaterializeSpec()))

    # -- sinks

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Writes the elements to a sink."""
        return DataStreamSink(self._env, self._add(SinkNode, "sink", sink=sink))

    def add_sink(self, function: Callable[[T], Any]) -> DataStreamSink:
        """Calls a function with each element; at least once."""
        return self.sink_to(CallableSink(function))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints the elements."""
        return self.sink_to(PrintSink(f"{sink_identifier}> " if sink_identifier else "")).name("print")

    def execute_and_collect(self, job_execution_name: str = "job", limit: int | None = None) -> Iterator[T]:
        """Runs the job and gives the elements of this stream as they come."""
        node = self._add(SinkNode, "collect", sink=CollectSink())
        found = self._env.collect(node, job_execution_name)
        return found if limit is None else (e for _, e in zip(range(limit), found, strict=False))
