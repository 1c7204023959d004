"""Joins the elements of two keyed streams whose timestamps lie in an interval of each other (time.md 4.3)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import Any

from penstock.errors import PlanError, TimeError
from penstock.functions import OutputTag
from penstock.runtime.lateness import cleanup_time, join_is_late
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.stamped import Stamped
from penstock.runtime.timers import Timer
from penstock.state import MapStateDescriptor
from penstock.time import MAX_WATERMARK, NO_TIMESTAMP
from penstock.types import TypeInformation, Types, type_information


class JoinContext:
    """The timestamps of the pair that a join function is given."""

    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = 0
        self.right = 0

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        """The result's timestamp: the later of the two."""
        return max(self.left, self.right)


class Side:
    """One stream's elements that may still meet others: lists by timestamp, and its timestamps in order."""

    def __init__(
        self, name: str, element_type: TypeInformation, reach: tuple[int, int], late_tag: OutputTag | None
    ) -> None:
        self.namespace = (name,)
        self.late_tag = late_tag
        self.reach = reach  # elements of the other side that meet one of this side lie so far from it
        self.lifetime = max(reach[1], 0)
        self._type = Types.LIST(element_type)
        self._buckets: Any = None
        self._cell: Any = None
        self._stamps: dict[Any, list[int]] = {}  # by key, of those met in this batch

    def open(self, context: OperatorContext) -> None:
        self._buckets = context.backend.handle(MapStateDescriptor(f"__{self.namespace[0]}__", int, self._type))
        self._cell = context.cell

    def begin_batch(self) -> None:
        self._stamps = {}

    def _known(self) -> list[int]:
        stamps = self._stamps.get(self._cell.at)
        if stamps is None:
            stamps = self._stamps[self._cell.at] = sorted(self._buckets.keys())
        return stamps

    def add(self, value: Any, timestamp: int) -> bool:
        """Keeps an element; says whether it is the first of its timestamp."""
        bucket = self._buckets.get(timestamp)
        fresh = bucket is None
        if fresh:
            bucket = []
            insort(self._known(), timestamp)
        bucket.append(value)
        self._buckets.put(timestamp, bucket)
        return fresh

    def remove(self, timestamp: int) -> None:
        self._buckets.remove(timestamp)
        stamps = self._stamps.get(self._cell.at)
        if stamps is not None:
            del stamps[bisect_left(stamps, timestamp)]

    def between(self, lower: int, upper: int) -> list[tuple[int, Any]]:
        """The elements with timestamps from lower to upper, both included, by time and arrival."""
        stamps = self._known()
        found = stamps[bisect_left(stamps, lower) : bisect_right(stamps, upper)]
        return [(stamp, value) for stamp in found for value in self._buckets.get(stamp)]


class IntervalJoinOperator:
    """Gives the function each pair with left + lower <= right <= left + upper (< where a bound is exclusive).

    The function has `process_element(left, right, ctx)`. A result's timestamp is the later one of its pair. Elements
    behind the watermark go to a late output, or are counted in `late_records`.

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
        if lower > upper:
            raise PlanError(
                "JOIN_BOUNDS",
                f"An interval join has a lower bound of {lower} ms and an upper bound of {upper} ms; the lower one "
                "must not be greater. Both are relative to the left element: between(lower, upper).",
            )
        self.late_records = 0
        self._function = function
        low = lower if lower_inclusive else lower + 1
        high = upper if upper_inclusive else upper - 1
        self._left = Side("left", type_information(left_type), (low, high), left_late_tag)
        self._right = Side("right", type_information(right_type), (-high, -low), right_late_tag)
        self._pair = JoinContext()

    def open(self, context: OperatorContext) -> None:
        self._left.open(context)
        self._right.open(context)
        if hasattr(self._function, "open"):
            self._function.open(context.runtime)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._function.close()

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        self._left.begin_batch()
        self._right.begin_batch()
        return self._left_element, self._right_element

    def _left_element(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if not self._takes(timestamp, context.watermark):
            return self._late(value, self._left)
        emitted: list[Any] = []
        for stamp, other in self._met(value, timestamp, self._left, self._right, context):
            emitted += self._join(value, other, timestamp, stamp, timestamp)
        return emitted or None

    def _right_element(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if not self._takes(timestamp, context.watermark):
            return self._late(value, self._right)
        emitted: list[Any] = []
        for stamp, other in self._met(value, timestamp, self._right, self._left, context):
            emitted += self._join(other, value, stamp, timestamp, timestamp)
        return emitted or None

    def _takes(self, timestamp: int, watermark: int) -> bool:
        if timestamp == NO_TIMESTAMP:
            raise TimeError(
                "ELEMENT_WITHOUT_TIMESTAMP",
                "An element without a timestamp came to an interval join. Call assign_timestamps_and_watermarks with a "
                "timestamp assigner on both streams before they are joined.",
            )
        return not join_is_late(timestamp, watermark)

    def _late(self, value: Any, side: Side) -> Emitted:
        if side.late_tag is not None:
            return ((side.late_tag, value),)
        self.late_records += 1
        return None

    def _met(
        self, value: Any, timestamp: int, mine: Side, other: Side, context: OperatorContext
    ) -> list[tuple[int, Any]]:
        if mine.add(value, timestamp):
            cleanup = cleanup_time(timestamp, mine.lifetime)
            if cleanup != MAX_WATERMARK:
                context.event_timers.register(cleanup, context.cell.at, mine.namespace, context.running_due)
        return other.between(timestamp + mine.reach[0], timestamp + mine.reach[1])

    def _join(self, left: Any, right: Any, left_stamp: int, right_stamp: int, own: int) -> list[Any]:
        self._pair.left, self._pair.right = left_stamp, right_stamp
        emitted = list(self._function.process_element(left, right, self._pair) or ())
        stamp = max(left_stamp, right_stamp)
        return emitted if stamp == own else [Stamped(value, stamp) for value in emitted]

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        side = self._left if timer.namespace == self._left.namespace else self._right
        side.remove(timer.time - side.lifetime)
        return None
