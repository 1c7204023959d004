"""Window assigners, triggers and windows: their attributes and their argument checks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PlanError, TimeError
from penstock.time import MAX_WATERMARK, Duration, Time
from penstock.windows import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)


class FixedClock(WindowAssigner.WindowAssignerContext):
    def get_current_processing_time(self) -> int:
        return 25

    def get_runtime_context(self) -> Any:
        return None


@dataclass(frozen=True)
class LengthAsGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return len(element)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: TumblingEventTimeWindows.of(0), "WINDOW_SIZE"),
        (lambda: TumblingProcessingTimeWindows.of(Duration.of_seconds(-1)), "WINDOW_SIZE"),
        (lambda: TumblingEventTimeWindows.of(10, 10), "WINDOW_OFFSET"),
        (lambda: TumblingEventTimeWindows.of(10, -10), "WINDOW_OFFSET"),
        (lambda: SlidingEventTimeWindows.of(0, 5), "WINDOW_SIZE"),
        (lambda: SlidingEventTimeWindows.of(10, 0), "WINDOW_SIZE"),
        (lambda: SlidingProcessingTimeWindows.of(10, 5, 5), "WINDOW_OFFSET"),
        (lambda: EventTimeSessionWindows.with_gap(0), "SESSION_GAP"),
        (lambda: ProcessingTimeSessionWindows.with_gap(-3), "SESSION_GAP"),
        (lambda: CountTrigger.of(0), "TRIGGER_COUNT"),
        (lambda: ContinuousEventTimeTrigger.of(0), "TRIGGER_INTERVAL"),
    ],
)
def test_invalid_sizes_are_rejected(make: Callable[[], Any], code: str) -> None:
    with pytest.raises(PlanError, match=code) as raised:
        make()
    assert raised.value.text.count(".") >= 2  # what was found and what to do


@pytest.mark.parametrize("size", [10_000, Duration.of_seconds(10), Time.seconds(10), timedelta(seconds=10)])
def test_times_of_different_types(size: Any) -> None:
    assert TumblingEventTimeWindows.of(size) == TumblingEventTimeWindows(10_000)
    assert SlidingEventTimeWindows.of(size, size, 5).grid() == (10_000, 5)
    assert EventTimeSessionWindows.with_gap(size).gap == 10_000
    assert ContinuousEventTimeTrigger.of(size).interval == 10_000


@pytest.mark.parametrize(
    ("assigner", "windows"),
    [
        (TumblingEventTimeWindows.of(10), [(10, 20)]),
        (TumblingEventTimeWindows.of(10, 3), [(3, 13)]),
        (TumblingEventTimeWindows.of(10, -3), [(7, 17)]),
        (SlidingEventTimeWindows.of(10, 5), [(10, 20), (5, 15)]),
        (SlidingEventTimeWindows.of(10, 5, 1), [(11, 21), (6, 16)]),
        (SlidingEventTimeWindows.of(3, 10), [(10, 13)]),
        (EventTimeSessionWindows.with_gap(4), [(12, 16)]),
        (EventTimeSessionWindows.with_dynamic_gap(LengthAsGap()), [(12, 14)]),
        (TumblingProcessingTimeWindows.of(10), [(20, 30)]),
        (SlidingProcessingTimeWindows.of(10, 10), [(20, 30)]),
        (ProcessingTimeSessionWindows.with_gap(4), [(25, 29)]),
        (ProcessingTimeSessionWindows.with_dynamic_gap(len), [(25, 27)]),
    ],
)
def test_windows_of_an_element(assigner: WindowAssigner[Any, Any], windows: list[tuple[int, int]]) -> None:
    assigned = assigner.assign_windows("ab", 12, FixedClock())
    assert [w.namespace() for w in assigned] == windows
    event_time = "Event" in type(assigner).__name__
    assert assigner.is_event_time() is event_time
    assert assigner.get_default_trigger(None) == (EventTimeTrigger() if event_time else ProcessingTimeTrigger())
    assert pickle.loads(pickle.dumps(assigner)) == assigner


def test_a_dynamic_gap_must_be_positive() -> None:
    with pytest.raises(TimeError, match="SESSION_GAP"):
        EventTimeSessionWindows.with_dynamic_gap(len).assign_windows("", 1, FixedClock())


def test_descriptions_are_compared_by_value() -> None:
    assert TumblingEventTimeWindows.of(10) == TumblingEventTimeWindows.of(10)
    processing_time: Any = TumblingProcessingTimeWindows.of(10)
    assert TumblingEventTimeWindows.of(10) != processing_time
    assert PurgingTrigger.of(CountTrigger.of(2)) == PurgingTrigger.of(CountTrigger.of(2))
    assert repr(TumblingEventTimeWindows.of(10)) == "TumblingEventTimeWindows(size=10, offset=0)"
    with pytest.raises(AttributeError):
        TumblingEventTimeWindows.of(10).size = 3  # type: ignore[misc]


def test_the_global_window_never_ends() -> None:
    [window] = GlobalWindows.create().assign_windows("a", 1, FixedClock())
    assert window == GlobalWindow.get()
    assert window.max_timestamp() == MAX_WATERMARK
    assert window.namespace() == ()


@given(
    time=st.integers(-(10**15), 10**15), size=st.integers(1, 10**6), slide=st.integers(1, 10**4), shift=st.integers()
)
def test_sliding_windows_contain_their_time_and_lie_on_the_grid(time: int, size: int, slide: int, shift: int) -> None:
    size = min(size, slide * 50)
    assigner = SlidingEventTimeWindows.of(size, slide, shift % slide)
    grid = assigner.grid()
    assert grid is not None
    width, offset = grid
    windows = assigner.assign_windows("a", time, FixedClock())
    assert all(w.start <= time < w.end and w.end - w.start == size for w in windows)
    assert all((w.start - assigner.offset) % slide == 0 for w in windows)
    assert len(windows) in (size // slide, -(-size // slide))
    start = time - (time - offset) % width
    assert assigner.assign_windows("a", start, FixedClock()) == windows
    assert assigner.assign_windows("a", start + width - 1, FixedClock()) == windows


class CustomWindow(Window):
    """A custom window, written as in PyFlink."""

    def __init__(self, number: int) -> None:
        self.number = number

    def max_timestamp(self) -> int:
        return self.number


def test_the_namespace_of_a_custom_window_has_its_fields() -> None:
    assert CustomWindow(7).namespace() == (7,)


class RecordMerges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.merges: list[tuple[list[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Any, merge_result: TimeWindow) -> None:
        self.merges.append((list(to_be_merged), merge_result))


def test_windows_that_touch_are_merged() -> None:
    callback = RecordMerges()
    windows = [TimeWindow(20, 25), TimeWindow(5, 9), TimeWindow(1, 5), TimeWindow(24, 30), TimeWindow(11, 12)]
    EventTimeSessionWindows.with_gap(5).merge_windows(windows, callback)
    assert callback.merges == [
        ([TimeWindow(1, 5), TimeWindow(5, 9)], TimeWindow(1, 9)),
        ([TimeWindow(20, 25), TimeWindow(24, 30)], TimeWindow(20, 30)),
    ]
