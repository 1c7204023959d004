"""Window joins and co-groups of two streams."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from typing_extensions import TypeVar

from penstock.datastream.streams.argument_checks import (
    check_arguments,
    check_function,
    check_same_environment,
    check_setting,
    warn_late_settings,
)
from penstock.datastream.streams.data_stream import DataStream, R, T, U
from penstock.datastream.streams.on_error import OnError
from penstock.errors import PlanError
from penstock.functions import CoGroupFunction, FlatJoinFunction, JoinFunction, KeySelector
from penstock.plan.nodes import CoGroupSpec, OperatorNode
from penstock.time import Duration, to_millis
from penstock.types import type_information
from penstock.windows import Evictor, Trigger, WindowAssigner
from penstock.windows.validation import check_lateness, check_trigger

if TYPE_CHECKING:
    from penstock.datastream.streams.keyed_stream import KeyedStream

K = TypeVar("K", default=Any)
WINDOWED = TypeVar("WINDOWED", covariant=True, default=Any)


class JoinedStreams(Generic[T, U]):
    """A window join of two streams. Set the keys with `where` and `equal_to`, then call `window` and `apply`.

    >>> from penstock import StreamExecutionEnvironment
    >>> from penstock.windows import TumblingEventTimeWindows
    >>> env = StreamExecutionEnvironment()
    >>> views, clicks = env.from_collection(["a"]), env.from_collection(["a"])
    >>> windows = views.join(clicks).where(str).equal_to(str).window(TumblingEventTimeWindows.of(1000))
    >>> windows.apply(lambda view, click: view + click).get_name()
    'join'
    """

    def __init__(self, stream1: DataStream[T], stream2: DataStream[U]) -> None:
        check_streams("join", stream1, stream2)
        self._stream1 = stream1
        self._stream2 = stream2

    def where(
        self, key_selector: Callable[[T], K] | KeySelector[T, K], key_type: Any = None, *, on_error: OnError = "fail"
    ) -> Where[U, K, JoinedWindows[T, U, K]]:
        """Sets the key of the first stream."""
        first = self._stream1.key_by(key_selector, key_type, on_error=on_error)
        return Where(JoinedWindows, first, self._stream2, key_type)


class CoGroupedStreams(Generic[T, U]):
    """A co-group of two streams. Set the keys with `where` and `equal_to`, then call `window` and `apply`."""

    def __init__(self, stream1: DataStream[T], stream2: DataStream[U]) -> None:
        check_streams("co_group", stream1, stream2)
        self._stream1 = stream1
        self._stream2 = stream2

    def where(
        self, key_selector: Callable[[T], K] | KeySelector[T, K], key_type: Any = None, *, on_error: OnError = "fail"
    ) -> Where[U, K, CoGroupedWindows[T, U, K]]:
        """Sets the key of the first stream."""
        first = self._stream1.key_by(key_selector, key_type, on_error=on_error)
        return Where(CoGroupedWindows, first, self._stream2, key_type)


class Where(Generic[U, K, WINDOWED]):
    """A join whose first key is set."""

    def __init__(
        self, windowed: Callable[..., WINDOWED], first: KeyedStream[Any, K], second: DataStream[U], key_type: Any
    ) -> None:
        self._windowed = windowed
        self._first = first
        self._second = second
        self._key_type = key_type

    def equal_to(
        self, key_selector: Callable[[U], K] | KeySelector[U, K], key_type: Any = None, *, on_error: OnError = "fail"
    ) -> EqualTo[WINDOWED]:
        """Sets the key of the second stream, which must have the same type as the first key."""
        _check_key_types(self._key_type, key_type)
        second = self._second.key_by(key_selector, key_type, on_error=on_error)
        return EqualTo(self._windowed, self._first, second)


class EqualTo(Generic[WINDOWED]):
    """A join whose keys are set."""

    def __init__(
        self, windowed: Callable[..., WINDOWED], first: KeyedStream[Any, Any], second: KeyedStream[Any, Any]
    ) -> None:
        self._windowed = windowed
        self._first = first
        self._second = second

    def window(self, assigner: WindowAssigner[Any, Any]) -> WINDOWED:
        """Sets the windows in which the elements of both streams are joined."""
        check_setting("window", assigner, WindowAssigner, "TumblingEventTimeWindows.of(Duration.of_seconds(10))")
        check_trigger(assigner, assigner.get_default_trigger(None))
        return self._windowed(self._first, self._second, CoGroupSpec(None, "", assigner))


class _Windows(ABC, Generic[T, U, K]):
    """Windows of two keyed streams. Trigger and evictor get elements as `TaggedUnion`.

    Elements for which a key selector raised an error are in the side output DEAD_LETTERS of `stream1` and `stream2`.
    """

    def __init__(self, stream1: KeyedStream[T, K], stream2: KeyedStream[U, K], spec: CoGroupSpec) -> None:
        self.stream1 = stream1
        self.stream2 = stream2
        self._spec = spec

    def _with(self, **fields: Any) -> Self:
        return type(self)(self.stream1, self.stream2, replace(self._spec, **fields))

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Sets the trigger, which determines when windows fire. It replaces the default trigger of the assigner."""
        check_setting("trigger", trigger, Trigger, "CountTrigger.of(10)")
        check_trigger(self._spec.assigner, trigger)
        return self._with(trigger=trigger)

    def evictor(self, evictor: Evictor) -> Self:
        """Sets the evictor, which removes elements from a window before or after the function is called."""
        check_setting("evictor", evictor, Evictor, "CountEvictor.of(10)")
        return self._with(evictor=evictor)

    def allowed_lateness(self, lateness: Duration | timedelta | int) -> Self:
        """Sets how long windows accept late elements after their end. The window fires again for each of them."""
        millis = to_millis(lateness)
        check_lateness(millis)
        return self._with(allowed_lateness=millis)

    def _add_operator(self, function: Any, of: str, output_type: Any, on_error: OnError) -> DataStream[Any]:
        if not self._spec.assigner.is_event_time():
            warn_late_settings(type(self._spec.assigner).__name__, self._spec.allowed_lateness, None)
        name = "co_group" if of == "co_group" else "join"
        spec = replace(self._spec, function=function, of=of)
        fields = {"spec": spec, "output_type": output_type, "on_error": on_error}
        node = self.stream1._add(OperatorNode, name, self.stream1._node, self.stream2._node, **fields)
        return DataStream(self.stream1._env, node)


