"""A stream. It only builds nodes; nothing runs before `execute`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from penstock.config import PRINT_STYLE
from penstock.connectors.sink import Sink
from penstock.connectors.sinks import CallableSink, CollectSink, PrintSink
from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.checked_function import check_function, check_given
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.dataframes import KeptRows, refuse_endless
from penstock.datastream.fields import Projection
from penstock.datastream.on_error import OnError, check_on_error, check_side_output, sink_with
from penstock.datastream.operator_settings import OperatorSettings
from penstock.datastream.sink import DataStreamSink
from penstock.errors import PlanError, UnsupportedOperation
from penstock.functions import (
    DEAD_LETTERS,
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
)
from penstock.plan.element_types import declared_type
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
from penstock.types import TypeInformation, Types, type_information

if TYPE_CHECKING:
    from penstock.datastream.all_windowed_stream import AllWindowedStream
    from penstock.datastream.connected_streams import BroadcastConnectedStream, ConnectedStreams
    from penstock.datastream.environment import StreamExecutionEnvironment
    from penstock.datastream.execution_config import ExecutionConfig
    from penstock.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.windows import CountWindow, Window, WindowAssigner

    W = TypeVar("W", bound=Window)

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")
K = TypeVar("K")


class DataStream(OperatorSettings, Generic[T]):
    """A stream of elements."""

    # -- settings

    def get_name(self) -> str:
        """The name of the operator that the stream comes from."""
        return self._node.name

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the stream belongs to."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """The settings of the environment that the stream belongs to."""
        return self._env.get_config()

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """The number of key groups. It is one number for the whole job, so it must equal that of the environment."""
        return self._changed("max parallelism", max_parallelism=max_parallelism)

    def force_non_parallel(self) -> Self:
        """The operator has one subtask."""
        return self._changed("non-parallel", parallelism=1)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accepted, and changes nothing: elements travel with their micro-batch, and no buffer waits to be full."""
        return self._changed("buffer timeout")

    def start_new_chain(self) -> Self:
        """Accepted, and changes nothing; see `disable_chaining`."""
        return self._changed("chaining")

    def _add(self, node_type: type[Node], name: str, *inputs: Node, **fields: Any) -> Node:
        from penstock.datastream.environment import user_line

        check_on_error(name, fields.get("on_error", "fail"))
        env = self._env
        of = tuple(i.id for i in inputs) or (self._node.id,)
        return env.add(
            node_type(id=env.next_id(), name=name, uid=env.unique(name), inputs=of, line=user_line(), **fields)
        )

    def get_type(self) -> TypeInformation:
        """The type of the elements: declared, or read from annotations; PICKLED_BYTE_ARRAY when it is not known.

        >>> from penstock import StreamExecutionEnvironment
        >>> StreamExecutionEnvironment().from_sequence(1, 3).map(str).get_type()
        PythonTypeInfo<str>
        """
        return self._node.output_type or Types.PICKLED_BYTE_ARRAY()

    # -- stateless steps

    def _transform(self, kind: str, func: Any, output_type: Any, on_error: OnError) -> Node:
        return self._add(TransformNode, kind, kind=kind, function=func, output_type=output_type, on_error=on_error)

    def map(
        self, func: Callable[[T], R] | MapFunction[T, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """One element for each element."""
        check_function("map", func, MapFunction, or_callable=True)
        return DataStream(self._env, self._transform("map", func, output_type, on_error))

    def flat_map(
        self,
        func: Callable[[T], Iterable[R] | None] | FlatMapFunction[T, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Any number of elements for each element."""
        check_function("flat_map", func, FlatMapFunction, or_callable=True)
        return DataStream(self._env, self._transform("flat_map", func, output_type, on_error))

    def filter(self, func: Callable[[T], bool] | FilterFunction[T], *, on_error: OnError = "fail") -> DataStream[T]:
        """The elements for which the function holds."""
        check_function("filter", func, FilterFunction, or_callable=True)
        return DataStream(
            self._env, self._add(TransformNode, "filter", kind="filter", function=func, on_error=on_error)
        )

    def project(self, *field_indexes: int) -> DataStream[tuple[Any, ...]]:
        """Some fields of tuples, in the order of the indexes."""
        node = self._add(TransformNode, "project", kind="map", function=Projection(*field_indexes))
        return DataStream(self._env, node)

    def process(
        self, func: ProcessFunction[T, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """What a process function emits."""
        check_function("process", func, ProcessFunction, hint="call key_by first to use a KeyedProcessFunction")
        return DataStream(self._env, self._transform("process", func, output_type, on_error))

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy, *, on_error: OnError = "fail"
    ) -> DataStream[T]:
        """The same elements with timestamps and watermarks."""
        example = "WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_timestamp_assigner(...)"
        check_given(
            "assign_timestamps_and_watermarks",
            watermark_strategy,
            WatermarkStrategy,
            f"a WatermarkStrategy, such as {example}",
        )
        return DataStream(
            self._env, self._add(WatermarkNode, "watermarks", strategy=watermark_strategy, on_error=on_error)
        )

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """The elements of all streams."""
        for stream in streams:
            check_given("union", stream, DataStream, "streams, one by one: a.union(b, c)")
        return DataStream(self._env, self._add(UnionNode, "union", self._node, *(s._node for s in streams)))

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """What the function before yielded as `(output_tag, value)`; or its dead letters, by the tag DEAD_LETTERS."""
        check_given(
            "get_side_output", output_tag, OutputTag, 'the OutputTag that the function yields with: OutputTag("late")'
        )
        check_side_output(self._node, output_tag)
        side = DataStream[R](self._env, self._side(self._node, output_tag))
        if output_tag == DEAD_LETTERS and isinstance(self._node, WatermarkNode) and self._node.of_source:
            source = self._env.nodes()[self._node.inputs[0]]
            return DataStream[R](self._env, self._side(source, output_tag)).union(side)
        return side

    def _side(self, of: Node, output_tag: OutputTag[Any]) -> Node:
        declared = output_tag.type_info if output_tag.type_info.declared else None
        return self._add(SideOutputNode, f"side:{output_tag.tag_id}", of, tag=output_tag.tag_id, output_type=declared)

    # -- where elements go

    def key_by(
        self, key_selector: Callable[[T], K] | KeySelector[T, K], key_type: Any = None, *, on_error: OnError = "fail"
    ) -> KeyedStream[T, K]:
        """The same elements, those of one key in one place; with a key type, keys are converted to it and checked."""
        from penstock.datastream.keyed_stream import KeyedStream

        given: Any = key_selector
        hint = f"for a field write key_by(lambda e: e[{given!r}])" if isinstance(given, int | str) else ""
        check_function("key_by", key_selector, KeySelector, or_callable=True, hint=hint)
        declared = None if key_type is None else type_information(key_type)
        fields = {"key_type": declared if declared is not None and declared.declared else None, "on_error": on_error}
        return KeyedStream(self, self._add(PartitionNode, "key_by", kind="key", selector=key_selector, **fields))

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
        """All elements in subtask 0. Flink's `global` is a word of Python's own, hence the underscore."""
        return self._partition("global")

    def partition_custom(
        self,
        partitioner: Callable[[K, int], int] | Partitioner[K],
        key_selector: Callable[[T], K] | KeySelector[T, K],
        *,
        on_error: OnError = "fail",
    ) -> DataStream[T]:
        """Elements where the partitioner puts their key."""
        check_function("partition_custom", partitioner, Partitioner, or_callable=True)
        check_function("partition_custom", key_selector, KeySelector, or_callable=True)
        return self._partition("custom", selector=key_selector, partitioner=partitioner, on_error=on_error)

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any],
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any] | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> DataStream[T] | BroadcastStream[T]:
        """Every element in every subtask; with descriptors: a stream to connect others with."""
        spread = self._partition("broadcast")
        if broadcast_state_descriptor is None:
            return spread
        states = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        for state in states:
            if not isinstance(state, MapStateDescriptor):
                raise PlanError(
                    "BROADCAST_STATE",
                    f"broadcast() got a {type(state).__name__}; broadcast state is described by a MapStateDescriptor.",
                )
        return BroadcastStream(self, spread._node, states)

    @overload
    def connect(self, ds: DataStream[U]) -> ConnectedStreams[T, U]: ...

    @overload
    def connect(self, ds: BroadcastStream[U]) -> BroadcastConnectedStream[T, U]: ...

    def connect(
        self, ds: DataStream[U] | BroadcastStream[U]
    ) -> ConnectedStreams[T, U] | BroadcastConnectedStream[T, U]:
        """Two streams for one function."""
        from penstock.datastream.connected_streams import BroadcastConnectedStream, ConnectedStreams

        check_given("connect", ds, (DataStream, BroadcastStream), "another stream")
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream[U]) -> JoinedStreams[T, U]:
        """Pairs of elements of two streams, by key and window."""
        from penstock.datastream.joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream[U]) -> CoGroupedStreams[T, U]:
        """All elements of two streams, by key and window."""
        from penstock.datastream.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    def materialize(self) -> DataStream[T]:
        """Stores the elements with the batch: a stage that Spark runs again reads the same ones (see docs/explanation)."""
        return DataStream(self._env, self._add(OperatorNode, "materialize", self._spread(), spec=MaterializeSpec()))

    def _spread(self) -> Node:
        """The way to an operator that has no key: as the stream is partitioned, else by staying where elements are."""
        if isinstance(self._node, PartitionNode):
            return self._node
        return self._add(PartitionNode, "forward", kind="forward")

    # -- windows

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """The elements of the whole stream in windows; all of them go to one subtask."""
        from penstock.datastream.all_windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T, CountWindow]:
        """Windows of so many elements of the whole stream (Flink's `countWindowAll`); as `KeyedStream.count_window`."""
        from penstock.datastream.all_windowed_stream import AllWindowedStream
        from penstock.datastream.windowed_stream import counting_windows

        return AllWindowedStream(self, counting_windows(size, slide))

    # -- never

    def cache(self) -> Any:
        """Not supported: a stream's elements are not kept for another job."""
        raise UnsupportedOperation(
            "CACHE",
            "cache() keeps a stream's elements in a Flink cluster for the next job. A Spark query keeps nothing when it "
            "ends: write the elements to files with sink_to(), and read them in the next job.",
        )

    # -- sinks

    def sink_to(self, sink: Sink, *, on_error: OnError = "fail") -> DataStreamSink:
        """Writes the elements to a sink."""
        check_given(
            "sink_to",
            sink,
            Sink,
            "a Sink, such as JsonLinesSink(folder); add_sink takes a function, print shows elements",
        )
        kind = self._declared_type()
        if kind is None and sink.takes_inferred_type:
            kind = self._node.output_type
        fields = {"sink": sink_with(sink.of_type(kind), on_error), "on_error": on_error}
        return DataStreamSink(self._env, self._add(SinkNode, "sink", **fields))

    def _declared_type(self) -> TypeInformation | None:
        return declared_type(self._node, self._env.nodes())

    def add_sink(self, sink_func: Callable[[T], Any] | Sink, *, on_error: OnError = "fail") -> DataStreamSink:
        """Calls a function with each element, at least once; or writes the elements to a sink, as sink_to does."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func, on_error=on_error)
        check_function("add_sink", sink_func, or_callable=True)
        return self.sink_to(CallableSink(sink_func), on_error=on_error)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints the elements; print.style says in which form."""
        kind = self._declared_type() if self._env.configuration.get(PRINT_STYLE) == "flink" else None
        return self.sink_to(PrintSink(f"{sink_identifier}> " if sink_identifier else "", kind)).name("print")

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Runs the job and gives the elements of this stream as they come; with a limit, a list of the first ones."""
        node = self._add(SinkNode, "collect", sink=CollectSink())
        found = CloseableIterator(self._env.collect(node, job_execution_name or "job"))
        if limit is None:
            return found
        with found:
            return list(islice(found, limit))

    def to_dataframe(self, job_execution_name: str | None = None) -> Any:
        """Runs the job to its end and gives the elements of this stream as a batch DataFrame of Spark's.

        All sources must be bounded. For streams without an end sink_to(ForeachBatchSink(f)) gives each batch as a DataFrame.
        """
        refuse_endless(self._node, self._env.nodes())
        kept = KeptRows()
        sink: Any = self.sink_to(kept.sink()).name("to_dataframe")._node
        self._env.execute(job_execution_name)
        return kept.frame(self._env.spark_session(), sink.sink.schema)
