"""The `KeyedStream`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, NoReturn, Self, TypeAlias

from typing_extensions import TypeVar

from penstock.datastream.streams.argument_checks import check_function, check_same_environment
from penstock.datastream.streams.data_stream import DataStream, R, T, U
from penstock.datastream.streams.fields import AccumulateType as FieldAccumulateType
from penstock.datastream.streams.fields import FieldAggregate
from penstock.datastream.streams.interval_join import IntervalJoin
from penstock.datastream.streams.keyed_functions import keyed_filter, keyed_flat_map, keyed_map, keyed_reduce
from penstock.datastream.streams.on_error import OnError
from penstock.datastream.streams.windowed_stream import W, WindowedStream, count_window_assigner
from penstock.errors import PlanError, UnsupportedOperation
from penstock.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.plan.nodes import FactorySpec, Node, OperatorNode, ProcessSpec
from penstock.row import Row
from penstock.windows import CountWindow, WindowAssigner

K = TypeVar("K", default=Any)
K2 = TypeVar("K2")


class KeyedStream(DataStream[T], Generic[T, K]):
    """A stream that is partitioned by key. Functions on it can use keyed state and timers."""

    AccumulateType: TypeAlias = FieldAccumulateType

    def __init__(self, origin: DataStream[T], node: Node) -> None:
        super().__init__(origin._env, node)
        self._origin = origin

    def _operator(
        self, name: str, function: Any, output_type: Any = None, on_error: OnError = "fail"
    ) -> DataStream[Any]:
        fields = {"spec": ProcessSpec(function, True), "output_type": output_type, "on_error": on_error}
        return DataStream(self._env, self._add(OperatorNode, name, **fields))

    def process(
        self,
        func: KeyedProcessFunction[K, T, R] | ProcessFunction[T, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a `KeyedProcessFunction`, which has access to keyed state, timers and side outputs."""
        check_function("process", func, KeyedProcessFunction, ProcessFunction)
        return self._operator("process", func, output_type, on_error)

    def map(
        self, func: Callable[[T], R] | MapFunction[T, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]:
        """Applies a function that returns one element for each element. It can use keyed state."""
        check_function("map", func, MapFunction, or_callable=True)
        return self._operator("map", keyed_map(func), output_type, on_error)

    def flat_map(
        self,
        func: Callable[[T], Iterable[R] | None] | FlatMapFunction[T, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function that returns any number of elements for each element. It can use keyed state."""
        check_function("flat_map", func, FlatMapFunction, or_callable=True)
        return self._operator("flat_map", keyed_flat_map(func), output_type, on_error)

    def filter(self, func: Callable[[T], bool] | FilterFunction[T], *, on_error: OnError = "fail") -> DataStream[T]:
        """Returns the elements for which the function is true. It can use keyed state."""
        check_function("filter", func, FilterFunction, or_callable=True)
        return self._operator("filter", keyed_filter(func), on_error=on_error)

    # -- rolling aggregates

    def reduce(self, func: Callable[[T, T], T] | ReduceFunction[T], *, on_error: OnError = "fail") -> DataStream[T]:
        """Emits, for each element, the reduction of all elements of its key so far."""
        check_function("reduce", func, ReduceFunction, or_callable=True)
        return self._operator("reduce", keyed_reduce(func), on_error=on_error)

    def sum(self, position_to_sum: int | str = 0, *, on_error: OnError = "fail") -> DataStream[T]:
        """Emits, for each element, the first element of its key with the sum of a field so far."""
        return self._aggregate(FieldAccumulateType.SUM, position_to_sum, on_error)

    def min(self, position_to_min: int | str = 0, *, on_error: OnError = "fail") -> DataStream[T]:
        """Emits, for each element, the first element of its key with the minimum of a field so far."""
        return self._aggregate(FieldAccumulateType.MIN, position_to_min, on_error)

    def max(self, position_to_max: int | str = 0, *, on_error: OnError = "fail") -> DataStream[T]:
        """Emits, for each element, the first element of its key with the maximum of a field so far."""
        return self._aggregate(FieldAccumulateType.MAX, position_to_max, on_error)

    def min_by(self, position_to_min_by: int | str = 0, *, on_error: OnError = "fail") -> DataStream[T]:
        """Emits, for each element, the element of its key with the minimum of a field so far, the first one if equal."""
        return self._aggregate(FieldAccumulateType.MIN_BY, position_to_min_by, on_error)

    def max_by(self, position_to_max_by: int | str = 0, *, on_error: OnError = "fail") -> DataStream[T]:
        """Emits, for each element, the element of its key with the maximum of a field so far, the first one if equal."""
        return self._aggregate(FieldAccumulateType.MAX_BY, position_to_max_by, on_error)

    def _aggregate(self, kind: FieldAccumulateType, position: int | str, on_error: OnError) -> DataStream[T]:
        return self._operator(kind.name.lower(), keyed_reduce(FieldAggregate(kind, position)), on_error=on_error)

    # -- windows and joins

    def window(self, window_assigner: WindowAssigner[Any, W]) -> WindowedStream[T, K, W]:
        """Groups the elements of each key into windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[T, K, CountWindow]:
        """Groups the elements of each key into windows of `size` elements.

        With `slide`, a new window starts with every `slide`-th element. A window that is incomplete when the stream ends has no
        result.
        """
        return WindowedStream(self, count_window_assigner(size, slide))

    def interval_join(self, other_stream: KeyedStream[U, K]) -> IntervalJoin[T, U, K]:
        """Joins the elements of two keyed streams whose timestamps are within an interval."""
        if not isinstance(other_stream, KeyedStream):
            raise PlanError(
                "JOIN_WITHOUT_KEY",
                f"interval_join() got a {type(other_stream).__name__}; it takes a keyed stream. Call key_by on it first: "
                "left.key_by(...).interval_join(right.key_by(...)).",
            )
        check_same_environment("interval_join", self, other_stream)
        return IntervalJoin(self, other_stream)

    def transform(self, name: str, factory: Callable[[], Any]) -> DataStream[Any]:
        """Adds a custom operator, which the factory creates."""
        return DataStream(self._env, self._add(OperatorNode, name, spec=FactorySpec(factory)))

    # -- sinks

    def _collected(self) -> DataStream[Any]:
        """As in PyFlink, collected elements are rows of key and element."""
        return self._operator("key_and_element", _KeyAndElement())

    # -- not available: a keyed stream is a partitioning, not an operator

    def key_by(
        self, key_selector: Callable[[T], K2] | KeySelector[T, K2], key_type: Any = None, *, on_error: OnError = "fail"
    ) -> KeyedStream[T, K2]:
        """Partitions the stream by another key."""
        return self._origin.key_by(key_selector, key_type, on_error=on_error)

    def get_name(self) -> NoReturn:
        """Not supported, because key_by is not an operator."""
        raise _no_operator("name")

    def cache(self) -> NoReturn:
        """Not supported."""
        raise _no_operator("cache")

    def set_uid_hash(self, uid_hash: str) -> NoReturn:
        """Not supported."""
        raise _no_operator("uid hash")

    def _apply_setting(self, setting: str, **fields: Any) -> Self:
        raise _no_operator(setting)

    def _partition(self, kind: str, **fields: Any) -> DataStream[T]:
        raise UnsupportedOperation(
            "KEYED_PARTITIONING",
            f"{kind}() was called on a keyed stream, which is partitioned by key. Call it before key_by, or on the result of the "
            "function after key_by.",
        )


class _KeyAndElement(KeyedProcessFunction[Any, Any, Row]):
    may_keep_state = False

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Row]:
        return [Row(f0=ctx.get_current_key(), f1=value)]


def _no_operator(setting: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "KEYED_STREAM_SETTING",
        f"A keyed stream has no {setting} because key_by is not an operator. Set it on the stream before key_by, or on the "
        "operator after it: key_by(...).process(...).name(...).",
    )
