"""Elements that functions emit: separate from the function's own objects, and never split into keys or characters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pytest

import penstock as ps
from penstock import AsyncDataStream, StreamExecutionEnvironment
from penstock.cep import CEP, Pattern
from penstock.errors import PenstockError
from penstock.functions import DEAD_LETTERS
from penstock.testing import Harness, PushSource
from penstock.windows import SlidingEventTimeWindows, Trigger, TriggerResult, TumblingEventTimeWindows

BY_TIME = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value["at"])


class Order(msgspec.Struct):
    number: int


class Line(NamedTuple):
    number: int
    text: str


@dataclass
class Item:
    number: int


def harness_of(build: Callable[[Any], Any], reuse: bool = False, **settings: Any) -> tuple[Harness, Any]:
    env = StreamExecutionEnvironment()
    if reuse:
        env.get_config().enable_object_reuse()
    stream = build(env.from_source(PushSource()))
    harness = Harness(env, **settings)
    return harness, harness.collect(stream)


# -- single values instead of iterables


class Returning(ps.KeyedProcessFunction, ps.FlatMapFunction, ps.AllWindowFunction):  # one class for several methods
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result

    def flat_map(self, value: Any) -> Any:
        return self.result

    def apply(self, *arguments: Any) -> Any:
        return self.result


class ReturningWithoutKeys(ps.ProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result


class ProcessedWindow(ps.ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return {"a": 1}


class ReturningFromWindow(ps.WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return "text"


class OnTimer(ps.KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value["at"])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return {"at": timestamp}


class Joined(ps.KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return {"left": value}

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return "right"


class CoFlat(ps.CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return {"left": value}

    def flat_map2(self, value: Any) -> Any:
        return None


class Rules(ps.KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return {"value": value}

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return "text"


class OnlyRules(Rules):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return None


class AsyncDict(ps.AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> Any:
        return {"value": value}


STATE = ps.MapStateDescriptor("rules", ps.Types.STRING(), ps.Types.STRING())


def by_key(stream: Any) -> Any:
    return stream.assign_timestamps_and_watermarks(BY_TIME).key_by(lambda value: value["k"])


def windows(stream: Any) -> Any:
    return by_key(stream).window(TumblingEventTimeWindows.of(ps.Duration.of_millis(10)))


def self_joined(stream: Any) -> Any:
    return by_key(stream).interval_join(by_key(stream)).between(ps.Duration.of_millis(-5), ps.Duration.of_millis(5))


def co_grouped(stream: Any) -> Any:
    timed = stream.assign_timestamps_and_watermarks(BY_TIME)
    grouped = timed.co_group(timed).where(lambda v: v["k"]).equal_to(lambda v: v["k"])
    return grouped.window(TumblingEventTimeWindows.of(ps.Duration.of_millis(10)))


def joined(stream: Any) -> Any:
    timed = stream.assign_timestamps_and_watermarks(BY_TIME)
    pairs = timed.join(timed).where(lambda v: v["k"]).equal_to(lambda v: v["k"])
    return pairs.window(TumblingEventTimeWindows.of(ps.Duration.of_millis(10)))


def matches(stream: Any) -> Any:
    return CEP.pattern(by_key(stream), Pattern.begin("a"))


CALLS: dict[str, Callable[[Any], Any]] = {
    "flat_map of a function": lambda s: s.flat_map(lambda value: {"a": 1}),
    "flat_map of a class": lambda s: s.flat_map(Returning("text")),
    "flat_map of a keyed stream": lambda s: by_key(s).flat_map(lambda value: {"a": 1}),
    "process without keys": lambda s: s.process(ReturningWithoutKeys({"a": 1})),
    "process with keys": lambda s: by_key(s).process(Returning("text")),
    "on_timer": lambda s: by_key(s).process(OnTimer()),
    "co-process": lambda s: by_key(s).connect(by_key(s)).process(Joined()),
    "co-flat-map": lambda s: s.connect(s).flat_map(CoFlat()),
    "broadcast, element": lambda s: by_key(s).connect(s.broadcast(STATE)).process(Rules()),
    "broadcast, broadcast element": lambda s: by_key(s).connect(s.broadcast(STATE)).process(OnlyRules()),
    "window process": lambda s: windows(s).process(ProcessedWindow()),
    "window apply": lambda s: windows(s).apply(ReturningFromWindow()),
    "all-window apply": lambda s: (
        s.assign_timestamps_and_watermarks(BY_TIME)
        .window_all(TumblingEventTimeWindows.of(ps.Duration.of_millis(10)))
        .apply(Returning({"a": 1}))
    ),
    "interval join": lambda s: self_joined(s).process(lambda a, b, ctx: {"a": a, "b": b}),
    "co-group": lambda s: co_grouped(s).apply(lambda a, b: {"a": a}),
    "flat_select": lambda s: matches(s).flat_select(lambda match: {"a": match}),
    "async": lambda s: AsyncDataStream.unordered_wait(s, AsyncDict(), ps.Time.seconds(1)),
}


def _push_and_end(harness: Harness) -> None:
    harness.push({"k": "x", "at": 1})
    harness.end()


@pytest.mark.parametrize("call", CALLS)
def test_a_single_value_in_place_of_an_iterable_is_rejected(call: str) -> None:
    harness, _ = harness_of(CALLS[call])

    with pytest.raises(PenstockError, match=r"return") as raised:
        _push_and_end(harness)

    assert raised.value.code == ("ASYNC_RESULT" if call == "async" else "FUNCTION_RESULT")
    assert "operator '" in str(raised.value)


@pytest.mark.parametrize(
    "result",
    [{"a": 1}, {}, "text", "", b"x", bytearray(b"x"), ps.Row(a=1), Order(1), Line(1, "a"), Item(1), 5, 0, False, 1.5],
    ids=repr,
)
def test_which_values_are_no_iterables_of_elements(result: Any) -> None:
    harness, _ = harness_of(lambda stream: stream.flat_map(Returning(result)))

    with pytest.raises(
        PenstockError, match=r"\[FUNCTION_RESULT\] The function returned one value of type .*`yield value`"
    ):
        harness.push(1)


@pytest.mark.parametrize("result", [[1, 2], (1, 2), {1, 2}, range(1, 3), {1: "a", 2: "b"}.keys(), None, []], ids=repr)
def test_iterables_of_elements(result: Any) -> None:
    harness, out = harness_of(lambda stream: stream.flat_map(lambda _: result))

    harness.push(0)

    assert sorted(out) == sorted(result or ())


def test_a_tagged_pair_that_is_returned_is_rejected() -> None:
    late = ps.OutputTag("late")
    harness, _ = harness_of(lambda stream: stream.process(ReturningWithoutKeys((late, 5))))

    with pytest.raises(PenstockError, match=r"FUNCTION_RESULT.*two elements.*yield tag, value"):
        harness.push(1)


def test_an_async_function_where_a_plain_one_is_called() -> None:
    async def double(value: int) -> list[int]:
        return [value, value]

    harness, _ = harness_of(lambda stream: stream.flat_map(double))

    with pytest.raises(PenstockError, match=r"FUNCTION_RESULT.*AsyncDataStream"):
        harness.push(1)


def test_wrong_results_can_be_dead_letters() -> None:
    env = StreamExecutionEnvironment()
    words = env.from_source(PushSource()).flat_map(lambda text: text if text == "b" else [text], on_error="dead_letter")
    harness = Harness(env)
    out, dead = harness.collect(words), harness.collect(words.get_side_output(DEAD_LETTERS))

    harness.push("a")
    harness.push("b")

    assert out == ["a"]
    assert [letter.element for letter in dead] == ["b"]
    assert "returned one value of type str" in dead[0].message


# -- elements that change after they were emitted


def growing(value: Any) -> Iterator[Any]:
    items: list[Any] = []
    for item in (value, value + 1):
        items.append(item)
        yield items


class Keeping(ps.KeyedProcessFunction, ps.MapFunction, ps.FlatMapFunction):
    """Emits its own list again and again."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.items: list[Any] = []

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for _ in range(2):
            self.items.append(value)
            yield self.items

    def map(self, value: Any) -> Any:
        self.items.append(value)
        return self.items

    def flat_map(self, value: Any) -> Any:
        self.items.append(value)
        return [self.items]


