"""Joins the elements of two keyed streams whose timestamps lie in an interval of each other (time.md 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import PlanError, TimeError
from penstock.functions import JoinContext, OutputTag
from penstock.runtime.lateness import join_is_late
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.stamped import Stamped
from penstock.runtime.state.timeline import Line, TimelineDescriptor
from penstock.runtime.timers import Timer
from penstock.time import MAX_WATERMARK, NO_TIMESTAMP
from penstock.types import TypeInformation, type_information

_STEPS = 4  # elements are dropped at so many times in a lifetime: fewer need fewer timers, and keep the dead for longer


class PairContext(JoinContext):
    """The times of the pair that a join function is given, and what it sent to side outputs."""

    __slots__ = ("left", "right", "sent")

    def __init__(self) -> None:
        self.left = 0
        self.right = 0
        self.sent: list[Any] = []

    def begin(self) -> PairContext:
        """For the pairs of another element; a call that raised may have left something."""
        self.sent = []
        return self

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        self.sent.append((output_tag, value))


class Side:
    """One stream's elements that may still meet others.

    An element lives until the watermark reaches its timestamp + `lifetime`. Nothing that has died is ever met; it is
    dropped at the next multiple of `step`, so that most elements need no timer of their own.
    """

    def __init__(
        self, number: int, element_type: TypeInformation, reach: tuple[int, int], late_tag: OutputTag | None
    ) -> None:
        self.number = number  # of the input; its timers' namespace too
        self.late_tag = late_tag
        self.lower, self.upper = reach  # elements of the other side that meet one of this side lie so far from it
        self.lifetime = max(reach[1], 0)
        self.step = max(self.lifetime // _STEPS, 1)
        self._type = element_type
        self.timeline: Any = None

    def open(self, context: OperatorContext) -> None:
        self.timeline = context.backend.handle(TimelineDescriptor(("__left__", "__right__")[self.number], self._type))

    def meet(self, value: Any, timestamp: int, other: Side, context: OperatorContext) -> tuple[Line, range]:
        """Keeps an element of this side; gives a line of the other side, and the places in it that it meets."""
        line = self.timeline.add(timestamp, value)
        cleanup = timestamp + self.lifetime
        cleanup += -cleanup % self.step
        if line.note != cleanup:  # the time of the timer that was set last
            line.note = cleanup
            if cleanup < MAX_WATERMARK:
                context.event_timers.register(cleanup, context.cell.at, self.number, context.running_due)
        lower = timestamp + self.lower
        if other.lifetime:
            # With a lifetime of zero an element may come at the very watermark, and live until the next one. Those are
            # dropped on time, so what is there is alive.
            lower = max(lower, context.watermark - other.lifetime + 1)
        line = other.timeline.since(lower)
        return line, line.between(lower, timestamp + self.upper)


class IntervalJoinOperator:
    """Gives the function each pair with left + lower <= right <= left + upper (< where a bound is exclusive).

    The function is `process_element(left, right, ctx)` of a ProcessJoinFunction, or a callable like it. A result's
    timestamp is the later one of its pair. Elements behind the watermark go to a late output, or are counted in
    `late_records`.

    >>> IntervalJoinOperator(None, -5, 5).late_records
    0
    """

    keyed = True
    stamps_results = True

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
        self._left = Side(0, type_information(left_type), (low, high), left_late_tag)
        self._right = Side(1, type_information(right_type), (-high, -low), right_late_tag)
        self._pair = PairContext()

    def open(self, context: OperatorContext) -> None:
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
            return self._refuse(value, timestamp, self._left)
        line, met = self._left.meet(value, timestamp, self._right, context)
        if not met:
            return None
        emitted: list[Any] = []
        pair = self._pair.begin()
        pair.left = timestamp
        for place in met:
            pair.right = line.times[place]
            results = self._call(value, line.values[place], pair)
            self._gather(emitted, results, pair.right > timestamp)
        return emitted

    def _right_element(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if timestamp == NO_TIMESTAMP or join_is_late(timestamp, context.watermark):
            return self._refuse(value, timestamp, self._right)
        line, met = self._right.meet(value, timestamp, self._left, context)
        if not met:
            return None
        emitted: list[Any] = []
        pair = self._pair.begin()
        pair.right = timestamp
        for place in met:
            pair.left = line.times[place]
            results = self._call(line.values[place], value, pair)
            self._gather(emitted, results, pair.left > timestamp)
        return emitted

    def _gather(self, emitted: list[Any], results: Emitted, stamped: bool) -> None:
        """Adds what a pair gave. `stamped`: the other element is the later one, so results need its timestamp."""
        pair = self._pair
        if stamped:
            stamp = pair.get_timestamp()
            emitted += [Stamped(result, stamp) for result in results or ()]
            emitted += [Stamped(sent, stamp) for sent in pair.sent]
        else:
            if results is not None:
                emitted += results
            if pair.sent:
                emitted += pair.sent
        if pair.sent:
            pair.sent = []

    def _refuse(self, value: Any, timestamp: int, side: Side) -> Emitted:
        if timestamp == NO_TIMESTAMP:
            raise TimeError(
                "ELEMENT_WITHOUT_TIMESTAMP",
                "An element without a timestamp came to an interval join. Call assign_timestamps_and_watermarks with a "
                "timestamp assigner on both streams before they are joined.",
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
    """Refuses bounds that no pair can lie between."""
    if lower > upper:
        raise PlanError(
            "JOIN_BOUNDS",
            f"An interval join has a lower bound of {lower} ms and an upper bound of {upper} ms; the lower one "
            "must not be greater. Both are relative to the left element: between(lower, upper).",
        )
