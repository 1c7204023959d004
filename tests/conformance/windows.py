"""Window assigners, triggers and evictors of cases, which are specified as fields or as text."""

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

Spec = dict[str, Any]
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


# -- as fields


def assigner_of(spec: Spec) -> WindowAssigner[Any, Any]:
    """Returns the assigner of `{"type": "tumbling", "size": 3000, "time": "event"}` and similar."""
    kind, by_event = spec["type"], spec.get("time", "event") == "event"
    offset = spec.get("offset", 0)
    match kind:
        case "tumbling":
            return (TumblingEventTimeWindows if by_event else TumblingProcessingTimeWindows)(spec["size"], offset)
        case "sliding":
            of = SlidingEventTimeWindows if by_event else SlidingProcessingTimeWindows
            return of(spec["size"], spec["slide"], offset)
        case "session":
            return _session(spec, by_event)
        case "global":
            return GlobalWindows.create()
        case "count" | "count_tumbling":
            return CountTumblingWindowAssigner(spec.get("size") or spec["count"])
        case "sliding_count" | "count_sliding":
            return CountSlidingWindowAssigner(spec["size"], spec["slide"])
    raise NotRunnableError(f"an assigner of type {kind!r} is not known")


def _session(spec: Spec, by_event: bool) -> WindowAssigner[Any, Any]:
    gap = _field(spec, "gap", "dynamic_gap", "gaps")
    if spec.get("point"):
        return PointSessions(gap)
    if isinstance(gap, int):
        return (EventTimeSessionWindows if by_event else ProcessingTimeSessionWindows)(gap)
    return (DynamicEventTimeSessionWindows if by_event else DynamicProcessingTimeSessionWindows)(_GapOf(gap))


class _GapOf:
    """A gap by key, and by value of a key: {"key1": 3000, "key2": {"10": 1000, "default": 2000}}; or a field's value."""

    def __init__(self, spec: Any) -> None:
        if not isinstance(spec, (dict, str)):
            raise NotRunnableError(f"the gap {spec!r} is not understood")
        field = re.search(r"\bf(?:ield )?(\d)", spec) if isinstance(spec, str) else None
        if isinstance(spec, str) and field is None and "value" not in spec:
            raise NotRunnableError(f"the gap {spec!r} is not understood")
        self._field = int(field[1]) if field else 1
        self._spec = spec

    def __call__(self, element: Any) -> int:
        if isinstance(self._spec, str):
            return int(element[self._field])
        found: Any = self._spec.get(str(element[0]), self._spec.get("default", 0))
        if isinstance(found, dict):
            found = found.get(str(element[1]), found.get("default", 0))
        return int(found)


def _field(spec: Spec, *names: str) -> Any:
    """Returns the field of a setting, under one of its names."""
    for name in names:
        if name in spec:
            return spec[name]
    raise NotRunnableError(f"{spec} has none of the fields {names}")


def trigger_of(spec: Spec | None) -> Trigger[Any, Any] | None:
    """Returns the trigger of `{"type": "count", "count": 4, "purging": true}` and similar. None: the default trigger."""
    if spec is None or spec["type"] in ("default", None):
        return None
    trigger = _trigger(spec)
    return PurgingTrigger.of(trigger) if spec.get("purging") else trigger


def _trigger(spec: Spec) -> Trigger[Any, Any]:
    match spec["type"]:
        case "event_time":
            return EventTimeTrigger.create()
        case "processing_time":
            return ProcessingTimeTrigger.create()
        case "count":
            return CountTrigger.of(spec["count"])
        case "end_of_stream":
            return EndOfStreamTrigger()
        case "never":
            return NeverTrigger()
        case "continuous_event_time":
            return ContinuousEventTimeTrigger.of(spec["interval"])
        case "continuous_processing_time":
            return ContinuousProcessingTimeTrigger.of(spec["interval"])
        case "delta":
            return DeltaTrigger.of(spec["threshold"], _delta(spec.get("delta", "element.value - last.value")))
        case "purging":
            return PurgingTrigger.of(_nested(spec))
        case "processing_time_timeout" | "processing_timeout" | "timeout":
            wait = _field(spec, "timeout", "interval", "ms")
            reset = bool(spec.get("reset_timer_on_new_record", spec.get("reset", False)))
            clear = bool(spec.get("should_clear_on_timeout", spec.get("clear", True)))
            return ProcessingTimeoutTrigger.of(_nested(spec), wait, reset, clear)
    raise NotRunnableError(f"a trigger of type {spec['type']!r} is not known")