class JoinedWindows(_Windows[T, U, K]):
    """Windows of two streams whose elements are joined in pairs."""

    @overload
    def apply(
        self, function: FlatJoinFunction[T, U, R], output_type: Any = None, *, on_error: OnError = "fail"
    ) -> DataStream[R]: ...

    @overload
    def apply(
        self,
        function: Callable[[T, U], R] | JoinFunction[T, U, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]: ...

    def apply(self, function: Any, output_type: Any = None, *, on_error: OnError = "fail") -> DataStream[Any]:
        """Applies a function to each pair of elements with the same key and window.

        Results have the maximum timestamp of the window.
        """
        check_function("apply", function, JoinFunction, FlatJoinFunction, or_callable=True)
        check_arguments("apply", function, "first", "second")
        of = "flat_join" if isinstance(function, FlatJoinFunction) else "join"
        return self._add_operator(function, of, output_type, on_error)


class CoGroupedWindows(_Windows[T, U, K]):
    """Windows of two streams whose elements are processed in two groups."""

    def apply(
        self,
        function: Callable[[list[T], list[U]], Iterable[R] | None] | CoGroupFunction[T, U, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function to the elements of both streams with the same key and window.

        Results have the maximum timestamp of the window.
        """
        check_function("apply", function, CoGroupFunction, or_callable=True)
        check_arguments("apply", function, "first", "second")
        return self._add_operator(function, "co_group", output_type, on_error)


def check_streams(method: str, first: DataStream[Any], second: Any) -> None:
    """Raises PlanError unless both are streams of the same environment."""
    if not isinstance(second, DataStream):
        raise PlanError(
            "JOINED_STREAM",
            f"{method}() got a {type(second).__name__}; it takes a stream: left.{method}(right).where(...).equal_to(...).",
        )
    check_same_environment(method, first, second)


def _check_key_types(first: Any, second: Any) -> None:
    if first is None or second is None:
        return
    one, two = (type_information(t) for t in (first, second))
    if one != two:
        raise PlanError(
            "JOIN_KEY_TYPES",
            f"where() declares keys of type {one.name}, but equal_to() of type {two.name}. Such keys are never equal. "
            "Convert the keys in one of the key selectors.",
        )
