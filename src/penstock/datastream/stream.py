"""Streams. They only build nodes; nothing runs before `execute`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.sink import Sink
from penstock.connectors.sinks import CallableSink, CollectSink, PrintSink
from penstock.datastream.keyed_functions import keyed_filter, keyed_flat_map, keyed_map, keyed_reduce
from penstock.errors import PlanError
from penstock.functions import (
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
)
from penstock.plan.nodes import (
    BroadcastSpec,
    FactorySpec,
    MaterializeSpec,
    Node,
    OperatorNode,
    PartitionNode,
    ProcessSpec,
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
            raise _wrong("process", func, "a ProcessFunction", "call key_by first to use a KeyedProcessFunction")
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


class KeyedStream(DataStream[T]):
    """A stream by key: functions on it have state and timers."""

    def _operator(self, name: str, function: Any, two_inputs: bool = False) -> DataStream[Any]:
        return DataStream(self._env, self._add(OperatorNode, name, spec=ProcessSpec(function, True, two_inputs)))

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """What a keyed process function emits."""
        if not isinstance(func, (KeyedProcessFunction, ProcessFunction)):
            raise _wrong("process", func, "a KeyedProcessFunction", "")
        return self._operator("process", func)

    def map(self, func: Callable[[T], R] | MapFunction, output_type: Any = None) -> DataStream[R]:
        """One element for each element; the function may use keyed state."""
        return self._operator("map", keyed_map(func))

    def flat_map(self, func: Callable[[T], Any] | FlatMapFunction, output_type: Any = None) -> DataStream[Any]:
        """Any number of elements for each element; the function may use keyed state."""
        return self._operator("flat_map", keyed_flat_map(func))

    def filter(self, func: Callable[[T], bool] | FilterFunction) -> DataStream[T]:
        """The elements for which the function holds; it may use keyed state."""
        return self._operator("filter", keyed_filter(func))

    def reduce(self, func: Callable[[T, T], T] | ReduceFunction) -> DataStream[T]:
        """For each element, all elements of its key so far reduced to one."""
        return self._operator("reduce", keyed_reduce(func))

    def transform(self, name: str, factory: Callable[[], Any]) -> DataStream[Any]:
        """An operator made by a factory: the seam for operators that this class has no method for."""
        return DataStream(self._env, self._add(OperatorNode, name, spec=FactorySpec(factory)))


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
            raise _wrong("process", func, "a CoProcessFunction", "key both streams to use a KeyedCoProcessFunction")
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


class BroadcastStream:
    """A stream whose every element reaches every subtask, and the states that it feeds."""

    def __init__(
        self, env: StreamExecutionEnvironment, node: Node, descriptors: tuple[MapStateDescriptor, ...]
    ) -> None:
        self._env = env
        self._node = node
        self.descriptors = descriptors


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


class DataStreamSink:
    """The end of a stream."""

    def __init__(self, env: StreamExecutionEnvironment, node: Node) -> None:
        self._env = env
        self._node = node

    def name(self, name: str) -> DataStreamSink:
        self._node = self._env.replace(replace(self._node, name=name))
        return self

    def uid(self, uid: str) -> DataStreamSink:
        self._node = self._env.replace(replace(self._node, uid=uid))
        return self

    def set_parallelism(self, parallelism: int) -> DataStreamSink:
        self._node = self._env.replace(replace(self._node, parallelism=parallelism))
        return self


def _wrong(method: str, found: Any, expected: str, hint: str) -> PlanError:
    tail = f"; {hint}" if hint else ""
    return PlanError("FUNCTION_TYPE", f"{method}() got a {type(found).__name__}; it takes {expected}{tail}.")
