"""Random streams: the results of windows equal the oracle for all batch boundaries and kinds of contents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.windows.factory import window_operator
from penstock.runtime.windows.merging_operator import MergingWindowOperator
from penstock.runtime.windows.operator import WindowOperator
from penstock.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.example_numbers import examples
from tests.unit.runtime.windows.window_driver import (
    LATE,
    Batch,
    Driver,
    Event,
    FormatWindow,
    Mark,
    Total,
    format_emission,
)
from tests.unit.runtime.windows.window_oracle import Oracle

KEYS = "abc"


@st.composite
def streams(draw: Any, marks: bool = True, size: int = 25) -> list[Event | Mark]:
    """Events with mostly increasing timestamps, some of them late, and explicit watermarks in between."""
    events: list[Event | Mark] = []
    time = draw(st.integers(-20, 5))
    for _ in range(draw(st.integers(0, size))):
        time += draw(st.integers(0, 6))
        if marks and draw(st.integers(0, 5)) == 0:
            events.append(Mark(time - draw(st.integers(0, 8))))
        else:
            delay = draw(st.sampled_from([0, 0, 0, 1, 3, 8, 15, 30]))
            events.append(Event(draw(st.sampled_from(KEYS)), time - delay, draw(st.integers(1, 9))))
    return events


@st.composite
def cut(draw: Any, events: list[Event | Mark]) -> list[list[Event | Mark]]:
    indices = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    return [events[a:b] for a, b in zip([0, *indices], [*indices, len(events)], strict=True)]


@st.composite
def windows(draw: Any) -> tuple[str, tuple[int, ...], int, WindowAssigner[Any, Any]]:
    """The kind of a window, its sizes and offset, and its assigner."""
    kind = draw(st.sampled_from(["tumble", "slide", "session"]))
    size = draw(st.integers(1, 14))
    if kind == "session":
        return kind, (size,), 0, EventTimeSessionWindows.with_gap(size)
    if kind == "tumble":
        offset = draw(st.integers(1 - size, size - 1))
        return kind, (size,), offset, TumblingEventTimeWindows.of(size, offset)
    slide = draw(st.integers(1, 10))
    offset = draw(st.integers(1 - slide, slide - 1))
    return kind, (size, slide), offset, SlidingEventTimeWindows.of(size, slide, offset)


MakeOperator = Callable[..., WindowOperator]


def merging_operator(assigner: WindowAssigner[Any, Any], **settings: Any) -> WindowOperator:
    """Uses MergingWindowOperator for sessions. It moves timers with every merge."""
    if isinstance(assigner, EventTimeSessionWindows):
        return MergingWindowOperator(assigner, **settings)
    return window_operator(assigner, **settings)


def emitted(driver: Driver, batches: list[Batch]) -> list[list[tuple[str, int]]]:
    return [[(format_emission(r.value), r.timestamp) for r in results] for results in driver.run_all(batches)]


@pytest.mark.parametrize("make_operator", [window_operator, merging_operator])
@pytest.mark.parametrize("elements", [False, True], ids=["aggregated", "elements"])
@settings(max_examples=examples(50), deadline=None)
@given(
    window=windows(),
    lateness=st.integers(0, 12),
    delay=st.one_of(st.none(), st.integers(0, 6)),
    pieces=streams().flatmap(cut),
    mode=st.sampled_from(["default", "cached", "restarting"]),
)
def test_one_split_equals_the_oracle(
    make_operator: MakeOperator,
    elements: bool,
    window: tuple[str, tuple[int, ...], int, WindowAssigner[Any, Any]],
    lateness: int,
    delay: int | None,
    pieces: list[list[Event | Mark]],
    mode: str,
) -> None:
    kind, sizes, offset, assigner = window
    settings = {} if elements else {"aggregate": Total()}
    driver = Driver(
        lambda: make_operator(assigner, function=FormatWindow(), allowed_lateness=lateness, late_tag=LATE, **settings),
        delay=delay,
        restarting=mode == "restarting",
        cached=mode == "cached",
    )
    batches = [Batch({"s0": piece}) for piece in pieces] + [Batch(end=True)]
    oracle = Oracle(kind, sizes, lateness, offset, delay)
    assert emitted(driver, batches) == [oracle.run(batch) for batch in batches]
    assert driver.first.count_entries() == 0


@settings(max_examples=examples(60), deadline=None)
@given(
    window=windows(),
    lateness=st.integers(0, 8),
    delay=st.integers(0, 6),
    first=streams().flatmap(cut),
    second=streams().flatmap(cut),
)
def test_two_splits_equal_the_oracle(
    window: tuple[str, tuple[int, ...], int, WindowAssigner[Any, Any]],
    lateness: int,
    delay: int,
    first: list[list[Event | Mark]],
    second: list[list[Event | Mark]],
) -> None:
    kind, sizes, offset, assigner = window
    driver = Driver(
        lambda: window_operator(
            assigner, aggregate=Total(), function=FormatWindow(), allowed_lateness=lateness, late_tag=LATE
        ),
        delay=delay,
        splits=["s0", "s1"],
    )
    pairs = zip(first + [[]] * len(second), second + [[]] * len(first), strict=True)
    batches = [Batch({"s0": a, "s1": b}) for a, b in pairs] + [Batch(end=True)]
    oracle = Oracle(kind, sizes, lateness, offset, delay)
    oracle.marks = {"s0": -(2**63), "s1": -(2**63)}
    assert emitted(driver, batches) == [oracle.run(batch) for batch in batches]


@settings(max_examples=examples(50), deadline=None)
@given(stream=streams(marks=False), data=st.data(), lateness=st.integers(0, 6), session=st.booleans())
def test_batch_boundaries_do_not_affect_two_operators(
    stream: list[Event | Mark], data: st.DataObject, lateness: int, session: bool
) -> None:
    def run(pieces: list[list[Event | Mark]]) -> dict[str, list[tuple[str, int]]]:
        first = EventTimeSessionWindows.with_gap(4) if session else TumblingEventTimeWindows.of(10)
        driver = Driver(
            lambda: window_operator(first, aggregate=Total(), function=FormatWindow(), allowed_lateness=lateness),
            then=lambda: window_operator(TumblingEventTimeWindows.of(20), aggregate=Total(), function=FormatWindow()),
            delay=2,
        )
        out = emitted(driver, [Batch({"s0": piece}) for piece in pieces] + [Batch(end=True)])
        flat = [pair for batch in out for pair in batch]
        return {key: [pair for pair in flat if pair[0].startswith(key)] for key in KEYS}

    assert run(data.draw(cut(stream))) == run([stream])


@settings(max_examples=examples(50), deadline=None)
@given(
    stamps=st.lists(st.integers(-40, 60), max_size=12),
    data=st.data(),
    gap=st.integers(1, 12),
    session_operator=st.booleans(),
)
def test_sessions_do_not_depend_on_arrival_order(
    stamps: list[int], data: st.DataObject, gap: int, session_operator: bool
) -> None:
    def run(order: list[int]) -> list[tuple[str, int]]:
        events: list[Event | Mark] = [Event("a", t, 1 + t % 7) for t in order]
        driver = Driver(
            lambda: (window_operator if session_operator else merging_operator)(
                EventTimeSessionWindows.with_gap(gap), aggregate=Total(), function=FormatWindow()
            )
        )
        pieces = data.draw(cut(events))
        out = emitted(driver, [Batch({"s0": piece}) for piece in pieces] + [Batch(end=True)])
        return [pair for batch in out for pair in batch]

    assert run(data.draw(st.permutations(stamps))) == run(sorted(stamps))