class KeepingWithoutKeys(ps.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        return growing(value)


class KeepingWindow(ps.ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        return growing(1)


class KeepingAsync(ps.AsyncFunction[Any, Any]):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.items: list[Any] = []

    async def async_invoke(self, value: Any) -> list[Any]:
        self.items.append(value)
        await asyncio.sleep(0)
        return [self.items]


EMITTING: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "flat_map of a generator": (lambda s: s.flat_map(growing), [[1], [1, 2], [2], [2, 3]]),
    "guarded": (lambda s: s.flat_map(growing, on_error="dead_letter"), [[1], [1, 2], [2], [2, 3]]),
    "map": (lambda s: s.map(Keeping()), [[1], [1, 2]]),
    "flat_map": (lambda s: s.flat_map(Keeping()), [[1], [1, 2]]),
    "keyed process": (lambda s: s.key_by(lambda v: 0).process(Keeping()), [[1], [1, 1], [1, 1, 2], [1, 1, 2, 2]]),
    "keyed, guarded": (
        lambda s: s.key_by(lambda v: 0).process(Keeping(), on_error="dead_letter"),
        [[1], [1, 1], [1, 1, 2], [1, 1, 2, 2]],
    ),
    "keyed map": (lambda s: s.key_by(lambda v: 0).map(Keeping()), [[1], [1, 2]]),
    "process": (lambda s: s.process(KeepingWithoutKeys()), [[1], [1, 2], [2], [2, 3]]),
    "count window": (lambda s: s.key_by(lambda v: 0).count_window(2).process(KeepingWindow()), [[1], [1, 2]]),
}


@pytest.mark.parametrize("name", EMITTING)
def test_a_list_that_changes_after_it_was_emitted(name: str) -> None:
    build, expected = EMITTING[name]
    harness, out = harness_of(build)

    with harness.batch():
        harness.push_all([1, 2])

    assert out == expected


def test_results_that_an_asynchronous_function_returns_again() -> None:
    def build(stream: Any) -> Any:
        return AsyncDataStream.ordered_wait(stream, KeepingAsync(), ps.Time.seconds(5), 1).map(_append_zero)

    harness, out = harness_of(build)

    with harness.batch():
        harness.push_all([1, 2])

    assert [items[-1] for items in out] == [0, 0]
    assert [items[:-1].count(0) for items in out] == [0, 0]


def test_values_sent_to_the_side_output_of_an_interval_join() -> None:
    tag: ps.OutputTag[Any] = ps.OutputTag("pairs")

    def send_twice(left: Any, right: Any, ctx: Any) -> None:
        items = [1]
        ctx.output(tag, items)
        items.append(2)
        ctx.output(tag, items)

    env = StreamExecutionEnvironment()
    result = self_joined(env.from_source(PushSource())).process(send_twice)
    harness = Harness(env)
    out = harness.collect(result.get_side_output(tag))

    harness.push({"k": "x", "at": 1})

    assert out == [[1], [1, 2]]


def test_object_reuse_turns_copies_off() -> None:
    harness, out = harness_of(lambda s: s.flat_map(growing), reuse=True)

    with harness.batch():
        harness.push_all([1])

    assert out == [[1, 2], [1, 2]]


# -- elements that several branches read


def _append_zero(items: list[int]) -> list[int]:
    items.append(0)
    return items


def _append_nine(items: list[int]) -> list[int]:
    items.append(9)
    return items


@pytest.mark.parametrize("reuse", [False, True])
def test_a_branch_that_changes_elements_does_not_change_other_branches(reuse: bool) -> None:
    env = StreamExecutionEnvironment()
    if reuse:
        env.get_config().enable_object_reuse()
    source = env.from_source(PushSource()).map(list)
    zero, nine, same = source.map(_append_zero), source.map(_append_nine), source.filter(lambda items: True)
    keyed = source.key_by(len).process(Returning([7]))
    harness = Harness(env)
    outs = [harness.collect(stream) for stream in (zero, nine, same, keyed)]

    harness.push((1,))

    if reuse:
        assert outs[2] == [[1, 0, 9]]
    else:
        assert outs == [[[1, 0]], [[1, 9]], [[1]], [7]]


def test_branches_after_an_operator() -> None:
    env = StreamExecutionEnvironment()
    lists = env.from_source(PushSource()).key_by(lambda v: v).process(Returning([[1]]))
    zero, nine = lists.map(_append_zero), lists.map(_append_nine)
    harness = Harness(env)
    outs = [harness.collect(zero), harness.collect(nine)]

    harness.push(1)
    harness.push(2)

    assert outs == [[[1, 0], [1, 0]], [[1, 9], [1, 9]]]


def test_an_element_that_is_emitted_twice() -> None:
    harness, out = harness_of(lambda s: s.map(list).flat_map(lambda v: [v, v]).map(_append_zero))

    harness.push((1,))

    assert out == [[1, 0], [1, 0]]


def test_a_collection_that_contains_an_object_twice() -> None:
    env = StreamExecutionEnvironment()
    row = [1]
    out_stream = env.from_collection([row, row]).map(_append_zero)
    harness = Harness(env)
    out = harness.collect(out_stream)

    harness.run()

    assert out == [[1, 0], [1, 0]]


def _add_up(total: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    total["n"] += value["n"]
    return total


@pytest.mark.parametrize("together", [True, False])
def test_a_reduce_function_that_changes_the_first_element_of_sliding_windows(together: bool) -> None:
    sliding = SlidingEventTimeWindows.of(ps.Duration.of_millis(20), ps.Duration.of_millis(10))
    harness, out = harness_of(lambda s: by_key(s).window(sliding).reduce(_add_up))
    values = [{"k": "x", "at": 10 + i, "n": 1} for i in range(3)]

    if together:
        with harness.batch():
            harness.push_all(values)
    else:
        for value in values:
            harness.push(value)
    harness.end()

    assert [value["n"] for value in out] == [3, 3]


# -- triggers


class SilentTrigger(Trigger[Any, Any]):
    """Forgets to return a result."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return None  # type: ignore[return-value]

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        """Has no state."""


@pytest.mark.parametrize("purging", [False, True])
def test_a_trigger_that_returns_none(purging: bool) -> None:
    trigger = ps.windows.PurgingTrigger.of(SilentTrigger()) if purging else SilentTrigger()
    harness, _ = harness_of(lambda s: windows(s).trigger(trigger).reduce(max))

    with pytest.raises(PenstockError, match=r"\[TRIGGER_RESULT\] SilentTrigger returned None.*TriggerResult.CONTINUE"):
        harness.push({"k": "x", "at": 1})
