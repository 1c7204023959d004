"""Window functions that raise: the reported error, and what happens to the window."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

import penstock as ps
from penstock.datastream import DataStream
from penstock.errors import PenstockError, PlanError, StateError, TimeError, UserFunctionError
from penstock.functions import DEAD_LETTERS, WindowContext
from penstock.testing import Harness, PushSource
from penstock.windows import (
    CountTrigger,
    CountWindow,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)

Word = tuple[str, int]
TEN = TumblingEventTimeWindows.of(10)


def keyed() -> ps.KeyedStream[Word, str]:
    words: DataStream[Word] = ps.StreamExecutionEnvironment().from_source(PushSource())
    return words.key_by(lambda word: word[0])


def added(a: Word, b: Word) -> Word:
    return a[0], a[1] + b[1]


class Halved(ps.ProcessWindowFunction[Word, float, str, TimeWindow]):
    """Divides by the sum, which may be 0."""

    def process(self, key: str, context: WindowContext[TimeWindow], elements: Iterable[Word]) -> Iterable[float]:
        yield 1 / sum(n for _, n in elements)


class Picky(ps.AggregateFunction[Word, int, int]):
    """Rejects negative numbers."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Word, accumulator: int) -> int:
        if value[1] < 0:
            raise ValueError("negative")
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def test_an_error_of_a_window_function_names_key_timer_and_location() -> None:
    stream = keyed().window(TEN).process(Halved()).name("halves")
    harness = Harness(stream.get_execution_environment())
    harness.push(("a", 0), 1)
    with pytest.raises(UserFunctionError) as raised:
        harness.push_watermark(9)
    message = str(raised.value)
    for part in ("'halves'", "ZeroDivisionError", "test_window_functions.py:", "key 'a'", "9"):
        assert part in message
    assert raised.value.failed is not None
    assert raised.value.failed.timer == 9


def test_an_error_of_an_aggregate_names_its_element() -> None:
    stream = keyed().window(TEN).aggregate(Picky())
    harness = Harness(stream.get_execution_environment())
    with pytest.raises(UserFunctionError, match=r"negative.*\('a', -1\)"):
        harness.push(("a", -1), 1)


ASSIGNERS = {
    "tumbling": TEN,
    "sliding": SlidingEventTimeWindows.of(10, 10),
    "sessions": EventTimeSessionWindows.with_gap(10),
}


@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize("windows", ASSIGNERS)
def test_a_failed_firing_is_a_dead_letter_and_its_window_still_ends(windows: str, lateness: int) -> None:
    settled = keyed().window(ASSIGNERS[windows]).allowed_lateness(lateness)
    stream = settled.process(Halved(), on_error="dead_letter")
    harness = Harness(stream.get_execution_environment())
    out, letters = harness.collect(stream), harness.collect(stream.get_side_output(DEAD_LETTERS))
    harness.push(("c", 1), 0)
    harness.push_watermark(50)
    empty = len(harness.snapshot())
    for key, number in (("a", 0), ("b", 4)):
        harness.push((key, number), 100)
    harness.push_watermark(150)
    assert out == [1.0, 0.25]
    assert [(letter.key, letter.timestamp, letter.error) for letter in letters] == [("a", 109, "ZeroDivisionError")]
    assert len(harness.snapshot()) <= empty + 40  # nothing is left of either window


@pytest.mark.parametrize("windows", ASSIGNERS)
def test_a_failed_window_still_accepts_late_elements(windows: str) -> None:
    stream = keyed().window(ASSIGNERS[windows]).allowed_lateness(5).process(Halved(), on_error="dead_letter")
    harness = Harness(stream.get_execution_environment())
    out, letters = harness.collect(stream), harness.collect(stream.get_side_output(DEAD_LETTERS))
    harness.push(("a", 0), 0)
    harness.push_watermark(9)
    harness.push(("a", 2), 0)
    assert (len(letters), out) == (1, [0.5])


def test_elements_for_which_an_aggregate_raises_become_dead_letters() -> None:
    stream = keyed().window(TEN).trigger(CountTrigger.of(2)).aggregate(Picky(), on_error="dead_letter")
    harness = Harness(stream.get_execution_environment())
    out, letters = harness.collect(stream), harness.collect(stream.get_side_output(DEAD_LETTERS))
    for number in (1, -1, 2):
        harness.push(("a", number), 1)
    assert out == [3]
    assert [letter.element for letter in letters] == [("a", -1)]


