"""The functions of generated programs. They put everything that they observe into the text of the elements they emit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.cep import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.functions import (
    AggregateFunction,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    TaggedUnion,
    TimeDomain,
    WindowFunction,
)
from penstock.functions.window_function import AllWindowFunction, ProcessAllWindowFunction
from penstock.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.time import MAX_WATERMARK, MIN_WATERMARK, WatermarkGenerator, WatermarkOutput
from tests.system.invariance import changes
from tests.system.invariance.payloads import PAYLOADS, show
from tests.system.invariance.program import Async, Broadcast, CoProcess, KeyBy, StateSpec, TimerSpec, Window
from tests.system.invariance.states import StateTable, change, describe

Element = tuple[str, int, str]  # key, number, text

SIDE, LATE, TIMEOUT = OutputTag[Any]("side"), OutputTag[Any]("late"), OutputTag[Any]("timeout")
LEFT, RIGHT = OutputTag[Any]("left"), OutputTag[Any]("right")
TAGS = {tag.tag_id: tag for tag in (SIDE, LATE, TIMEOUT, LEFT, RIGHT)}


class ExpectedError(Exception):
    """Raised for elements that become dead letters."""


def fail(element: Element, fails: int) -> None:
    fail_at(element[1], fails)


def fail_at(number: int, fails: int) -> None:
    if fails and number % fails == 0:
        raise ExpectedError(f"{number}")


def mark_text(watermark: int) -> str:
    return {MIN_WATERMARK: "MIN", MAX_WATERMARK: "MAX"}.get(watermark, str(watermark))


class KeyOf:
    """Selects the key of an element."""

    def __init__(self, by: KeyBy) -> None:
        self._by = by

    def __call__(self, element: Element) -> Any:
        match self._by:
            case "key":
                return element[0]
            case "number":
                return element[1] % 2
        return element[0], element[1] % 2


class EveryThird(WatermarkGenerator):
    """Emits a watermark after each number that is a multiple of 3."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[1] % 3 == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emits nothing, because the period is the batch."""


# -- without keys


class Add:
    def __init__(self, add: int, fails: int) -> None:
        self._add = add
        self._fails = fails

    @changes.function
    def __call__(self, element: Element) -> Element:
        fail(element, self._fails)
        return element[0], element[1] + self._add, "+"


class Keep:
    def __init__(self, remainder: int, inverted: bool, modulo: int) -> None:
        self._remainder = remainder
        self._inverted = inverted
        self._modulo = modulo

    def __call__(self, element: Element) -> bool:
        return (element[1] % self._modulo == self._remainder) != self._inverted


class Repeat:
    @changes.generator
    def __call__(self, element: Element) -> Iterable[Element]:
        return [(element[0], element[1] + n, f"copy {n}") for n in range(element[1] % 3)]


class SubtaskOf:
    """Selects the subtask of a key."""

    def __call__(self, key: Any, subtasks: int) -> int:
        return sum(map(ord, str(key))) % subtasks


class FailingKeyOf:
    def __init__(self, fails: int) -> None:
        self._fails = fails

    def __call__(self, element: Element) -> str:
        fail(element, self._fails)
        return element[0]


class AgainError(Exception):
    """Raised by calls that are retried."""


class Call(AsyncFunction[Any, Any]):
    """With retries, the first calls for an element raise AgainError or have no results."""

    def __init__(self, spec: Async) -> None:
        self._spec = spec
        self._attempts: dict[Any, int] = {}  # by the task, which makes all calls for an element one after the other

    async def async_invoke(self, value: Element) -> Iterable[Element]:
        for _ in range(3 - value[1] % 3):
            await asyncio.sleep(0)
        if self._spec.retries and not self._succeeds(value):
            if self._spec.retries_results:
                return []
            raise AgainError(f"{value[1]}")
        fail(value, self._spec.fails)
        results: Iterable[Element] = self._results(value)
        return results

    def _succeeds(self, value: Element) -> bool:
        task = asyncio.current_task()
        attempts = self._attempts.pop(task, 0) + 1
        if attempts <= min(value[1] % 3, self._spec.retries):
            self._attempts[task] = attempts
        return attempts > value[1] % 3

    @changes.generator
    def _results(self, value: Element) -> Iterable[Element]:
        return [(value[0], value[1] + 1, "called")]


class IsAgain:
    def __call__(self, error: Exception) -> bool:
        return isinstance(error, AgainError)


