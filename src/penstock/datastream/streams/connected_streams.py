"""Two streams for one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.datastream.broadcast_stream import BroadcastStream
from penstock.datastream.checked_function import check_function
from penstock.datastream.data_stream import DataStream, R, T, U
from penstock.datastream.keyed_functions import co_flat_map, co_map
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.on_error import OnError
from penstock.datastream.same_environment import check_same_environment
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
    """Two streams, keyed both or neither. One function sees the elements of both."""

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
        """The same streams by key. Dead letters are side outputs of `stream1` and `stream2` of what this gives back."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type, on_error=on_error),
            self.stream2.key_by(key_selector2, key_type, on_error=on_error),
        )

    def map(
        self, func: CoMapFunction[T, U, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """One element for each element of either stream; none where the function gives None."""
        check_function("map", func, CoMapFunction)
        return self._operator("co_map", co_map(func), output_type, on_error)

    def flat_map(
        self, func: CoFlatMapFunction[T, U, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Any number of elements for each element of either stream."""
        check_function("flat_map", func, CoFlatMapFunction)
        return self._operator("co_flat_map", co_flat_map(func), output_type, on_error)

    def process(
        self,
        func: CoProcessFunction[T, U, R] | KeyedCoProcessFunction[Any, T, U, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """What a two-input process function emits."""
        if self._keyed():
            check_function("process", func, KeyedCoProcessFunction, CoProcessFunction)
        else:
            hint = "key both streams to use a KeyedCoProcessFunction"
            check_function("process", func, CoProcessFunction, hint=hint)
        return self._operator("co_process", func, output_type, on_error)

    def transform(self, name: str, factory: Callable[[], Any]) -> DataStream[Any]:
        """A keyed two-input operator made by a factory."""
        return self._added(name, FactorySpec(factory), None, "fail")

    def _keyed(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _operator(self, name: str, function: Any, output_type: Any, on_error: OnError) -> DataStream[Any]:
        return self._added(name, ProcessSpec(function, self._keyed(), two_inputs=True), output_type, on_error)

    def _added(self, name: str, spec: Any, output_type: Any, on_error: OnError) -> DataStream[Any]:
        """An operator, also without keys: one function object sees both inputs of its subtask."""
        first, second = self.stream1, self.stream2
        fields = {"spec": spec, "output_type": output_type, "on_error": on_error}
        node = first._add(OperatorNode, name, first._spread(), second._spread(), **fields)
        return DataStream(first._env, node)


class BroadcastConnectedStream(Generic[T, U]):
    """A stream beside a broadcast one."""

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
        """What a broadcast process function emits."""
        stream = self.non_broadcast_stream
        keyed = isinstance(stream, KeyedStream)
        if keyed:
            check_function("process", func, KeyedBroadcastProcessFunction, hint="the stream has a key")
        else:
            check_function("process", func, BroadcastProcessFunction, hint="the stream has no key")
        spec = BroadcastSpec(func, keyed, self.broadcast_stream.broadcast_state_descriptors)
        inputs = stream._spread(), self.broadcast_stream._node
        fields = {"spec": spec, "output_type": output_type, "on_error": on_error}
        return DataStream(stream._env, stream._add(OperatorNode, "broadcast_process", *inputs, **fields))
