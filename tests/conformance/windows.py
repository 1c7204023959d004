"""Windows as cases tell of them: assigners, triggers and evictors, by fields or in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimeWindow,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tests.conformance.case import NotRunnableError

Told = dict[str, Any]
_UNITS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
}
_LENGTH = r"(-?\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hours?)\b"


class PointSessions(EventTimeSessionWindows):
    """Sessions in which an element with the value 33 has no length."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + (0 if element[1] == 33 else self.gap))]


# -- by fields


def assigner_of(told: Told) -> WindowAssigner[Any, Any]:
    """The assigner of `{"type": "tumbling", "size": 3000, "time": "event"}` and its like."""
    kind, by_event = told["type"], told.get("time", "event") == "event"
    offset = told.get("offset", 0)
    match kind:
        case "tumbling":
            return (TumblingEventTimeWindows if by_event else TumblingProcessingTimeWindows)(told["size"], offset)
        case "sliding":
            of = SlidingEventTimeWindows if by_event else SlidingProcessingTimeWindows
            return of(told["size"], told["slide"], offset)
        case "session":
            return _session(told, by_event)
        case "global":
            return GlobalWindows.create()
        case "count" | "count_tumbling":
            return CountTumblingWindowAssigner(told.get("size") or told["count"])
        case "sliding_count" | "count_sliding":
            return CountSlidingWindowAssigner(told["size"], told["slide"])
    raise NotRunnableError(f"an assigner of type {kind!r} is not known")


def _session(told: Told, by_event: bool) -> WindowAssigner[Any, Any]:
    gap = _field(told, "gap", "dynamic_gap", "gaps")
    if told.get("point"):
        return PointSessions(gap)
    if isinstance(gap, int):
        return (EventTimeSessionWindows if by_event else ProcessingTimeSessionWindows)(gap)
    return (DynamicEventTimeSessionWindows if by_event else DynamicProcessingTimeSessionWindows)(_GapOf(gap))


class _GapOf:
    """A gap by key, and by value of a key: {"key1": 3000, "key2": {"10": 1000, "default": 2000}}; or a field's value."""

    def __init__(self, told: Any) -> None:
        if not isinstance(told, (dict, str)):
            raise NotRunnableError(f"the gap {told!r} is not understood")
        field = re.search(r"\bf(?:ield )?(\d)", told) if isinstance(told, str) else None
        if isinstance(told, str) and field is None and "value" not in told:
            raise NotRunnableError(f"the gap {told!r} is not understood")
        self._field = int(field[1]) if field else 1
        self._told = told

    def __call__(self, element: Any) -> int:
        if isinstance(self._told, str):
            return int(element[self._field])
        found: Any = self._told.get(str(element[0]), self._told.get("default", 0))
        if isinstance(found, dict):
            found = found.get(str(element[1]), found.get("default", 0))
        return int(found)


def _field(told: Told, *names: str) -> Any:
    """The field of a setting, under one of its names."""
    for name in names:
        if name in told:
            return told[name]
    raise NotRunnableError(f"{told} has none of the fields {names}")


def trigger_of(told: Told | None) -> Trigger[Any, Any] | None:
    """The trigger of `{"type": "count", "count": 4, "purging": true}` and its like; None: the assigner's own."""
    if told is None or told["type"] in ("default", None):
        return None
    trigger = _trigger(told)
    return PurgingTrigger.of(trigger) if told.get("purging") else trigger


def _trigger(told: Told) -> Trigger[Any, Any]:
    match told["type"]:
        case "event_time":
            return EventTimeTrigger.create()
        case "processing_time":
            return ProcessingTimeTrigger.create()
        case "count":
            return CountTrigger.of(told["count"])
        case "end_of_stream":
            return EndOfStreamTrigger()
        case "never":
            return NeverTrigger()
        case "continuous_event_time":
            return ContinuousEventTimeTrigger.of(told["interval"])
        case "continuous_processing_time":
            return ContinuousProcessingTimeTrigger.of(told["interval"])
        case "delta":
            return DeltaTrigger.of(told["threshold"], _delta(told.get("delta", "element.value - last.value")))
        case "purging":
            return PurgingTrigger.of(_nested(told))
        case "processing_time_timeout" | "processing_timeout" | "timeout":
            wait = _field(told, "timeout", "interval", "ms")
            reset = bool(told.get("reset_timer_on_new_record", told.get("reset", False)))
            clear = bool(told.get("should_clear_on_timeout", told.get("clear", True)))
            return ProcessingTimeoutTrigger.of(_nested(told), wait, reset, clear)
    raise NotRunnableError(f"a trigger of type {told['type']!r} is not known")


