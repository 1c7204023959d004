"""Predefined aggregates of windows."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.datastream.streams.data_stream import DataStream, T
from penstock.datastream.streams.fields import AccumulateType, FieldAggregate
from penstock.errors import PlanError
from penstock.functions.field_access import Field
from penstock.functions.named_aggregates import (
    NamedAggregate,
    NamedAggregates,
    RowWithWindow,
    WindowResult,
    WithWindow,
    avg_of,
    count,
)
from penstock.row import Row
from penstock.windows import CountWindow, GlobalWindow, Window

K = TypeVar("K", default=Any)


class FieldWindowAggregates(Generic[T]):
    """`sum`, `min`, `max`, `min_by` and `max_by` of a field, as in Flink. The result is an element of the stream."""

    def _reduce_windows(self, reduce: Any, function: Any, output_type: Any, on_error: Any) -> DataStream[Any]:
        raise NotImplementedError

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Returns the first element of each window with the sum of a field."""
        return self._aggregate_field(AccumulateType.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Returns the first element of each window with the minimum of a field."""
        return self._aggregate_field(AccumulateType.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Returns the first element of each window with the maximum of a field."""
        return self._aggregate_field(AccumulateType.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Returns the element of each window with the minimum of a field, the first one if equal."""
        return self._aggregate_field(AccumulateType.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Returns the element of each window with the maximum of a field, the first one if equal."""
        return self._aggregate_field(AccumulateType.MAX_BY, position_to_max_by)

    def _aggregate_field(self, kind: AccumulateType, position: int | str) -> DataStream[T]:
        return self._reduce_windows(FieldAggregate(kind, position), None, None, "fail")


class NamedWindowAggregates(FieldWindowAggregates[T], Generic[T, K]):
    """Aggregates of keyed windows whose results contain the key and the window."""

    def _aggregate_windows(
        self, aggregate: Any, function: Any, accumulator_type: Any, output_type: Any, on_error: Any
    ) -> DataStream[Any]:
        raise NotImplementedError

    def _window_type(self) -> type[Window]:
        raise NotImplementedError

    def _aggregate_with_window(self, method: str, aggregate: Any, function: WithWindow) -> DataStream[Any]:
        kind = self._window_type()
        if issubclass(kind, (CountWindow, GlobalWindow)):
            raise PlanError(
                "WINDOW_WITHOUT_BOUNDS",
                f"{method}() emits the start and the end of each window, but a {kind.__name__} has none. Call "
                "aggregate() with the same aggregates, such as aggregate(count()), to emit only their values, or use time windows.",
            )
        return self._aggregate_windows(aggregate, function, None, None, "fail")

    def count(self) -> DataStream[WindowResult[K, int]]:
        """Counts the elements of each window. Returns a `WindowResult(key, start, end, value)` for each window.

        >>> from penstock import StreamExecutionEnvironment
        >>> from penstock.windows import TumblingProcessingTimeWindows
        >>> words = StreamExecutionEnvironment().from_collection(["a", "b"]).key_by(lambda w: w)
        >>> counts = words.window(TumblingProcessingTimeWindows.of(1000)).count()
        """
        return self._aggregate_with_window("count", count(), WithWindow())

    def avg(self, field: Field = None) -> DataStream[WindowResult[K, float]]:
        """Computes the average of a field in each window.

        `field` is a name, a position, a function, or None for the element itself.
        """
        return self._aggregate_with_window("avg", avg_of(field), WithWindow())

    def aggregates(self, **named: NamedAggregate[Any]) -> DataStream[Row]:
        """Computes several aggregates. Returns rows with key, window_start, window_end, and one field for each aggregate.

        >>> from penstock import StreamExecutionEnvironment
        >>> from penstock.windows import TumblingProcessingTimeWindows
        >>> from penstock.functions.named_aggregates import count, sum_of
        >>> sales = StreamExecutionEnvironment().from_collection([("a", 3), ("b", 4)]).key_by(lambda s: s[0])
        >>> totals = sales.window(TumblingProcessingTimeWindows.of(1000)).aggregates(n=count(), total=sum_of(1))
        """
        aggregates = NamedAggregates(**named)
        return self._aggregate_with_window("aggregates", aggregates, RowWithWindow(aggregates.names))