class OfWindow(ps.ProcessWindowFunction[Word, int, str, TimeWindow]):
    """Uses state per window."""

    def process(self, key: str, context: WindowContext[TimeWindow], elements: Iterable[Word]) -> Iterable[int]:
        fired = context.window_state().get_state(ps.ValueStateDescriptor("fired", int))
        fired.update((fired.value() or 0) + 1)
        yield fired.value() or 0

    def clear(self, context: WindowContext[TimeWindow]) -> None:
        context.window_state().get_state(ps.ValueStateDescriptor("fired", int)).clear()


def test_state_per_window_ends_with_its_window() -> None:
    stream = keyed().window(TEN).trigger(CountTrigger.of(1)).process(OfWindow())
    harness = Harness(stream.get_execution_environment())
    out = harness.collect(stream)
    for timestamp in (1, 2, 11, 3):
        harness.push(("a", 1), timestamp)
    assert out.take() == [1, 2, 1, 3]
    harness.push_watermark(25)
    after = len(harness.snapshot())
    harness.push(("a", 1), 31)
    harness.push_watermark(45)
    assert out.take() == [1]
    assert abs(len(harness.snapshot()) - after) < 10


def test_state_per_window_is_rejected_for_merging_windows() -> None:
    stream = keyed().window(EventTimeSessionWindows.with_gap(5)).process(OfWindow())
    harness = Harness(stream.get_execution_environment())
    harness.push(("a", 1), 1)
    with pytest.raises(StateError, match=r"\[STATE_OF_MERGING_WINDOW\].*global_state"):
        harness.push_watermark(20)


def test_an_element_without_a_timestamp_in_an_event_time_window() -> None:
    stream = keyed().window(TEN).reduce(added)
    harness = Harness(stream.get_execution_environment())
    with pytest.raises(TimeError, match=r"\[ELEMENT_WITHOUT_TIMESTAMP\].*assign_timestamps_and_watermarks"):
        harness.push(("a", 1))


# -- assigners and triggers of the user's own


class Odd(WindowAssigner[Any, Any]):
    """Assigns windows of an undeclared class."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[CountWindow]:
        return [CountWindow(timestamp)]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        return CountTrigger.of(1)

    def is_event_time(self) -> bool:
        return False


class Typed(Odd, WindowAssigner[Any, CountWindow]):
    """The same with a declared window class."""


class Raising(EventTimeTrigger):
    """Raises for elements with the number 13."""

    def on_element(self, element: Word, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if element[1] == 13:
            raise ValueError("thirteen")
        return TriggerResult.CONTINUE


def test_windows_of_an_unknown_class_are_rejected() -> None:
    stream = keyed().window(Odd()).reduce(added)
    with pytest.raises(
        PlanError, match=r"\[WINDOW_TYPE\].*CountWindow\(id=5\).*class Odd\(WindowAssigner\[..., CountWindow\]"
    ):
        Harness(stream.get_execution_environment()).push(("a", 1), 5)
    typed = keyed().window(Typed()).reduce(added)
    harness = Harness(typed.get_execution_environment())
    out = harness.collect(typed)
    harness.push(("a", 1), 5)
    assert out == [("a", 1)]


def test_an_error_of_a_trigger_names_its_element() -> None:
    stream = keyed().window(TEN).trigger(Raising()).reduce(added)
    with pytest.raises(UserFunctionError, match=r"thirteen.*\('a', 13\)"):
        Harness(stream.get_execution_environment()).push(("a", 13), 5)


# -- sizes, offsets, slides

WRONG: dict[str, tuple[Any, str]] = {
    "size zero": (lambda: TumblingEventTimeWindows.of(0), "WINDOW_SIZE"),
    "size negative": (lambda: TumblingProcessingTimeWindows.of(ps.Duration.of_millis(-1)), "WINDOW_SIZE"),
    "offset too large": (lambda: TumblingEventTimeWindows.of(10, 10), "WINDOW_OFFSET"),
    "offset too small": (lambda: TumblingEventTimeWindows.of(10, -10), "WINDOW_OFFSET"),
    "slide zero": (lambda: SlidingEventTimeWindows.of(10, 0), "WINDOW_SIZE"),
    "slide negative": (lambda: SlidingEventTimeWindows.of(10, -5), "WINDOW_SIZE"),
    "slide's offset": (lambda: SlidingEventTimeWindows.of(10, 5, 5), "WINDOW_OFFSET"),
    "gap zero": (lambda: EventTimeSessionWindows.with_gap(0), "SESSION_GAP"),
    "count zero": (lambda: CountTrigger.of(0), "TRIGGER_COUNT"),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_window_sizes_are_rejected_immediately(case: str) -> None:
    make, code = WRONG[case]
    with pytest.raises(PenstockError) as refused:
        make()
    assert refused.value.code == code


def test_a_slide_larger_than_the_size_leaves_gaps_as_in_flink() -> None:
    assert SlidingEventTimeWindows.of(5, 10).assign_windows("a", 7, None) == []