class IsEmpty:
    def __call__(self, results: list[Any]) -> bool:
        return not results


class SeparateOdd(ProcessFunction):
    @changes.generator
    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        result = value[0], value[1], f"at {ctx.timestamp()}"
        yield (SIDE, result) if value[1] % 2 else result


# -- with keys


class StatesAndTimers:
    """The common part of functions with states and timers."""

    def __init__(self, states: tuple[StateSpec, ...], timers: tuple[TimerSpec, ...], ordered: bool = True) -> None:
        self._states = StateTable(states)
        self._timers = timers
        self._ordered = ordered  # whether the watermark is shown

    def open(self, runtime_context: Any) -> None:
        self._states.open(runtime_context)

    def element(self, value: Element, ctx: Any) -> str:
        """Changes states and timers. Returns a text with all that can be observed."""
        timers, at = ctx.timer_service(), ctx.timestamp()
        for timer in self._timers:
            if timer.domain == "event" and at is not None:
                _register(timers.register_event_time_timer, timers.delete_event_time_timer, timer, at, value[1])
            elif timer.domain == "processing":
                now = timers.current_processing_time()
                _register(
                    timers.register_processing_time_timer, timers.delete_processing_time_timer, timer, now, value[1]
                )
        mark = f"~{mark_text(timers.current_watermark())}" if self._ordered else ""
        return f"{value[1]}@{at}{mark} {self._states.change(value[1])}"

    def timer(self, timestamp: int, ctx: Any) -> str:
        timers, by_event = ctx.timer_service(), ctx.time_domain() == TimeDomain.EVENT_TIME
        for timer in self._timers:
            if (timer.domain == "event") == by_event and timer.after > 0 and timestamp < timer.until:
                if by_event:
                    timers.register_event_time_timer(timestamp + timer.after)
                else:  # a multiple of 10 later, so that it is never due when it is registered (time-rules 3.6)
                    timers.register_processing_time_timer(timestamp + timer.after // 10 * 10)
        time = "event" if by_event else "processing"
        return f"{time} timer {timestamp}~{mark_text(timers.current_watermark())} {self._states.change(timestamp)}"


def _register(register: Any, delete: Any, timer: TimerSpec, base: int, number: int) -> None:
    if timer.delete and number % 3 == 0:
        delete(base + timer.after)
    else:
        register(base + timer.after)


class ShowStates(KeyedProcessFunction):
    def __init__(self, common: StatesAndTimers, fails: int, side: bool) -> None:
        self._common = common
        self._fails = fails
        self._side = side

    def open(self, runtime_context: Any) -> None:
        self._common.open(runtime_context)

    @changes.generator
    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        result = str(ctx.get_current_key()), value[1], self._common.element(value, ctx)
        fail(value, self._fails)  # its changes must be undone
        yield (SIDE, result) if self._side and value[1] % 2 else result

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), timestamp, self._common.timer(timestamp, ctx)
        fail_at(timestamp, self._fails)


class ShowInputs(KeyedCoProcessFunction):
    def __init__(self, common: StatesAndTimers, fails: int) -> None:
        self._common = common
        self._fails = fails

    def open(self, runtime_context: Any) -> None:
        self._common.open(runtime_context)

    @changes.generator
    def process_element1(self, value: Element, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), value[1], "first " + self._common.element(value, ctx)
        fail(value, self._fails)

    @changes.generator
    def process_element2(self, value: Element, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), value[1], "second " + self._common.element(value, ctx)
        fail(value, self._fails)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), timestamp, self._common.timer(timestamp, ctx)


class _WithStates:
    """The common part of functions of one element with keyed states."""

    def __init__(self, states: tuple[StateSpec, ...], fails: int) -> None:
        self._states = StateTable(states)
        self._fails = fails

    def open(self, runtime_context: Any) -> None:
        self._states.open(runtime_context)

    def _changed(self, value: Element) -> str:
        text = self._states.change(value[1])
        fail(value, self._fails)  # its changes must be undone
        return text


class MapStates(_WithStates, MapFunction[Any, Any]):
    @changes.function
    def map(self, value: Element) -> Element:
        return value[0], value[1], self._changed(value)


class FlatMapStates(_WithStates, FlatMapFunction[Any, Any]):
    @changes.generator
    def flat_map(self, value: Element) -> Iterable[Element]:
        text = self._changed(value)
        return [(value[0], value[1] + n, text) for n in range(value[1] % 3)]


