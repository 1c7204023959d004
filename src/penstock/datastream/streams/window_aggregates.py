"""Aggregates by name, on windows."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.datastream.data_stream import DataStream, T
from penstock.datastream.fields import AccumulateType, FieldAggregate
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

K = TypeVar("K", default=Any)


class FieldsOfWindows(Generic[T]):
    """`sum`, `min`, `max` and their like, as Flink has them: an element of the stream comes out."""

    def _reduced(self, reduce: Any, function: Any, output_type: Any, on_error: Any) -> DataStream[Any]:
        raise NotImplementedError

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """The first element of each window, with the sum of a field."""
        return self._of_field(AccumulateType.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """The first element of each window, with the least value of a field."""
        return self._of_field(AccumulateType.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """The first element of each window, with the greatest value of a field."""
        return self._of_field(AccumulateType.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """The element of each window with the least value of a field; the first one of several."""
        return self._of_field(AccumulateType.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """The element of each window with the greatest value of a field; the first one of several."""
        return self._of_field(AccumulateType.MAX_BY, position_to_max_by)

    def _of_field(self, kind: AccumulateType, position: int | str) -> DataStream[T]:
        return self._reduced(FieldAggregate(kind, position), None, None, "fail")


class NamedOfWindows(FieldsOfWindows[T], Generic[T, K]):
    """Aggregates by name of each key's window, with the key and the window."""

    def _aggregated(
        self, aggregate: Any, function: Any, accumulator_type: Any, output_type: Any, on_error: Any
    ) -> DataStream[Any]:
        raise NotImplementedError

    def count(self) -> DataStream[WindowResult[K, int]]:
        """How many elements each window has: WindowResult(key, start, end, value).

        >>> from penstock import StreamExecutionEnvironment
        >>> from penstock.windows import TumblingProcessingTimeWindows
        >>> words = StreamExecutionEnvironment().from_collection(["a", "b"]).key_by(lambda w: w)
        >>> counts = words.window(TumblingProcessingTimeWindows.of(1000)).count()
        """
        return self._aggregated(count(), WithWindow(), None, None, "fail")

    def avg(self, field: Field = None) -> DataStream[WindowResult[K, float]]:
        """The average of a field (a name, a position, a function; None: the element itself) in each window."""
        return self._aggregated(avg_of(field), WithWindow(), None, None, "fail")

    def aggregates(self, **named: NamedAggregate[Any]) -> DataStream[Row]:
        """Several aggregates at once: rows of key, window_start, window_end, and a field for each.

        >>> from penstock import StreamExecutionEnvironment
        >>> from penstock.windows import TumblingProcessingTimeWindows
        >>> from penstock.functions.named_aggregates import count, sum_of
        >>> sales = StreamExecutionEnvironment().from_collection([("a", 3), ("b", 4)]).key_by(lambda s: s[0])
        >>> totals = sales.window(TumblingProcessingTimeWindows.of(1000)).aggregates(n=count(), total=sum_of(1))
        """
        together = NamedAggregates(**named)
        return self._aggregated(together, RowWithWindow(together.names), None, None, "fail")
