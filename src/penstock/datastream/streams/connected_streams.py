"""Connected streams, whose elements are processed by one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.datastream.streams.argument_checks import check_function, check_same_environment
from penstock.datastream.streams.broadcast_stream import BroadcastStream
from penstock.datastream.streams.data_stream import DataStream, R, T, U
from penstock.datastream.streams.keyed_functions import co_flat_map, co_map
from penstock.datastream.streams.keyed_stream import KeyedStream
from penstock.datastream.streams.on_error import OnError
from penstock.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeySelector,
)
from penstock.plan.nodes import BroadcastSpec, FactorySpec, OperatorNode, ProcessSpec

K = TypeVar("K")


class ConnectedStreams(Generic[T, U]):
    """Two connected streams, whose elements are processed by one function. Either both or none of them is keyed."""

    def __init__(self, stream1: DataStream[T], stream2: DataStream[U]) -> None:
        self.stream1 = stream1
        self.stream2 = stream2
        check_same_environment("connect", stream1, stream2)

    def key_by(
        self,
        key_selector1: Callable[[T], K] | KeySelector[T, K],
        key_selector2: Callable[[U], K] | KeySelector[U, K],
        key_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> ConnectedStreams[T, U]:
        """Partitions both streams by key.

        Dead letters are side outputs of `stream1` and `stream2` of the result.
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type, on_error=on_error),
            self.stream2.key_by(key_selector2, key_type, on_error=on_error),
        )

    def map(
        self, func: CoMapFunction[T, U, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a function that returns one element, or None, for each element of either stream."""
        check_function("map", func, CoMapFunction)
        return self._operator("co_map", co_map(func), output_type, on_error)

    def flat_map(
        self, func: CoFlatMapFunction[T, U, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a function that returns any number of elements for each element of either stream."""
        check_function("flat_map", func, CoFlatMapFunction)
        return self._operator("co_flat_map", co_flat_map(func), output_type, on_error)

    def process(
        self,
        func: CoProcessFunction[T, U, R] | KeyedCoProcessFunction[Any, T, U, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a two-input process function."""
        if self._keyed():
            check_function("process", func, KeyedCoProcessFunction, CoProcessFunction)
        else:
            hint = "key both streams to use a KeyedCoProcessFunction"
            check_function("process", func, CoProcessFunction, hint=hint)
        return self._operator("co_process", func, output_type, on_error)

    def transform(self, name: str, factory: Callable[[], Any]) -> DataStream[Any]:
        """Adds a custom two-input operator, which the factory creates."""
        return self._add_operator(name, FactorySpec(factory), None, "fail")

    def _keyed(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _operator(self, name: str, function: Any, output_type: Any, on_error: OnError) -> DataStream[Any]:
        return self._add_operator(name, ProcessSpec(function, self._keyed(), two_inputs=True), output_type, on_error)

    def _add_operator(self, name: str, spec: Any, output_type: Any, on_error: OnError) -> DataStream[Any]:
        """Adds an operator. One function object processes both inputs of a subtask, also without keys."""
        first, second = self.stream1, self.stream2
        fields = {"spec": spec, "output_type": output_type, "on_error": on_error}
        node = first._add(OperatorNode, name, first._partitioned_node(), second._partitioned_node(), **fields)
        return DataStream(first._env, node)


class BroadcastConnectedStream(Generic[T, U]):
    """A stream that is connected with a broadcast stream."""

    def __init__(self, non_broadcast_stream: DataStream[T], broadcast_stream: BroadcastStream[U]) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream

    def process(
        self,
        func: BroadcastProcessFunction[T, U, R] | KeyedBroadcastProcessFunction[Any, T, U, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a broadcast process function."""
        stream = self.non_broadcast_stream
        keyed = isinstance(stream, KeyedStream)
        if keyed:
            check_function("process", func, KeyedBroadcastProcessFunction, hint="the stream has a key")
        else:
            check_function("process", func, BroadcastProcessFunction, hint="the stream has no key")
        spec = BroadcastSpec(func, keyed, self.broadcast_stream.broadcast_state_descriptors)
        inputs = stream._partitioned_node(), self.broadcast_stream._node
        fields = {"spec": spec, "output_type": output_type, "on_error": on_error}
        return DataStream(stream._env, stream._add(OperatorNode, "broadcast_process", *inputs, **fields))