class FilterStates(_WithStates, FilterFunction[Any]):
    """Keeps elements whose states, as a text, have an even length."""

    def filter(self, value: Element) -> bool:
        return len(self._changed(value)) % 2 == 0


class MapInputs(_WithStates, CoMapFunction[Any, Any, Any]):
    @changes.function
    def map1(self, value: Element) -> Element:
        return value[0], value[1], "first " + self._changed(value)

    @changes.function
    def map2(self, value: Element) -> Element:
        return value[0], value[1], "second " + self._changed(value)


class FlatMapInputs(_WithStates, CoFlatMapFunction[Any, Any, Any]):
    @changes.generator
    def flat_map1(self, value: Element) -> Iterable[Element]:
        text = self._changed(value)
        return [(value[0], value[1] + n, f"first {text}") for n in range(value[1] % 3)]

    @changes.generator
    def flat_map2(self, value: Element) -> Iterable[Element]:
        return [(value[0], value[1], f"second {self._changed(value)}")]


class Total:
    @changes.function
    def __call__(self, one: Element, other: Element) -> Element:
        return one[0], one[1] + other[1], f"{one[2]}+{other[1]}"[-60:]


class EmitSorted(KeyedProcessFunction):
    """Collects elements, and emits those before a timer when it fires."""

    def __init__(self, kind: str, every: int) -> None:
        self._kind = kind
        self._every = every

    def open(self, runtime_context: Any) -> None:
        if self._kind == "list":
            self._buffer = runtime_context.get_list_state(ListStateDescriptor("buffer"))
        else:
            self._buffer = runtime_context.get_map_state(MapStateDescriptor("buffer", int, list))

    @changes.generator
    def process_element(self, value: Element, ctx: Any) -> None:
        at = ctx.timestamp()
        ctx.timer_service().register_event_time_timer(at - at % self._every + self._every - 1)
        if self._kind == "list":
            self._buffer.add((at, value))
        else:
            self._buffer[at] = [*(self._buffer[at] or []), list(value)]

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self._kind == "list":
            elements = list(self._buffer)
            due = sorted(element for element in elements if element[0] <= timestamp)
            self._buffer.update([element for element in elements if element[0] > timestamp])
        else:
            due = sorted((at, sorted(value)) for at, value in self._buffer.items() if at <= timestamp)
            for at, _ in due:
                self._buffer.remove(at)
        yield str(ctx.get_current_key()), len(due), show(due)


# -- windows


class TotalAndCount(AggregateFunction[Any, Any, Any]):
    """The accumulator is a list, which is changed in place."""

    def create_accumulator(self) -> Any:
        return [0, 0]

    @changes.function
    def add(self, value: Element, accumulator: Any) -> Any:
        accumulator[0] += value[1]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return "", accumulator[0], f"{accumulator[1]} elements"

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


def elements_text(elements: Iterable[Element], ordered: bool) -> tuple[int, str]:
    """Returns the sum of the numbers, and a text of the elements."""
    found = list(elements) if ordered else sorted(elements)
    return sum(e[1] for e in found), show(found)


def fails_or_skips(total: int, spec: Window) -> bool:
    """Returns whether a function must emit nothing. Raises ExpectedError if it must fail."""
    if spec.skips:
        return total % spec.fails == 0
    fail_at(total, spec.fails)
    return False


def window_text(window: Any) -> str:
    return f"[{window.start},{window.end})" if hasattr(window, "end") else type(window).__name__


_FIRINGS = ValueStateDescriptor("firings", int)


class ProcessWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def __init__(self, ordered: bool, spec: Window) -> None:
        self._ordered = ordered
        self._spec = spec

    @changes.generator
    def process(self, key: Any, context: Any, elements: Iterable[Element]) -> Iterator[Any]:
        total, text = elements_text(elements, self._ordered)
        if self._spec.skips and fails_or_skips(total, self._spec):
            return
        states = StateTable(self._spec.states)
        states.open(context.global_state())
        seen = states.change(total)
        if self._spec.window_state:
            firings = context.window_state().get_state(_FIRINGS)
            firings.update((firings.value() or 0) + 1)
            seen += f" {firings.value()}"
        fails_or_skips(total, self._spec)  # its changes must be undone
        mark = mark_text(context.current_watermark()) if self._ordered else ""
        yield str(key), total, f"{window_text(context.window())} {text} {seen} {mark}"

    def clear(self, context: Any) -> None:
        if self._spec.window_state:
            context.window_state().get_state(_FIRINGS).clear()


