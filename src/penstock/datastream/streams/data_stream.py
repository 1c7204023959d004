"""The `DataStream`. Its methods add nodes to the plan; nothing runs before `execute`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from penstock.config.execution_options import PRINT_STYLE
from penstock.connectors.basic_sinks import CallableSink, CollectSink, PrintSink
from penstock.connectors.sink import Sink
from penstock.datastream.dataframes import CollectedRows, check_bounded_sources
from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.datastream.streams.argument_checks import check_argument, check_function
from penstock.datastream.streams.broadcast_stream import BroadcastStream
from penstock.datastream.streams.fields import Projection
from penstock.datastream.streams.on_error import OnError, check_on_error, check_side_output, with_error_handling
from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.datastream.streams.sink import DataStreamSink
from penstock.errors import PlanError, UnsupportedOperation, warn_ignored
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
    from penstock.datastream.environment import StreamExecutionEnvironment
    from penstock.datastream.settings.execution_config import ExecutionConfig
    from penstock.datastream.streams.all_windowed_stream import AllWindowedStream
    from penstock.datastream.streams.connected_streams import BroadcastConnectedStream, ConnectedStreams
    from penstock.datastream.streams.joined_streams import CoGroupedStreams, JoinedStreams
    from penstock.datastream.streams.keyed_stream import KeyedStream
    from penstock.windows import CountWindow, Window, WindowAssigner

    W = TypeVar("W", bound=Window)

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")
K = TypeVar("K")


class DataStream(OperatorSettings, Generic[T]):
    """A stream of elements.

    Every method adds a step to the job and returns the resulting stream. Nothing runs before `execute` is called. With
    `on_error="dead_letter"`, an element for which the function raises an error goes to the side output DEAD_LETTERS instead of
    failing the job.
    """

    # -- settings

    def get_name(self) -> str:
        """Returns the name of the operator that produces the stream."""
        return self._node.name

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Returns the environment of the stream."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """Returns the execution settings of the environment."""
        return self._env.get_config()

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Sets the number of key groups. A job has only one, so it must equal the value of the environment."""
        return self._apply_setting("max parallelism", max_parallelism=max_parallelism)

    def force_non_parallel(self) -> Self:
        """Sets the parallelism of the operator to 1."""
        return self._apply_setting("non-parallel", parallelism=1)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accepted for compatibility, has no effect. Set the timeout of the job by `env.set_buffer_timeout()`."""
        stream = self._apply_setting("buffer timeout")
        warn_ignored(
            "set_buffer_timeout() of a stream has no effect. All operators of a job have the same batches. Use "
            "env.set_buffer_timeout()."
        )
        return stream

    def start_new_chain(self) -> Self:
        """Accepted for compatibility, has no effect. See `disable_chaining`."""
        stream = self._apply_setting("chaining")
        warn_ignored(
            "start_new_chain() has no effect. Operators without an exchange between them always run in one process."
        )
        return stream

    def _add(self, node_type: type[Node], name: str, *inputs: Node, **fields: Any) -> Node:
        from penstock.datastream.environment import user_line

        check_on_error(name, fields.get("on_error", "fail"))
        env = self._env
        ids = tuple(i.id for i in inputs) or (self._node.id,)
        return env.add(
            node_type(id=env.next_id(), name=name, uid=env.generate_uid(name), inputs=ids, line=user_line(), **fields)
        )

    def get_type(self) -> TypeInformation:
        """Returns the type of the elements, from a declaration or from annotations. PICKLED_BYTE_ARRAY if it is unknown.

        >>> from penstock import StreamExecutionEnvironment
        >>> StreamExecutionEnvironment().from_sequence(1, 3).map(str).get_type()
        PythonTypeInfo<str>
        """
        return self._node.output_type or Types.PICKLED_BYTE_ARRAY()

    # -- stateless operators

    def _transform(self, kind: str, func: Any, output_type: Any, on_error: OnError) -> Node:
        return self._add(TransformNode, kind, kind=kind, function=func, output_type=output_type, on_error=on_error)

    def map(
        self, func: Callable[[T], R] | MapFunction[T, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a function that returns one element for each element."""
        check_function("map", func, MapFunction, or_callable=True)
        return DataStream(self._env, self._transform("map", func, output_type, on_error))

    def flat_map(
        self,
        func: Callable[[T], Iterable[R] | None] | FlatMapFunction[T, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function that returns any number of elements for each element."""
        check_function("flat_map", func, FlatMapFunction, or_callable=True)
        return DataStream(self._env, self._transform("flat_map", func, output_type, on_error))

    def filter(self, func: Callable[[T], bool] | FilterFunction[T], *, on_error: OnError = "fail") -> DataStream[T]:
        """Returns the elements for which the function is true."""
        check_function("filter", func, FilterFunction, or_callable=True)
        return DataStream(
            self._env, self._add(TransformNode, "filter", kind="filter", function=func, on_error=on_error)
        )

    def project(self, *field_indexes: int) -> DataStream[tuple[Any, ...]]:
        """Returns tuples with some fields of the elements, in the order of the indexes."""
        node = self._add(TransformNode, "project", kind="map", function=Projection(*field_indexes))
        return DataStream(self._env, node)

    def process(
        self, func: ProcessFunction[T, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a `ProcessFunction`, which has access to timestamps and side outputs."""
        check_function("process", func, ProcessFunction, hint="call key_by first to use a KeyedProcessFunction")
        return DataStream(self._env, self._transform("process", func, output_type, on_error))

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy, *, on_error: OnError = "fail"
    ) -> DataStream[T]:
        """Assigns timestamps and generates watermarks."""
        example = "WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_timestamp_assigner(...)"
        check_argument(
            "assign_timestamps_and_watermarks",
            watermark_strategy,
            WatermarkStrategy,
            f"a WatermarkStrategy, such as {example}",
        )
        return DataStream(
            self._env, self._add(WatermarkNode, "watermarks", strategy=watermark_strategy, on_error=on_error)
        )

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Returns a stream of the elements of all these streams."""
        for stream in streams:
            check_argument("union", stream, DataStream, "streams as separate arguments: a.union(b, c)")
        return DataStream(self._env, self._add(UnionNode, "union", self._node, *(s._node for s in streams)))

    def get_side_output(self, output_tag: OutputTag[R]) -> DataStream[R]:
        """Returns a side output: the values that the function yielded as `(output_tag, value)`.

        The tag DEAD_LETTERS returns the elements for which the function raised an error.
        """
        check_argument(
            "get_side_output",
            output_tag,
            OutputTag,
            'the OutputTag that the function yields, such as OutputTag("late")',
        )
        check_side_output(self._node, output_tag)
        side = DataStream[R](self._env, self._side(self._node, output_tag))
        if output_tag == DEAD_LETTERS and isinstance(self._node, WatermarkNode) and self._node.of_source:
            source = self._env.nodes()[self._node.inputs[0]]
            return DataStream[R](self._env, self._side(source, output_tag)).union(side)
        return side

    def _side(self, node: Node, output_tag: OutputTag[Any]) -> Node:
        declared = output_tag.type_info if output_tag.type_info.converts else None
        return self._add(SideOutputNode, f"side:{output_tag.tag_id}", node, tag=output_tag.tag_id, output_type=declared)

    # -- partitioning

    def key_by(
        self, key_selector: Callable[[T], K] | KeySelector[T, K], key_type: Any = None, *, on_error: OnError = "fail"
    ) -> KeyedStream[T, K]:
        """Partitions the stream by key. Elements with the same key are processed by the same subtask.

        With `key_type`, keys are converted to that type and checked.
        """
        from penstock.datastream.streams.keyed_stream import KeyedStream

        selector: Any = key_selector
        hint = f"for a field, use key_by(lambda e: e[{selector!r}])" if isinstance(selector, int | str) else ""
        check_function("key_by", key_selector, KeySelector, or_callable=True, hint=hint)
        declared = None if key_type is None else type_information(key_type)
        fields = {"key_type": declared if declared is not None and declared.declared else None, "on_error": on_error}
        return KeyedStream(self, self._add(PartitionNode, "key_by", kind="key", selector=key_selector, **fields))

    def _partition(self, kind: str, **fields: Any) -> DataStream[T]:
        return DataStream(self._env, self._add(PartitionNode, kind, kind=kind, **fields))

    def rebalance(self) -> DataStream[T]:
        """Distributes elements to all subtasks in a round-robin fashion."""
        return self._partition("rebalance")

    def rescale(self) -> DataStream[T]:
        """Distributes elements to all subtasks in a round-robin fashion. The same as `rebalance`."""
        return self._partition("rescale")

    def shuffle(self) -> DataStream[T]:
        """Distributes elements randomly to all subtasks. The distribution is the same when a batch is retried."""
        return self._partition("shuffle")

    def forward(self) -> DataStream[T]:
        """Forwards elements within their subtask, without an exchange."""
        return self._partition("forward")

    def global_(self) -> DataStream[T]:
        """Sends all elements to subtask 0. `global` is a keyword in Python, hence the underscore."""
        return self._partition("global")

    def partition_custom(
        self,
        partitioner: Callable[[K, int], int] | Partitioner[K],
        key_selector: Callable[[T], K] | KeySelector[T, K],
        *,
        on_error: OnError = "fail",
    ) -> DataStream[T]:
        """Partitions elements with a custom partitioner, which maps a key to the number of a subtask."""
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
        """Sends every element to every subtask. With state descriptors, returns a `BroadcastStream` to connect with."""
        partitioned = self._partition("broadcast")
        if broadcast_state_descriptor is None:
            return partitioned
        states = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        for state in states:
            if not isinstance(state, MapStateDescriptor):
                raise PlanError(
                    "BROADCAST_STATE",
                    f"broadcast() got a {type(state).__name__}. Describe broadcast state with a MapStateDescriptor.",
                )
        return BroadcastStream(self, partitioned._node, states)

    @overload
    def connect(self, ds: DataStream[U]) -> ConnectedStreams[T, U]: ...

    @overload
    def connect(self, ds: BroadcastStream[U]) -> BroadcastConnectedStream[T, U]: ...

    def connect(
        self, ds: DataStream[U] | BroadcastStream[U]
    ) -> ConnectedStreams[T, U] | BroadcastConnectedStream[T, U]:
        """Connects two streams, whose elements are processed by one function."""
        from penstock.datastream.streams.connected_streams import BroadcastConnectedStream, ConnectedStreams

        check_argument("connect", ds, (DataStream, BroadcastStream), "another stream")
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream[U]) -> JoinedStreams[T, U]:
        """Joins two streams by key and window."""
        from penstock.datastream.streams.joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream[U]) -> CoGroupedStreams[T, U]:
        """Groups the elements of two streams by key and window."""
        from penstock.datastream.streams.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    def materialize(self) -> DataStream[T]:
        """Stores the elements with the batch, so that a Spark stage that is retried reads the same elements.

        See docs/explanation/exactly-once.md.
        """
        return DataStream(
            self._env, self._add(OperatorNode, "materialize", self._partitioned_node(), spec=MaterializeSpec())
        )

    def _partitioned_node(self) -> Node:
        """Returns the partitioning of the stream, or a new forward partitioning if there is none."""
        if isinstance(self._node, PartitionNode):
            return self._node
        return self._add(PartitionNode, "forward", kind="forward")

    # -- windows

    def window_all(self, window_assigner: WindowAssigner[Any, W]) -> AllWindowedStream[T, W]:
        """Groups all elements of the stream into windows. One subtask processes all of them."""
        from penstock.datastream.streams.all_windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T, CountWindow]:
        """Groups all elements of the stream into windows of `size` elements. See `KeyedStream.count_window`."""
        from penstock.datastream.streams.all_windowed_stream import AllWindowedStream
        from penstock.datastream.streams.windowed_stream import count_window_assigner

        return AllWindowedStream(self, count_window_assigner(size, slide))

    # -- not supported

    def cache(self) -> Any:
        """Not supported. Elements are not stored for other jobs."""
        raise UnsupportedOperation(
            "CACHE",
            "cache() is not supported because a Spark query does not keep elements after it ends. Write the elements to files "
            "with sink_to(), and read them in the next job.",
        )

    # -- sinks

    def sink_to(self, sink: Sink, *, on_error: OnError = "fail") -> DataStreamSink:
        """Writes the elements to a sink."""
        check_argument(
            "sink_to",
            sink,
            Sink,
            "a Sink, such as JsonLinesSink(folder). For a function, use add_sink",
        )
        type_info = self._declared_type()
        if type_info is None and sink.takes_inferred_type:
            type_info = self._node.output_type
        fields = {"sink": with_error_handling(sink.of_type(type_info), on_error), "on_error": on_error}
        return DataStreamSink(self._env, self._add(SinkNode, "sink", **fields))

    def _declared_type(self) -> TypeInformation | None:
        return declared_type(self._node, self._env.nodes())

    def add_sink(self, sink_func: Callable[[T], Any] | Sink, *, on_error: OnError = "fail") -> DataStreamSink:
        """Calls a function with each element, with at-least-once semantics. A `Sink` is treated as in `sink_to`."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func, on_error=on_error)
        check_function("add_sink", sink_func, or_callable=True)
        return self.sink_to(CallableSink(sink_func), on_error=on_error)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints the elements. The option `print.style` determines the format."""
        type_info = self._declared_type() if self._env.configuration.get(PRINT_STYLE) == "flink" else None
        return self.sink_to(PrintSink(f"{sink_identifier}> " if sink_identifier else "", type_info)).name("print")

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
        """Runs the job and returns an iterator over the elements of this stream. Those of a keyed stream are rows `(key, element)`.

        With a limit, returns a list of the first elements and ends the job.
        """
        node = self._collected()._add(SinkNode, "collect", sink=CollectSink())
        elements = CloseableIterator(self._env.collect(node, job_execution_name))
        if limit is None:
            return elements
        with elements:
            return list(islice(elements, limit))

    def _collected(self) -> DataStream[Any]:
        """Returns the stream that `execute_and_collect` collects."""
        return self

    def to_dataframe(self, job_execution_name: str | None = None) -> Any:
        """Runs the job until its sources end, and returns the elements of this stream as a batch Spark DataFrame.

        All sources must be bounded. For unbounded streams, use `sink_to(ForeachBatchSink(f))`, which calls `f` with each batch
        as a DataFrame.
        """
        check_bounded_sources(self._node, self._env.nodes())
        rows = CollectedRows()
        sink: Any = self.sink_to(rows.sink()).name("to_dataframe")._node
        self._env.execute(job_execution_name)
        return rows.frame(self._env.spark_session(), sink.sink.schema)
