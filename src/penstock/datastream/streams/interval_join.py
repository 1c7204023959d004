"""Interval joins of two keyed streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar

from penstock.datastream.streams.argument_checks import check_arguments, check_function
from penstock.datastream.streams.data_stream import DataStream, R, T, U
from penstock.datastream.streams.on_error import OnError
from penstock.errors import PlanError, UnsupportedOperation
from penstock.functions import JoinContext, OutputTag, ProcessJoinFunction
from penstock.functions.function import Yields
from penstock.plan.nodes import IntervalJoinSpec, OperatorNode
from penstock.runtime.operators.interval_join import check_bounds
from penstock.time import Duration, to_millis

if TYPE_CHECKING:
    from penstock.datastream.streams.keyed_stream import KeyedStream

K = TypeVar("K", default=Any)


class IntervalJoin(Generic[T, U, K]):
    """An interval join of two keyed streams. Call `between` to set the interval."""

    def __init__(self, left: KeyedStream[T, K], right: KeyedStream[U, K]) -> None:
        self._left = left
        self._right = right

    def in_event_time(self) -> Self:
        """Joins in event time. This is the default and the only time characteristic."""
        return self

    def in_processing_time(self) -> Self:
        """Not supported, as in Flink."""
        raise UnsupportedOperation(
            "JOIN_IN_PROCESSING_TIME",
            "An interval join in processing time is not supported, as in Flink. Assign timestamps to both streams, or use a join "
            "with processing-time windows: left.join(right).where(...).equal_to(...)"
            ".window(TumblingProcessingTimeWindows.of(...)).",
        )

    def between(
        self, lower_bound: Duration | timedelta | int, upper_bound: Duration | timedelta | int
    ) -> IntervalJoined[T, U, K]:
        """Joins elements with `left + lower <= right <= left + upper`. Numbers are milliseconds and may be negative."""
        lower, upper = _bound_millis(lower_bound), _bound_millis(upper_bound)
        check_bounds(lower, upper)
        return IntervalJoined(self._left, self._right, IntervalJoinSpec(None, lower, upper))


class IntervalJoined(Generic[T, U, K]):
    """An interval join with its bounds. Call `process` to apply a function to the pairs."""

    def __init__(self, left: KeyedStream[T, K], right: KeyedStream[U, K], spec: IntervalJoinSpec) -> None:
        self._left = left
        self._right = right
        self._spec = spec

    def _with(self, **fields: Any) -> Self:
        return type(self)(self._left, self._right, replace(self._spec, **fields))

    def lower_bound_exclusive(self) -> Self:
        """Makes the lower bound exclusive."""
        return self._with(lower_inclusive=False)

    def upper_bound_exclusive(self) -> Self:
        """Makes the upper bound exclusive."""
        return self._with(upper_inclusive=False)

    def side_output_left_late_data(self, output_tag: OutputTag[T]) -> Self:
        """Sends late elements of the left stream to a side output. Without it, they are dropped and counted."""
        return self._with(left_late_tag=_tag("side_output_left_late_data", output_tag))

    def side_output_right_late_data(self, output_tag: OutputTag[U]) -> Self:
        """Sends late elements of the right stream to a side output. Without it, they are dropped and counted."""
        return self._with(right_late_tag=_tag("side_output_right_late_data", output_tag))

    def process(
        self,
        func: ProcessJoinFunction[T, U, R] | Callable[[T, U, JoinContext], Yields[R]],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function to each pair. Its results have the later timestamp of the pair.

        >>> from penstock import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment()
        >>> views, clicks = (env.from_collection(["a"]).key_by(str) for _ in range(2))
        >>> views.interval_join(clicks).between(0, 5000).process(lambda v, c, ctx: [v + c]).get_name()
        'interval_join'
        """
        check_function("process", func, ProcessJoinFunction, or_callable=True)
        check_arguments("process", func, "left", "right", "ctx")
        node = self._left._add(
            OperatorNode,
            "interval_join",
            self._left._node,
            self._right._node,
            spec=replace(self._spec, function=func),
            output_type=output_type,
            on_error=on_error,
        )
        return DataStream(self._left._env, node)


def _bound_millis(bound: Any) -> int:
    if isinstance(bound, bool) or not isinstance(bound, (Duration, timedelta, int)):
        raise PlanError(
            "JOIN_BOUNDS",
            f"between() got the bound {bound!r}; it takes a Duration, a timedelta or a number of milliseconds, such as "
            "between(Duration.of_seconds(-5), Duration.of_seconds(5)).",
        )
    return to_millis(bound)


def _tag(method: str, tag: Any) -> OutputTag[Any]:
    if not isinstance(tag, OutputTag):
        raise PlanError(
            "LATE_OUTPUT_TAG",
            f"{method}() got {tag!r}; it takes an OutputTag such as OutputTag('late'). Read it with get_side_output() of the "
            "joined stream.",
        )
    return tag