class ApplyWindow(WindowFunction[Any, Any, Any, Any]):
    def __init__(self, ordered: bool, spec: Window) -> None:
        self._ordered = ordered
        self._spec = spec

    @changes.generator
    def apply(self, key: Any, window: Any, inputs: Iterable[Element]) -> Iterator[Any]:
        total, text = elements_text(inputs, self._ordered)
        if fails_or_skips(total, self._spec):
            return
        yield str(key), total, f"{window_text(window)} {text}"


class ProcessAllWindow(ProcessAllWindowFunction[Any, Any, Any]):
    def __init__(self, ordered: bool, spec: Window) -> None:
        self._ordered = ordered
        self._spec = spec

    @changes.generator
    def process(self, context: Any, elements: Iterable[Element]) -> Iterator[Any]:
        total, text = elements_text(elements, self._ordered)
        if fails_or_skips(total, self._spec):
            return
        yield "all", total, f"{window_text(context.window())} {text}"


class ApplyAllWindow(AllWindowFunction[Any, Any, Any]):
    def __init__(self, ordered: bool, spec: Window) -> None:
        self._ordered = ordered
        self._spec = spec

    @changes.generator
    def apply(self, window: Any, inputs: Iterable[Element]) -> Iterator[Any]:
        total, text = elements_text(inputs, self._ordered)
        if fails_or_skips(total, self._spec):
            return
        yield "all", total, f"{window_text(window)} {text}"


class Sum:
    """Reduces windows to the sum of the numbers, independent of their order."""

    @changes.reduce_function
    def __call__(self, one: Element, other: Element) -> Element:
        return min(one[0], other[0]), one[1] + other[1], "sum"


class NumberDifference:
    def __call__(self, old: Element, new: Element) -> float:
        return abs(new[1] - old[1])


class GapOf:
    def __init__(self, gap: int) -> None:
        self._gap = gap

    def __call__(self, element: Any) -> int:
        number = element.value[1] if isinstance(element, TaggedUnion) else element[1]
        return self._gap * (1 + int(number) % 3)


# -- joins and broadcast


class ShowPair(ProcessJoinFunction[Any, Any, Any]):
    def __init__(self, fails: int) -> None:
        self._fails = fails

    @changes.generator
    def process_element(self, left: Element, right: Element, ctx: Any) -> Iterator[Any]:
        text = f"{left}@{ctx.get_left_timestamp()} {right}@{ctx.get_right_timestamp()} {ctx.get_timestamp()}"
        fail_at(left[1] - right[1], self._fails)
        yield left[0], left[1] - right[1], text


class JoinPair:
    @changes.function
    def __call__(self, first: Element, second: Element) -> Element:
        return first[0], first[1] - second[1], f"{first} {second}"


class JoinFlat(FlatJoinFunction[Any, Any, Any]):
    @changes.generator
    def join(self, first: Element, second: Element) -> Iterable[Element]:
        difference = first[1] - second[1]
        return [(first[0], difference + n, f"{first} {second}") for n in range(2) if difference % 2 == 0]


class MapBoth(CoMapFunction[Any, Any, Any]):
    @changes.function
    def map1(self, value: Element) -> Element:
        return value[0], value[1], "first"

    @changes.function
    def map2(self, value: Element) -> Element:
        return value[0], value[1], "second"


class ProcessBoth(CoProcessFunction[Any, Any, Any]):
    def __init__(self, spec: CoProcess) -> None:
        self._spec = spec

    @changes.generator
    def process_element1(self, value: Element, ctx: Any) -> Iterator[Any]:
        yield value[0], value[1], f"first at {ctx.timestamp()}"
        fail(value, self._spec.fails)

    @changes.generator
    def process_element2(self, value: Element, ctx: Any) -> Iterator[Any]:
        result = value[0], value[1], f"second at {ctx.timestamp()}"
        yield (SIDE, result) if self._spec.side and value[1] % 2 else result
        fail(value, self._spec.fails)


class FlatMapBoth(CoFlatMapFunction[Any, Any, Any]):
    @changes.generator
    def flat_map1(self, value: Element) -> Iterable[Element]:
        return [(value[0], value[1] + n, f"first {n}") for n in range(value[1] % 3)]

    @changes.generator
    def flat_map2(self, value: Element) -> Iterable[Element]:
        return [(value[0], value[1], "second")] if value[1] % 2 else []


