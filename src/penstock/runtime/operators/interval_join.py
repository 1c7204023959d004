"""The interval join: joins elements of two keyed streams whose timestamps are within an interval of each other (time-rules 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import PlanError, TimeError
from penstock.functions import JoinContext, OutputTag
from penstock.runtime.loop.call_results import collect_results
from penstock.runtime.loop.element_copy import copy_element, same_element
from penstock.runtime.loop.lateness import join_is_late
from penstock.runtime.loop.operator import Emitted, OperatorContext, TimestampedResult
from penstock.runtime.state.timeline import KeyTimeline, TimelineDescriptor
from penstock.runtime.state.timers import Timer
from penstock.time import MAX_WATERMARK, NO_TIMESTAMP
from penstock.types import TypeInformation, type_information

_CLEANUPS = 4  # per lifetime of an element; fewer need fewer timers, but retain expired elements longer


class PairContext(JoinContext):
    """The timestamps of the current pair of a join function, and what it sent to side outputs."""

    __slots__ = ("copies", "left", "right", "sent")

    def __init__(self) -> None:
        self.left = 0
        self.right = 0
        self.sent: list[Any] = []
        self.copies = True  # whether values are copied, because the function may change them later

    def begin(self) -> PairContext:
        """Starts the pairs of another element, and drops what a call that raised has sent."""
        self.sent = []
        return self

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self.sent.append((output_tag, copy_element(value) if self.copies else value))


class JoinSide:
    """The stored elements of one input that may still be joined.

    An element expires when the watermark reaches its timestamp + `lifetime`. Expired elements are never joined; they are dropped
    at the next multiple of `step`, so that many elements share one timer.
    """

    def __init__(
        self, number: int, element_type: TypeInformation, bounds: tuple[int, int], late_tag: OutputTag | None
    ) -> None:
        self.number = number  # of the input; also the namespace of its timers
        self.late_tag = late_tag
        self.lower, self.upper = bounds  # of the other side, relative to the timestamp of an element of this side
        self.lifetime = max(bounds[1], 0)
        self.step = max(self.lifetime // _CLEANUPS, 1)
        self._type = element_type
        self.timeline: Any = None

    def open(self, context: OperatorContext) -> None:
        self.timeline = context.backend.handle(TimelineDescriptor(("__left__", "__right__")[self.number], self._type))

    def add_and_match(
        self, value: Any, timestamp: int, other: JoinSide, context: OperatorContext
    ) -> tuple[KeyTimeline, range]:
        """Stores an element of this side. Returns the timeline of the other side and the indexes of its matches there."""
        timeline: KeyTimeline = self.timeline.add(timestamp, value)
        cleanup = timestamp + self.lifetime
        cleanup += -cleanup % self.step
        if timeline.cleanup_timer != cleanup:
            timeline.cleanup_timer = cleanup
            if cleanup < MAX_WATERMARK:
                context.event_timers.register(cleanup, context.cell.at, self.number, context.running_due)
        lower = timestamp + self.lower
        if other.lifetime:
            # With a lifetime of zero, an element may arrive exactly at the watermark and lives until the next one. Such
            # elements are dropped on time, so none of the stored ones has expired.
            lower = max(lower, context.watermark - other.lifetime + 1)
        timeline = other.timeline.since(lower)
        return timeline, timeline.between(lower, timestamp + self.upper)


class IntervalJoinOperator:
    """Calls the function for each pair with left + lower <= right <= left + upper (< if a bound is exclusive).

    The function is `process_element(left, right, ctx)` of a ProcessJoinFunction, or a callable with the same arguments. The
    timestamp of a result is the later one of its pair. Late elements go to a late output, or are counted in `late_records`.

    >>> IntervalJoinOperator(None, -5, 5).late_records
    0
    """

    keyed = True
    stamps_results = True
    copies_results = True

    def __init__(
        self,
        function: Any,
        lower: int,
        upper: int,
        *,
        lower_inclusive: bool = True,
        upper_inclusive: bool = True,
        left_late_tag: OutputTag | None = None,
        right_late_tag: OutputTag | None = None,
        left_type: TypeInformation | type | None = None,
        right_type: TypeInformation | type | None = None,
    ) -> None:
        check_bounds(lower, upper)
        self.late_records = 0
        self._function = function
        self._call = getattr(function, "process_element", function)
        low = lower if lower_inclusive else lower + 1
        high = upper if upper_inclusive else upper - 1
        self._left = JoinSide(0, type_information(left_type), (low, high), left_late_tag)
        self._right = JoinSide(1, type_information(right_type), (-high, -low), right_late_tag)
        self._pair = PairContext()
        self._separate: Callable[[Any], Any] = copy_element  # the function may change elements, which stay in state
        self._context: OperatorContext

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._pair.copies = context.copies_elements
        if not context.copies_elements:
            self._separate = same_element
        self._left.open(context)
        self._right.open(context)
        if hasattr(self._function, "open"):
            self._function.open(context.runtime)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._function.close()

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return self._left_element, self._right_element

    def _left_element(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if timestamp == NO_TIMESTAMP or join_is_late(timestamp, context.watermark):
            return self._late(value, timestamp, self._left)
        timeline, matches = self._left.add_and_match(value, timestamp, self._right, context)
        if not matches:
            return None
        emitted: list[Any] = []
        pair = self._pair.begin()
        pair.left = timestamp
        separate = self._separate
        for index in matches:
            pair.right = timeline.times[index]
            results = self._call(separate(value), separate(timeline.values[index]), pair)
            self._collect(emitted, results, pair.right > timestamp)
        return emitted

    def _right_element(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if timestamp == NO_TIMESTAMP or join_is_late(timestamp, context.watermark):
            return self._late(value, timestamp, self._right)
        timeline, matches = self._right.add_and_match(value, timestamp, self._left, context)
        if not matches:
            return None
        emitted: list[Any] = []
        pair = self._pair.begin()
        pair.right = timestamp
        separate = self._separate
        for index in matches:
            pair.left = timeline.times[index]
            results = self._call(separate(timeline.values[index]), separate(value), pair)
            self._collect(emitted, results, pair.left > timestamp)
        return emitted

    def _collect(self, emitted: list[Any], results: Emitted, other_is_later: bool) -> None:
        """Adds the results of a pair. If the other element is the later one, they get its timestamp."""
        pair = self._pair
        found = collect_results(results, self._context.copies_elements)
        if pair.sent:
            found += pair.sent
            pair.sent = []
        if other_is_later:
            timestamp = pair.get_timestamp()
            emitted += [TimestampedResult(result, timestamp) for result in found]
        else:
            emitted += found

    def _late(self, value: Any, timestamp: int, side: JoinSide) -> Emitted:
        if timestamp == NO_TIMESTAMP:
            raise TimeError(
                "ELEMENT_WITHOUT_TIMESTAMP",
                "An interval join received an element without a timestamp. Call assign_timestamps_and_watermarks with a "
                "timestamp assigner on both streams before the join.",
            )
        if side.late_tag is not None:
            return ((side.late_tag, value),)
        self.late_records += 1
        return None

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        side = self._right if timer.namespace else self._left
        side.timeline.drop(timer.time - side.lifetime)
        return None


def check_bounds(lower: int, upper: int) -> None:
    """Raises JOIN_BOUNDS if no pair can be within the bounds."""
    if lower > upper:
        raise PlanError(
            "JOIN_BOUNDS",
            f"An interval join has a lower bound of {lower} ms and an upper bound of {upper} ms. The lower bound "
            "must not be greater. Both are relative to the left element: between(lower, upper).",
        )