def _nested(told: Told) -> Trigger[Any, Any]:
    nested = trigger_of(told.get("nested") or told.get("trigger") or told.get("inner"))
    if nested is None:
        raise NotRunnableError(f"the trigger {told} does not tell what is inside")
    return nested


def evictor_of(told: Told | None) -> Evictor | None:
    """The evictor of `{"type": "count", "n": 4, "after": true}` and its like."""
    if told is None:
        return None
    after = bool(told.get("after", False))
    match told["type"]:
        case "count":
            return CountEvictor.of(_field(told, "n", "count", "max_count"), after)
        case "time":
            return TimeEvictor.of(_field(told, "ms", "size", "window_size"), after)
        case "delta":
            return DeltaEvictor.of(told["threshold"], _delta(told.get("delta", "last.value - element.value")), after)
    raise NotRunnableError(f"an evictor of type {told['type']!r} is not known")


class _Delta:
    """The difference of the elements' numbers, new minus old or the other way round; `absolute`: without its sign."""

    def __init__(self, sign: int, absolute: bool) -> None:
        self._sign = sign
        self._absolute = absolute

    def __call__(self, old: Any, new: Any) -> float:
        delta = float(self._sign * (new[1] - old[1]))
        return abs(delta) if self._absolute else delta


def _delta(told: str) -> Callable[[Any, Any], float]:
    """`last` of an evictor is the newest element; of a trigger it is the older one, and `element` the newer."""
    said = told.replace(" ", "")
    newer_first = ("last.value-element.value", "new.value-old.value", "new-old")
    absolute = said.startswith(("abs(", "|"))
    said = said.removeprefix("abs(").strip("|)")
    if said in newer_first:
        return _Delta(1, absolute)
    if said in ("element.value-last.value", "old.value-new.value", "old-new"):
        return _Delta(-1, absolute)
    raise NotRunnableError(f"the delta {told!r} is not understood")


# -- in words


def lengths_in(words: str) -> list[int]:
    """The lengths of time that words name, in milliseconds."""
    found = re.findall(_LENGTH, words.lower())
    return [int(float(number) * _UNITS[unit.rstrip("s") if len(unit) > 2 else unit]) for number, unit in found]


def assigner_in(words: str) -> WindowAssigner[Any, Any]:
    """The assigner of "sliding event time 5 ms / 2 ms" and its like."""
    said = words.lower()
    by_event = "processing" not in said
    lengths = lengths_in(said.partition("offset")[0])
    offset = (lengths_in(said.partition("offset")[2]) or [0])[0]
    if "count" in said and "global" not in said:
        numbers = [int(n) for n in re.findall(r"\d+", said)]
        return CountSlidingWindowAssigner(*numbers[:2]) if len(numbers) > 1 else CountTumblingWindowAssigner(numbers[0])
    if "global" in said:
        return GlobalWindows.create()
    if "session" in said:
        if lengths:
            return _session({"gap": lengths[0]}, by_event)
        return _session({"gap": said.partition("gap")[2]}, by_event)
    if "slid" in said or "hop" in said:
        return (SlidingEventTimeWindows if by_event else SlidingProcessingTimeWindows)(lengths[0], lengths[1], offset)
    if "tumbl" in said:
        return (TumblingEventTimeWindows if by_event else TumblingProcessingTimeWindows)(lengths[0], offset)
    raise NotRunnableError(f'the window "{words}" is not understood')


def trigger_in(words: str) -> Trigger[Any, Any]:
    """The trigger of "purging(count 2)" and its like."""
    said = words.lower().strip()
    if nested := re.fullmatch(r"purging[ _]?(?:trigger)?\s*(?:\(|of )(.*?)\)?", said):
        return PurgingTrigger.of(trigger_in(nested[1]))
    lengths = lengths_in(said)
    if "count" in said:
        return CountTrigger.of(int(re.findall(r"\d+", said)[0]))
    if "continuous" in said:
        of = ContinuousProcessingTimeTrigger if "processing" in said else ContinuousEventTimeTrigger
        return of.of(lengths[0])
    if "event" in said:
        return EventTimeTrigger.create()
    if "processing" in said:
        return ProcessingTimeTrigger.create()
    if "never" in said:
        return NeverTrigger()
    raise NotRunnableError(f'the trigger "{words}" is not understood')
