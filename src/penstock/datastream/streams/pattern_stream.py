"""Complex event processing: the application of patterns to streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic

from penstock.datastream.streams.argument_checks import check_function, warn_late_settings
from penstock.datastream.streams.data_stream import DataStream, R, T
from penstock.datastream.streams.keyed_stream import KeyedStream
from penstock.datastream.streams.on_error import OnError
from penstock.datastream.streams.pattern_functions import SelectAdapter, SelectWithTimeoutAdapter
from penstock.errors import PlanError
from penstock.functions import NullByteKeySelector, OutputTag
from penstock.patterns import (
    Match,
    Pattern,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from penstock.patterns.check import check_pattern
from penstock.plan.nodes import DynamicPatternSpec, OperatorNode, PatternSpec


class CEP:
    """Applies patterns to streams.

    >>> from penstock import StreamExecutionEnvironment
    >>> numbers = StreamExecutionEnvironment().from_sequence(1, 9)
    >>> rise = Pattern.begin("low").where(lambda n: n < 3).next("high").where(lambda n: n > 2)
    >>> found = CEP.pattern(numbers, rise).in_processing_time().select(lambda match: match["high"][0])
    """

    @staticmethod
    def pattern(
        input: DataStream[T],
        pattern: Pattern[Any],
        comparator: Callable[[T, T], int] | None = None,
    ) -> PatternStream[T]:
        """Detects the matches of a pattern, separately for each key if the stream is keyed.

        The comparator orders events with equal timestamps. It returns a negative number, zero or a positive number.
        """
        check_pattern(pattern)
        if comparator is not None and not callable(comparator):
            raise PlanError(
                "PATTERN_COMPARATOR",
                f"CEP.pattern() got a {type(comparator).__name__} as comparator. Pass a function of two events that returns a "
                "negative number, zero or a positive number.",
            )
        return PatternStream(input, pattern, comparator)

    @staticmethod
    def dynamic_patterns(
        input: DataStream[T],
        updates: DataStream[Any],
        pattern_of: Callable[[Any], Pattern[Any]] | None = None,
        comparator: Callable[[T, T], int] | None = None,
    ) -> PatternStream[T]:
        """Detects the matches of patterns that can change while the job runs.

        `updates` is a stream of `PatternUpdate`. `pattern_of` creates a pattern from the content of an update. Without it,
        updates contain patterns, which must be picklable. A pattern is applied to the events after its update. Partial matches
        of a pattern are discarded when it is replaced or removed.
        """
        if isinstance(updates, KeyedStream) or not isinstance(updates, DataStream):
            raise PlanError(
                "PATTERN_UPDATE",
                f"CEP.dynamic_patterns() got a {type(updates).__name__} as updates. Pass a DataStream without keys.",
            )
        if pattern_of is not None:
            check_function("dynamic_patterns", pattern_of, or_callable=True)
        return PatternStream(input, None, comparator, updates=updates, pattern_of=pattern_of)


class PatternStream(Generic[T]):
    """The matches of a pattern. A match maps pattern names to events. Call `select`, `flat_select` or `process`."""

    def __init__(
        self,
        stream: DataStream[T],
        pattern: Pattern[Any] | None,
        comparator: Callable[[T, T], int] | None = None,
        event_time: bool = True,
        late_tag: OutputTag[T] | None = None,
        updates: DataStream[Any] | None = None,
        pattern_of: Callable[[Any], Pattern[Any]] | None = None,
    ) -> None:
        self._updates = updates
        self._pattern_of = pattern_of
        self._stream = stream
        self._pattern = pattern
        self._comparator = comparator
        self._event_time = event_time
        self._late_tag = late_tag

    def _with(self, **fields: Any) -> PatternStream[T]:
        known = {
            "comparator": self._comparator,
            "event_time": self._event_time,
            "late_tag": self._late_tag,
            "updates": self._updates,
            "pattern_of": self._pattern_of,
        }
        return PatternStream(self._stream, self._pattern, **{**known, **fields})

    # -- settings

    def in_event_time(self) -> PatternStream[T]:
        """Processes events in the order of their timestamps, when the watermark has passed them. This is the default."""
        return self._with(event_time=True)

    def in_processing_time(self) -> PatternStream[T]:
        """Processes events in the order of arrival, in processing time."""
        return self._with(event_time=False)

    def side_output_late_data(self, late_data_output_tag: OutputTag[T]) -> PatternStream[T]:
        """Sends late events to a side output. Without it, they are dropped and counted."""
        if not isinstance(late_data_output_tag, OutputTag):
            raise PlanError(
                "OUTPUT_TAG",
                f"side_output_late_data() got a {type(late_data_output_tag).__name__}; it takes an OutputTag.",
            )
        return self._with(late_tag=late_data_output_tag)

    # -- results

    def process(
        self,
        pattern_process_function: PatternProcessFunction[T, R],
        output_type: Any = None,
        *,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function to each match, and to each timed-out partial match if it is a TimedOutPartialMatchHandler."""
        check_function("process", pattern_process_function, PatternProcessFunction)
        return self._operator("pattern_process", pattern_process_function, output_type, on_error)

    def select(
        self,
        pattern_select_function: Callable[[Match[T]], R] | PatternSelectFunction[T, R],
        output_type: Any = None,
        *,
        timed_out_tag: OutputTag[Any] | None = None,
        timeout_function: Callable[[Match[T], int], Any] | PatternTimeoutFunction[T, Any] | None = None,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function that returns one result for each match.

        With `timed_out_tag` and `timeout_function`, results for timed-out partial matches go to a side output. The timeout
        function gets the partial match and the time of the timeout in milliseconds.
        """
        check_function("select", pattern_select_function, PatternSelectFunction, or_callable=True)
        if timeout_function is not None:
            check_function("select", timeout_function, PatternTimeoutFunction, or_callable=True)
        function = self._select_adapter(pattern_select_function, False, timed_out_tag, timeout_function)
        return self._operator("pattern_select", function, output_type, on_error)

    def flat_select(
        self,
        pattern_flat_select_function: Callable[[Match[T]], Iterable[R] | None] | PatternFlatSelectFunction[T, R],
        output_type: Any = None,
        *,
        timed_out_tag: OutputTag[Any] | None = None,
        timeout_function: Callable[[Match[T], int], Iterable[Any] | None]
        | PatternFlatTimeoutFunction[T, Any]
        | None = None,
        on_error: OnError = "fail",
    ) -> DataStream[R]:
        """Applies a function that returns any number of results for each match. For timeouts, see `select`."""
        check_function("flat_select", pattern_flat_select_function, PatternFlatSelectFunction, or_callable=True)
        if timeout_function is not None:
            check_function("flat_select", timeout_function, PatternFlatTimeoutFunction, or_callable=True)
        function = self._select_adapter(pattern_flat_select_function, True, timed_out_tag, timeout_function)
        return self._operator("pattern_flat_select", function, output_type, on_error)

    def _select_adapter(self, function: Any, flat: bool, tag: OutputTag[Any] | None, timeout: Any) -> SelectAdapter:
        if (tag is None) != (timeout is None):
            raise PlanError(
                "PATTERN_TIMEOUT",
                "Only one of timed_out_tag and timeout_function was passed. Pass both to get results for timeouts.",
            )
        return SelectAdapter(function, flat) if tag is None else SelectWithTimeoutAdapter(function, flat, tag, timeout)

    def _operator(self, name: str, function: Any, output_type: Any, on_error: OnError) -> DataStream[Any]:
        stream = self._stream
        if not self._event_time:
            warn_late_settings("A pattern in processing time", 0, self._late_tag)
        keyed = stream if isinstance(stream, KeyedStream) else stream.key_by(NullByteKeySelector())
        settings = (function, self._event_time, self._comparator, self._late_tag)
        fields: dict[str, Any] = {"output_type": output_type, "on_error": on_error}
        if self._updates is None:
            node = keyed._add(OperatorNode, name, spec=PatternSpec(self._pattern, *settings), **fields)
        else:
            inputs = keyed._node, self._updates.broadcast()._node
            node = keyed._add(
                OperatorNode, name, *inputs, spec=DynamicPatternSpec(self._pattern_of, *settings), **fields
            )
        return DataStream(keyed._env, node)
