"""The `WindowedStream`: windows of a keyed stream, to which a function is applied."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, overload

from typing_extensions import TypeVar

from penstock.datastream.streams.argument_checks import check_function, check_setting, warn_late_settings
from penstock.datastream.streams.data_stream import DataStream, R, T
from penstock.datastream.streams.on_error import OnError
from penstock.datastream.streams.window_aggregates import NamedWindowAggregates
from penstock.functions import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from penstock.plan.nodes import OperatorNode, WindowSpec
from penstock.plan.windows import WindowDescription
from penstock.time import Duration, to_millis
from penstock.types import TypeInformation, Types, type_information
from penstock.windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    Evictor,
    Trigger,
    Window,
    WindowAssigner,
)
from penstock.windows.assigner import get_window_type
from penstock.windows.validation import check_lateness, check_trigger

if TYPE_CHECKING:
    from penstock.datastream.environment import StreamExecutionEnvironment

K = TypeVar("K", default=Any)
W = TypeVar("W", bound=Window, default=Any)
R2 = TypeVar("R2")

ReduceCallable: TypeAlias = Callable[[T, T], T] | ReduceFunction[T]
KeyedWindowFunction: TypeAlias = WindowFunction[T, R, K, W] | ProcessWindowFunction[T, R, K, W]


class Windows(Generic[T, W]):
    """Base class of windowed streams. Each setting returns the same object."""

    _kind: ClassVar[str]  # name in descriptions
    _window_function_class: ClassVar[type]  # class of the functions for `apply`
    _process_function_class: ClassVar[type]
    _parallelism: ClassVar[int | None] = None

    def __init__(self, stream: DataStream[T], window_assigner: WindowAssigner[Any, W]) -> None:
        check_setting("window", window_assigner, WindowAssigner, "TumblingEventTimeWindows.of(Duration.of_seconds(10))")
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor | None = None
        self._lateness = 0
        self._late_tag: OutputTag[Any] | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Returns the environment of the stream."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """Returns the type of the elements in the windows."""
        return self._stream.get_type()

    # -- settings

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Sets the trigger, which determines when windows fire. It replaces the default trigger of the assigner."""
        check_setting("trigger", trigger, Trigger, "CountTrigger.of(10)")
        check_trigger(self._assigner, trigger)
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """Sets the evictor, which removes elements from a window when it fires.

        With an evictor, reduce and aggregate also store all elements of a window.
        """
        check_setting("evictor", evictor, Evictor, "CountEvictor.of(10)")
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int | Duration | timedelta) -> Self:
        """Sets how long event-time windows accept late elements after the watermark has passed their end.

        The window fires again for a late element. A number is milliseconds.
        """
        lateness = to_millis(time_ms)
        check_lateness(lateness)
        self._lateness = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag[T]) -> Self:
        """Sends elements that are too late for all their windows to a side output. Without it, they are dropped."""
        check_setting("side_output_late_data", output_tag, OutputTag, 'OutputTag("late")')
        self._late_tag = output_tag
        return self

    # -- the operator

    def _operator(
        self, on_error: OnError, output_type: Any, value_type: Any = None, **functions: Any
    ) -> DataStream[Any]:
        trigger = self._trigger
        if trigger is None:
            trigger = self._assigner.get_default_trigger(self.get_execution_environment())
            check_trigger(self._assigner, trigger)
        if not self._assigner.is_event_time():
            warn_late_settings(type(self._assigner).__name__, self._lateness, self._late_tag)
        description = WindowDescription(
            assigner=self._assigner,
            trigger=trigger,
            evictor=self._evictor,
            allowed_lateness=self._lateness,
            late_tag=self._late_tag,
            value_type=None if value_type is None else type_information(value_type),
            **functions,
        )
        named = [
            f.__name__ if hasattr(f, "__name__") else type(f).__name__ for f in functions.values() if f is not None
        ]
        node = self._stream._add(
            OperatorNode,
            type(self._assigner).__name__,
            spec=WindowSpec(description),
            output_type=output_type,
            on_error=on_error,
            parallelism=self._parallelism,
            description=f"{self._kind}({self._assigner!r}, {type(trigger).__name__}, {', '.join(named)})",
        )
        return DataStream(self._stream._env, node)

    def _reduce_windows(self, reduce: Any, function: Any, output_type: Any, on_error: OnError) -> DataStream[Any]:
        check_function("reduce", reduce, ReduceFunction, or_callable=True)
        self._check_window_function("reduce", function)
        return self._operator(on_error, output_type, reduce=reduce, function=function)

    def _aggregate_windows(
        self, aggregate: Any, function: Any, accumulator_type: Any, output_type: Any, on_error: OnError
    ) -> DataStream[Any]:
        check_function("aggregate", aggregate, AggregateFunction)
        self._check_window_function("aggregate", function)
        if isinstance(accumulator_type, list):
            accumulator_type = Types.ROW(accumulator_type)
        return self._operator(on_error, output_type, accumulator_type, aggregate=aggregate, function=function)

    def _check_window_function(self, method: str, function: Any) -> None:
        if function is not None:
            check_function(method, function, self._window_function_class, self._process_function_class)


class WindowedStream(Windows[T, W], NamedWindowAggregates[T, K], Generic[T, K, W]):
    """A keyed stream whose elements are grouped into windows."""

    _kind = "Window"
    _window_function_class = WindowFunction
    _process_function_class = ProcessWindowFunction

    def _window_type(self) -> type[Window]:
        return get_window_type(self._assigner)

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
        window_function: KeyedWindowFunction[T, R, K, W],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]: ...

    def reduce(
        self,
        reduce_function: ReduceCallable[T],
        window_function: KeyedWindowFunction[T, Any, K, W] | None = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[Any]:
        """Reduces the elements of each window to one element.

        With a window function, emits its results for the reduced element. Only the reduced element is stored, unless there is
        an evictor.
        """
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
        window_function: KeyedWindowFunction[R, R2, K, W],
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R2]: ...

    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, R],
        window_function: KeyedWindowFunction[R, Any, K, W] | None = None,
        accumulator_type: Any = None,
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[Any]:
        """Aggregates the elements of each window.

        With a window function, emits its results for the aggregate. Only the accumulator is stored, unless there is an evictor.
        """
        return self._aggregate_windows(aggregate_function, window_function, accumulator_type, output_type, on_error)

    def apply(
        self, window_function: WindowFunction[T, R, K, W], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a function to all elements of each window."""
        check_function("apply", window_function, WindowFunction)
        return self._operator(on_error, output_type, function=window_function)

    def process(
        self,
        process_window_function: ProcessWindowFunction[T, R, K, W],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function to all elements of each window. Its context has access to time and state."""
        check_function("process", process_window_function, ProcessWindowFunction)
        return self._operator(on_error, output_type, function=process_window_function)


def count_window_assigner(size: int, slide: int) -> WindowAssigner[Any, CountWindow]:
    """Returns the window assigner of `count_window`."""
    return CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)
