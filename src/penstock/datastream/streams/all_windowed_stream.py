"""The `AllWindowedStream`: windows of a stream without keys, to which a function is applied."""

from __future__ import annotations

from typing import Any, TypeAlias, overload

from penstock.datastream.streams.argument_checks import check_function
from penstock.datastream.streams.data_stream import DataStream, R, T
from penstock.datastream.streams.on_error import OnError
from penstock.datastream.streams.window_aggregates import FieldWindowAggregates
from penstock.datastream.streams.windowed_stream import R2, ReduceCallable, W, Windows
from penstock.functions import AggregateFunction, AllWindowFunction, NullByteKeySelector, ProcessAllWindowFunction
from penstock.windows import WindowAssigner

AnyAllWindowFunction: TypeAlias = AllWindowFunction[T, R, W] | ProcessAllWindowFunction[T, R, W]


class AllWindowedStream(Windows[T, W], FieldWindowAggregates[T]):
    """A stream without keys whose elements are grouped into windows. One subtask processes all of them."""

    _kind = "AllWindow"
    _window_function_class = AllWindowFunction
    _process_function_class = ProcessAllWindowFunction
    _parallelism = 1

    def __init__(self, stream: DataStream[T], window_assigner: WindowAssigner[Any, W]) -> None:
        super().__init__(stream.key_by(NullByteKeySelector()), window_assigner)

    @overload
    def reduce(
        self,
        reduce_function: ReduceCallable[T],
        window_function: None = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self,
        reduce_function: ReduceCallable[T],
        window_function: AnyAllWindowFunction[T, R, W],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: ReduceCallable[T],
        window_function: AnyAllWindowFunction[T, Any, W] | None = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[Any]:
        """Reduces the elements of each window to one. With a window function, emits its results for the reduced element."""
        return self._reduce_windows(reduce_function, window_function, output_type, on_error)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: None = None,
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: AnyAllWindowFunction[R, R2, W],
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R2]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: AnyAllWindowFunction[R, Any, W] | None = None,
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[Any]:
        """Aggregates the elements of each window. With a window function, emits its results for the aggregate."""
        return self._aggregate_windows(aggregate_function, window_function, accumulator_type, output_type, on_error)

    def apply(
        self, window_function: AllWindowFunction[T, R, W], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a function to all elements of each window."""
        check_function("apply", window_function, AllWindowFunction)
        return self._operator(on_error, output_type, function=window_function)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[T, R, W],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function to all elements of each window. Its context has access to time and state."""
        check_function("process", process_window_function, ProcessAllWindowFunction)
        return self._operator(on_error, output_type, function=process_window_function)
