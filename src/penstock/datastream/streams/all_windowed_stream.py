"""Windows over a whole stream, before it is said what to make of them."""

from __future__ import annotations

from typing import Any, TypeAlias, overload

from penstock.datastream.checked_function import check_function
from penstock.datastream.data_stream import DataStream, R, T
from penstock.datastream.on_error import OnError
from penstock.datastream.window_aggregates import FieldsOfWindows
from penstock.datastream.windowed_stream import R2, Reduce, W, Windows
from penstock.functions import AggregateFunction, AllWindowFunction, NullByteKeySelector, ProcessAllWindowFunction
from penstock.windows import WindowAssigner

OfAll: TypeAlias = AllWindowFunction[T, R, W] | ProcessAllWindowFunction[T, R, W]


class AllWindowedStream(Windows[T, W], FieldsOfWindows[T]):
    """Windows over the whole stream: its elements meet in one subtask."""

    _kind = "AllWindow"
    _applied = AllWindowFunction
    _processed = ProcessAllWindowFunction
    _parallelism = 1

    def __init__(self, stream: DataStream[T], window_assigner: WindowAssigner[Any, W]) -> None:
        super().__init__(stream.key_by(NullByteKeySelector()), window_assigner)

    @overload
    def reduce(
        self,
        reduce_function: Reduce[T],
        window_function: None = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self,
        reduce_function: Reduce[T],
        window_function: OfAll[T, R, W],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: Reduce[T],
        window_function: OfAll[T, Any, W] | None = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[Any]:
        """The elements of each window reduced to one; with a window function, what that makes of the one."""
        return self._reduced(reduce_function, window_function, output_type, on_error)

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
        window_function: OfAll[R, R2, W],
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R2]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: OfAll[R, Any, W] | None = None,
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[Any]:
        """The aggregate of each window's elements; with a window function, what that makes of it."""
        return self._aggregated(aggregate_function, window_function, accumulator_type, output_type, on_error)

    def apply(
        self, window_function: AllWindowFunction[T, R, W], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """What a function makes of all elements of each window."""
        check_function("apply", window_function, AllWindowFunction)
        return self._operator(on_error, output_type, function=window_function)

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[T, R, W],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """What a function makes of all elements of each window; its context has clocks and state."""
        check_function("process", process_window_function, ProcessAllWindowFunction)
        return self._operator(on_error, output_type, function=process_window_function)