class ShowGroups(CoGroupFunction[Any, Any, Any]):
    def __init__(self, by: KeyBy, ordered: bool, fails: int) -> None:
        self._key_of = KeyOf(by)
        self._ordered = ordered
        self._fails = fails

    @changes.generator
    def co_group(self, first: Iterable[Element], second: Iterable[Element]) -> Iterator[Any]:
        one, two = list(first), list(second)
        (total, text), (other_total, other_text) = (elements_text(group, self._ordered) for group in (one, two))
        fail_at(total - other_total, self._fails)
        yield str(self._key_of([*one, *two][0])), total - other_total, f"{text} {other_text}"


class _Rules:
    """Broadcast state of a function: the last number of each key of the broadcast elements."""

    def __init__(self, spec: Broadcast) -> None:
        self.descriptor = rules_descriptor(spec)
        self._payload = PAYLOADS[spec.payload]

    def change(self, value: Element, ctx: Any) -> str:
        state = ctx.get_broadcast_state(self.descriptor)
        if value[1] % 5 == 4 and state.contains(value[0]):
            state.remove(value[0])
        else:
            state.put(value[0], self._payload.make(value[1]))
        return self.read(ctx)

    def read(self, ctx: Any) -> str:
        return show(list(ctx.get_broadcast_state(self.descriptor).items()))


def rules_descriptor(spec: Broadcast) -> MapStateDescriptor[Any, Any]:
    payload = PAYLOADS[spec.payload]
    return MapStateDescriptor("rules", str if spec.declared else None, payload.declared if spec.declared else None)


class ShowRules(BroadcastProcessFunction[Any, Any, Any]):
    def __init__(self, spec: Broadcast) -> None:
        self._rules = _Rules(spec)

    @changes.generator
    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        yield value[0], value[1], f"{self._rules.read(ctx)}@{ctx.timestamp()}~{mark_text(ctx.current_watermark())}"

    @changes.generator
    def process_broadcast_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        yield value[0], value[1], f"rule {self._rules.change(value, ctx)}"


class ShowKeyedRules(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def __init__(self, spec: Broadcast) -> None:
        self._rules = _Rules(spec)
        self._spec = spec
        self._common = StatesAndTimers(spec.states, spec.timers)

    def open(self, runtime_context: Any) -> None:
        self._common.open(runtime_context)

    @changes.generator
    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), value[1], f"{self._rules.read(ctx)} {self._common.element(value, ctx)}"
        fail(value, self._spec.fails)

    @changes.generator
    def process_broadcast_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        if self._spec.apply and self._spec.states and value[1] % 3 == 0:
            spec = self._spec.states[0]
            ctx.apply_to_keyed_state(describe(spec, "state0"), lambda key, state: change(spec, state, value[1]))
            self._rules.change(value, ctx)
        else:
            yield "rule", value[1], self._rules.change(value, ctx)
        fail(value, self._spec.fails)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), timestamp, f"{self._rules.read(ctx)} {self._common.timer(timestamp, ctx)}"


# -- patterns


class HasRemainder:
    def __init__(self, remainder: int, fails: int = 0) -> None:
        self._remainder = remainder
        self._fails = fails

    def __call__(self, element: Element) -> bool:
        fail(element, self._fails)
        return element[1] % 3 == self._remainder


class IsMultiple:
    def __init__(self, of: int) -> None:
        self._of = of

    def __call__(self, element: Element) -> bool:
        return element[1] % self._of == 0


class IsLarger:
    """Whether the number is larger than the last one of a step."""

    def __init__(self, step: str) -> None:
        self._step = step

    def __call__(self, element: Element, ctx: Any) -> bool:
        earlier = ctx.get_events_for_pattern(self._step)
        return not earlier or element[1] > earlier[-1][1]


def match_text(match: Any, ctx: Any) -> str:
    return f"{show({name: [e[:2] for e in events] for name, events in match.items()})}@{ctx.timestamp()}"


class ShowMatch(PatternProcessFunction[Any, Any]):
    def __init__(self, fails: int) -> None:
        self._fails = fails

    @changes.generator
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        last = [event for events in match.values() for event in events][-1]
        fail(last, self._fails)
        yield last[0], last[1], match_text(match, ctx)


class ShowMatchAndTimeout(ShowMatch, TimedOutPartialMatchHandler[Any]):
    @changes.generator
    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        first = next(event for events in match.values() for event in events)
        yield TIMEOUT, (first[0], first[1], match_text(match, ctx))