def _nested(spec: Spec) -> Trigger[Any, Any]:
    nested = trigger_of(spec.get("nested") or spec.get("trigger") or spec.get("inner"))
    if nested is None:
        raise NotRunnableError(f"the trigger {spec} has no nested trigger")
    return nested


def evictor_of(spec: Spec | None) -> Evictor | None:
    """Returns the evictor of `{"type": "count", "n": 4, "after": true}` and similar."""
    if spec is None:
        return None
    after = bool(spec.get("after", False))
    match spec["type"]:
        case "count":
            return CountEvictor.of(_field(spec, "n", "count", "max_count"), after)
        case "time":
            return TimeEvictor.of(_field(spec, "ms", "size", "window_size"), after)
        case "delta":
            return DeltaEvictor.of(spec["threshold"], _delta(spec.get("delta", "last.value - element.value")), after)
    raise NotRunnableError(f"an evictor of type {spec['type']!r} is not known")


class _Delta:
    """The difference of the elements' numbers, new minus old or the other way round; `absolute`: without its sign."""

    def __init__(self, sign: int, absolute: bool) -> None:
        self._sign = sign
        self._absolute = absolute

    def __call__(self, old: Any, new: Any) -> float:
        delta = float(self._sign * (new[1] - old[1]))
        return abs(delta) if self._absolute else delta


def _delta(spec: str) -> Callable[[Any, Any], float]:
    """`last` of an evictor is the newest element; of a trigger it is the older one, and `element` the newer."""
    text = spec.replace(" ", "")
    newer_first = ("last.value-element.value", "new.value-old.value", "new-old")
    absolute = text.startswith(("abs(", "|"))
    text = text.removeprefix("abs(").strip("|)")
    if text in newer_first:
        return _Delta(1, absolute)
    if text in ("element.value-last.value", "old.value-new.value", "old-new"):
        return _Delta(-1, absolute)
    raise NotRunnableError(f"the delta {spec!r} is not understood")


# -- as text


def lengths_in(words: str) -> list[int]:
    """Returns the durations in a text, in milliseconds."""
    found = re.findall(_LENGTH, words.lower())
    return [int(float(number) * _UNITS[unit.rstrip("s") if len(unit) > 2 else unit]) for number, unit in found]


def assigner_in(words: str) -> WindowAssigner[Any, Any]:
    """Returns the assigner of "sliding event time 5 ms / 2 ms" and similar."""
    text = words.lower()
    by_event = "processing" not in text
    lengths = lengths_in(text.partition("offset")[0])
    offset = (lengths_in(text.partition("offset")[2]) or [0])[0]
    if "count" in text and "global" not in text:
        numbers = [int(n) for n in re.findall(r"\d+", text)]
        return CountSlidingWindowAssigner(*numbers[:2]) if len(numbers) > 1 else CountTumblingWindowAssigner(numbers[0])
    if "global" in text:
        return GlobalWindows.create()
    if "session" in text:
        if lengths:
            return _session({"gap": lengths[0]}, by_event)
        return _session({"gap": text.partition("gap")[2]}, by_event)
    if "slid" in text or "hop" in text:
        return (SlidingEventTimeWindows if by_event else SlidingProcessingTimeWindows)(lengths[0], lengths[1], offset)
    if "tumbl" in text:
        return (TumblingEventTimeWindows if by_event else TumblingProcessingTimeWindows)(lengths[0], offset)
    raise NotRunnableError(f'the window "{words}" is not understood')


def trigger_in(words: str) -> Trigger[Any, Any]:
    """Returns the trigger of "purging(count 2)" and similar."""
    text = words.lower().strip()
    if nested := re.fullmatch(r"purging[ _]?(?:trigger)?\s*(?:\(|of )(.*?)\)?", text):
        return PurgingTrigger.of(trigger_in(nested[1]))
    lengths = lengths_in(text)
    if "count" in text:
        return CountTrigger.of(int(re.findall(r"\d+", text)[0]))
    if "continuous" in text:
        of = ContinuousProcessingTimeTrigger if "processing" in text else ContinuousEventTimeTrigger
        return of.of(lengths[0])
    if "event" in text:
        return EventTimeTrigger.create()
    if "processing" in text:
        return ProcessingTimeTrigger.create()
    if "never" in text:
        return NeverTrigger()
    raise NotRunnableError(f'the trigger "{words}" is not understood')
