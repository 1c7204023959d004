"""The API of windows, with and without keys."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.scripted import At
from penstock.datastream import AllWindowedStream, DataStream, WindowedStream
from penstock.errors import PlanError
from penstock.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowContext,
    WindowFunction,
)
from penstock.functions.named_aggregates import NamedAggregates, count, sum_of
from penstock.row import Row
from penstock.testing import Harness
from penstock.windows import (
    CountTrigger,
    CountWindow,
    EventTimeSessionWindows,
    EventTimeTrigger,
    NeverTrigger,
    TimeWindow,
    TumblingEventTimeWindows,
)
from tests.unit.datastream.words import Total, Word, added, keyed, words

TEN = TumblingEventTimeWindows.of(ps.Duration.of_millis(10))
LATE: ps.OutputTag[Word] = ps.OutputTag("late")
INPUT = [At(("a", 1), 1), At(("b", 2), 2), At(("a", 4), 5), At(("a", 8), 12)]


def run(stream: DataStream[Any], items: list[Any] = INPUT) -> list[Any]:
    harness = Harness(stream.get_execution_environment())
    out = harness.collect(stream)
    harness.push_all(items)
    harness.end()
    return out.take()


class Add(ps.ReduceFunction[Word]):
    def reduce(self, value1: Word, value2: Word) -> Word:
        return added(value1, value2)


class Shown(WindowFunction[Any, str, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[str]:
        return [f"{key}[{window.start},{window.end})={list(inputs)}"]


class CollectWindow(ProcessWindowFunction[Any, str, str, TimeWindow]):
    def process(self, key: str, context: WindowContext[TimeWindow], elements: Iterable[Any]) -> Iterable[str]:
        window = context.window()
        yield f"{key}[{window.start},{window.end})={list(elements)}@{context.current_watermark()}"


class AllShown(AllWindowFunction[Any, str, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[str]:
        yield f"[{window.start},{window.end})={list(inputs)}"


class AllTold(ProcessAllWindowFunction[Any, str, TimeWindow]):
    def process(self, context: WindowContext[TimeWindow], elements: Iterable[Any]) -> Iterable[str]:
        window = context.window()
        seen = context.global_state().get_state(ps.ValueStateDescriptor("seen", int))
        seen.update((seen.value() or 0) + 1)
        yield f"{seen.value()}: [{window.start},{window.end})={list(elements)}@{context.current_watermark()}"


# -- functions


@pytest.mark.parametrize("reduce", [added, Add()])
def test_reduce(reduce: Any) -> None:
    assert run(keyed().window(TEN).reduce(reduce)) == [("a", 5), ("b", 2), ("a", 8)]


def test_reduce_and_a_window_function() -> None:
    assert run(keyed().window(TEN).reduce(added, Shown())) == [
        "a[0,10)=[('a', 5)]",
        "b[0,10)=[('b', 2)]",
        "a[10,20)=[('a', 8)]",
    ]
    results = run(keyed().window(TEN).reduce(Add(), CollectWindow(), ps.Types.STRING()))
    assert results == ["a[0,10)=[('a', 5)]@9", "b[0,10)=[('b', 2)]@9", "a[10,20)=[('a', 8)]@19"]


def test_aggregate() -> None:
    assert run(keyed().window(TEN).aggregate(Total())) == [5, 2, 8]
    declared = keyed().window(TEN).aggregate(Total(), accumulator_type=ps.Types.LONG(), output_type=ps.Types.LONG())
    assert run(declared) == [5, 2, 8]


def test_aggregate_and_a_window_function() -> None:
    assert run(keyed().window(TEN).aggregate(Total(), Shown(), ps.Types.LONG(), ps.Types.STRING())) == [
        "a[0,10)=[5]",
        "b[0,10)=[2]",
        "a[10,20)=[8]",
    ]
    assert run(keyed().window(TEN).aggregate(Total(), window_function=CollectWindow()))[0] == "a[0,10)=[5]@9"


def test_apply_and_process_see_all_elements() -> None:
    assert run(keyed().window(TEN).apply(Shown()))[0] == "a[0,10)=[('a', 1), ('a', 4)]"
    assert run(keyed().window(TEN).process(CollectWindow()))[0] == "a[0,10)=[('a', 1), ('a', 4)]@9"


def test_windows_of_a_stream_without_keys() -> None:
    assert run(words().window_all(TEN).reduce(added)) == [("a", 7), ("a", 8)]
    assert run(words().window_all(TEN).reduce(added, AllShown())) == ["[0,10)=[('a', 7)]", "[10,20)=[('a', 8)]"]
    assert run(words().window_all(TEN).aggregate(Total())) == [7, 8]
    assert run(words().window_all(TEN).aggregate(Total(), AllTold())) == ["1: [0,10)=[7]@9", "2: [10,20)=[8]@19"]
    assert run(words().window_all(TEN).apply(AllShown()))[1] == "[10,20)=[('a', 8)]"
    assert run(words().window_all(TEN).process(AllTold()))[0] == "1: [0,10)=[('a', 1), ('b', 2), ('a', 4)]@9"


def test_windows_of_a_stream_without_keys_have_one_subtask() -> None:
    stream = words().window_all(TEN).reduce(added)
    assert stream._node.parallelism == 1


def test_count_windows() -> None:
    items = [("a", n) for n in range(7)] + [("b", 9)]
    assert run(keyed().count_window(3).reduce(added), items) == [("a", 0 + 1 + 2), ("a", 3 + 4 + 5)]
    assert run(keyed().count_window(3, 2).reduce(added), items) == [
        ("a", 0 + 1 + 2),
        ("a", 2 + 3 + 4),
        ("a", 4 + 5 + 6),
    ]
    assert run(keyed().count_window(1, 3).reduce(added), items) == [("a", 0), ("a", 3), ("a", 6), ("b", 9)]
    assert run(words().count_window_all(4).aggregate(Total()), items) == [0 + 1 + 2 + 3, 4 + 5 + 6 + 9]
    assert run(words().count_window_all(4, 2).aggregate(Total()), items) == [6, 14, 24]


def test_count_windows_remove_state_after_firing() -> None:
    class Numbered(WindowFunction[Word, int, str, CountWindow]):
        def apply(self, key: str, window: CountWindow, inputs: Iterable[Word]) -> Iterable[int]:
            return [window.id]

    stream = keyed().count_window(2).apply(Numbered())
    harness = Harness(stream.get_execution_environment(), parallelism=1)
    out = harness.collect(stream)
    harness.push_all([("a", n) for n in range(1000)])
    assert out == list(range(500))
    assert len(harness.snapshot()) < 2_000


# -- settings


def test_a_setting_counts_whether_or_not_its_result_is_used() -> None:
    windows = keyed().window(TEN)
    assert windows.trigger(CountTrigger.of(1)) is windows
    assert run(windows.reduce(added)) == [("a", 1), ("b", 2), ("a", 5), ("a", 8)]


@pytest.mark.parametrize("lateness", [5, ps.Duration.of_millis(5), timedelta(milliseconds=5), ps.Time.milliseconds(5)])
def test_allowed_lateness_and_late_side_output(lateness: Any) -> None:
    windows = keyed().window(TEN).allowed_lateness(lateness).side_output_late_data(LATE)
    stream = windows.reduce(added)
    harness = Harness(stream.get_execution_environment())
    out, late = harness.collect(stream), harness.collect(stream.get_side_output(LATE))
    harness.push(("a", 1), 1)
    harness.push_watermark(13)
    harness.push(("a", 2), 2)
    harness.push_watermark(14)
    harness.push(("a", 4), 3)
    assert (out, late, harness.late_records()) == ([("a", 1), ("a", 3)], [("a", 4)], 0)


def test_late_elements_without_a_side_output_are_counted() -> None:
    stream = keyed().window(TEN).reduce(added)
    harness = Harness(stream.get_execution_environment())
    harness.push_watermark(9)
    harness.push(("a", 4), 3)
    assert harness.late_records() == 1


def test_a_windowed_stream_has_a_description() -> None:
    stream = keyed()
    assert stream.window(TEN).get_execution_environment() is stream.get_execution_environment()
    numbers = ps.StreamExecutionEnvironment().from_collection([1], ps.Types.INT())
    assert numbers.key_by(lambda n: n).window(TEN).get_input_type() == ps.Types.INT()
    assert numbers.window_all(TEN).get_input_type() == ps.Types.INT()


def test_names_and_types_of_results() -> None:
    numbers = ps.StreamExecutionEnvironment().from_collection([1], ps.Types.INT())
    reduced = numbers.key_by(lambda n: n).window(TEN).reduce(max)
    assert reduced.get_name() == "TumblingEventTimeWindows"
    assert "EventTimeTrigger" in reduced._node.description
    assert reduced.get_type() == ps.Types.INT()
    assert keyed().window(TEN).aggregate(Total()).get_type().name == "int"
    assert keyed().window(TEN).aggregate(Total(), Shown()).get_type().name == "str"
    assert keyed().window(TEN).process(CollectWindow(), ps.Types.STRING()).get_type() == ps.Types.STRING()


# -- wrong arguments


def _refused(code: str, text: str) -> Any:
    return pytest.raises(PlanError, match=rf"\[{code}\].*{text}")


def test_settings_of_the_wrong_kind() -> None:
    with _refused("WINDOW_SETTING", r"window\(\) got a int; it takes a WindowAssigner"):
        keyed().window(10)  # type: ignore[arg-type]
    with _refused("WINDOW_SETTING", r"window\(\) got the class TumblingEventTimeWindows"):
        words().window_all(TumblingEventTimeWindows)  # type: ignore[arg-type]
    with _refused("WINDOW_SETTING", r"trigger\(\) got a NoneType"):
        keyed().window(TEN).trigger(None)  # type: ignore[arg-type]
    with _refused("WINDOW_SETTING", r"evictor\(\) got a CountTrigger"):
        keyed().window(TEN).evictor(CountTrigger.of(1))  # type: ignore[arg-type]
    with _refused("WINDOW_SETTING", r"side_output_late_data\(\) got a NoneType; it takes a OutputTag"):
        keyed().window(TEN).side_output_late_data(None)  # type: ignore[arg-type]


def test_functions_of_the_wrong_kind() -> None:
    with _refused("FUNCTION_TYPE", r"reduce\(\) got a NoneType"):
        keyed().window(TEN).reduce(None)  # type: ignore[call-overload]
    with _refused("FUNCTION_TYPE", r"reduce\(\) got a AllShown; it takes a WindowFunction or a ProcessWindowFunction"):
        keyed().window(TEN).reduce(added, AllShown())  # type: ignore[call-overload]
    with _refused("FUNCTION_TYPE", r"aggregate\(\) got a function"):
        keyed().window(TEN).aggregate(added)  # type: ignore[call-overload]
    with _refused("FUNCTION_TYPE", r"aggregate\(\) got a Shown; it takes a AllWindowFunction or"):
        words().window_all(TEN).aggregate(Total(), Shown())  # type: ignore[call-overload]
    with _refused("FUNCTION_TYPE", r"apply\(\) got a CollectWindow"):
        keyed().window(TEN).apply(CollectWindow())  # type: ignore[arg-type]
    with _refused("FUNCTION_TYPE", r"process\(\) got the class CollectWindow; .* create an object"):
        keyed().window(TEN).process(CollectWindow)  # type: ignore[arg-type]
    with _refused("FUNCTION_TYPE", r"process\(\) got a CollectWindow; it takes a ProcessAllWindowFunction"):
        words().window_all(TEN).process(CollectWindow())  # type: ignore[arg-type]


def test_a_negative_lateness() -> None:
    with _refused("ALLOWED_LATENESS", "-1 ms"):
        keyed().window(TEN).allowed_lateness(-1)


def test_merging_windows_want_a_trigger_that_merges() -> None:
    with _refused("TRIGGER_CANNOT_MERGE", "EventTimeSessionWindows merges windows, but NeverTrigger cannot"):
        keyed().window(EventTimeSessionWindows.with_gap(10)).trigger(NeverTrigger())

    class Endless(EventTimeSessionWindows):
        def get_default_trigger(self, env: Any = None) -> Any:
            return NeverTrigger()

    with _refused("TRIGGER_CANNOT_MERGE", "Endless merges windows"):
        keyed().window(Endless(10)).reduce(added)
    assert run(keyed().window(Endless(10)).trigger(EventTimeTrigger()).reduce(added)) == [("b", 2), ("a", 13)]


@pytest.mark.parametrize(("size", "slide"), [(0, 0), (-1, 0), (3, -1)])
def test_counts_that_are_none(size: int, slide: int) -> None:
    with _refused("WINDOW_COUNT", "must be positive"):
        keyed().count_window(size, slide)
    with _refused("WINDOW_COUNT", "must be positive"):
        words().count_window_all(size, slide)


def test_classes_are_public() -> None:
    assert isinstance(keyed().window(TEN), WindowedStream)
    assert isinstance(words().window_all(TEN), AllWindowedStream)


# -- side outputs and state of window functions

SMALL: ps.OutputTag[str] = ps.OutputTag("small")


class Sorted(ProcessWindowFunction[Word, Word, str, TimeWindow]):
    """Sends small numbers to a side output, and records cleared windows in the state of the key."""

    def process(
        self, key: str, context: WindowContext[TimeWindow], elements: Iterable[Word]
    ) -> Iterable[Word | tuple[ps.OutputTag[str], str]]:
        for _, number in elements:
            if number < 3:
                yield SMALL, f"{key}{number}"
            else:
                yield key, number + 100 * self._dropped(context, 0)

    def clear(self, context: WindowContext[TimeWindow]) -> None:
        self._dropped(context, 1)

    def _dropped(self, context: WindowContext[TimeWindow], more: int) -> int:
        state = context.global_state().get_state(ps.ValueStateDescriptor("dropped", int))
        state.update((state.value() or 0) + more)
        return state.value() or 0


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), CountTrigger.of(1)])
def test_side_outputs_and_clear_of_a_window_function(trigger: Any) -> None:
    stream = keyed().window(TEN).trigger(trigger).process(Sorted())
    harness = Harness(stream.get_execution_environment())
    out, small = harness.collect(stream), harness.collect(stream.get_side_output(SMALL))
    for item in INPUT:
        harness.push_all([item])
        harness.push_watermark(item.timestamp - 1)
    harness.end()
    if isinstance(trigger, EventTimeTrigger):
        assert (out, small) == ([("a", 4), ("a", 108)], ["a1", "b2"])
    else:
        assert (out, small) == ([("a", 4), ("a", 8)], ["a1", "b2", "a1"])
    assert [r.timestamp for r in (*out.records, *small.records)] == [9, 19, 9, 9, 9][: len(out) + len(small)]


@pytest.mark.parametrize(
    "build",
    [
        lambda windows: windows.count(),
        lambda windows: windows.avg(1),
        lambda windows: windows.aggregates(n=count(), total=sum_of(1)),
    ],
)
def test_results_with_the_bounds_of_count_windows_are_rejected(build: Any) -> None:
    with pytest.raises(PlanError, match="emits the start and the end of each window, but a CountWindow has none"):
        build(keyed().count_window(2))


def test_named_aggregates_of_count_windows() -> None:
    assert run(keyed().count_window(2).aggregate(NamedAggregates(n=count(), total=sum_of(1)))) == [Row(n=2, total=5)]
