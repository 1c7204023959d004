"""Random streams: windows equal the oracle, however batches are cut, whatever keeps their contents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.window import WindowOperator
from penstock.runtime.window_build import window_operator
from penstock.runtime.window_merging import MergingWindowOperator
from penstock.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.runtime.window_driver import LATE, Batch, Driver, Event, Mark, Shown, Total, shown
from tests.runtime.window_oracle import Oracle

KEYS = "abc"


@st.composite
def streams(draw: Any, marks: bool = True, size: int = 25) -> list[Event | Mark]:
    """Events that mostly go forward in time, some far behind, with explicit watermarks in between."""
    events: list[Event | Mark] = []
    time = draw(st.integers(-20, 5))
    for _ in range(draw(st.integers(0, size))):
        time += draw(st.integers(0, 6))
        if marks and draw(st.integers(0, 5)) == 0:
            events.append(Mark(time - draw(st.integers(0, 8))))
        else:
            behind = draw(st.sampled_from([0, 0, 0, 1, 3, 8, 15, 30]))
            events.append(Event(draw(st.sampled_from(KEYS)), time - behind, draw(st.integers(1, 9))))
    return events


@st.composite
def cut(draw: Any, events: list[Event | Mark]) -> list[list[Event | Mark]]:
    at = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    return [events[a:b] for a, b in zip([0, *at], [*at, len(events)], strict=True)]


@st.composite
def windows(draw: Any) -> tuple[str, tuple[int, ...], int, WindowAssigner[Any, Any]]:
    """A kind of window with its numbers and offset, and the assigner."""
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


Made = Callable[..., WindowOperator]


def eager(assigner: WindowAssigner[Any, Any], **given: Any) -> WindowOperator:
    """Sessions by the general class, which moves timers with every merge."""
    if isinstance(assigner, EventTimeSessionWindows):
        return MergingWindowOperator(assigner, **given)
    return window_operator(assigner, **given)


def emitted(driver: Driver, batches: list[Batch]) -> list[list[tuple[str, int]]]:
    return [[(shown(r.value), r.timestamp) for r in results] for results in driver.run_all(batches)]


@pytest.mark.parametrize("made", [window_operator, eager])
@pytest.mark.parametrize("elements", [False, True], ids=["folded", "collected"])
@settings(max_examples=150, deadline=None)
@given(
    window=windows(),
    lateness=st.integers(0, 12),
    delay=st.one_of(st.none(), st.integers(0, 6)),
    pieces=streams().flatmap(cut),
    keeping=st.sampled_from(["nothing", "cached", "restarting"]),
)
def test_one_split_equals_the_oracle(
    made: Made,
    elements: bool,
    window: tuple[str, tuple[int, ...], int, WindowAssigner[Any, Any]],
    lateness: int,
    delay: int | None,
    pieces: list[list[Event | Mark]],
    keeping: str,
) -> None:
    kind, sizes, offset, assigner = window
    given = {} if elements else {"aggregate": Total()}
    driver = Driver(
        lambda: made(assigner, function=Shown(), allowed_lateness=lateness, late_tag=LATE, **given),
        delay=delay,
        restarting=keeping == "restarting",
        cached=keeping == "cached",
    )
    batches = [Batch({"s0": piece}) for piece in pieces] + [Batch(end=True)]
    oracle = Oracle(kind, sizes, lateness, offset, delay)
    assert emitted(driver, batches) == [oracle.run(batch) for batch in batches]
    assert driver.first.stored() == 0


@settings(max_examples=200, deadline=None)
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
            assigner, aggregate=Total(), function=Shown(), allowed_lateness=lateness, late_tag=LATE
        ),
        delay=delay,
        splits=["s0", "s1"],
    )
    pairs = zip(first + [[]] * len(second), second + [[]] * len(first), strict=True)
    batches = [Batch({"s0": a, "s1": b}) for a, b in pairs] + [Batch(end=True)]
    oracle = Oracle(kind, sizes, lateness, offset, delay)
    oracle.marks = {"s0": -(2**63), "s1": -(2**63)}
    assert emitted(driver, batches) == [oracle.run(batch) for batch in batches]


@settings(max_examples=100, deadline=None)
@given(stream=streams(marks=False), data=st.data(), lateness=st.integers(0, 6), session=st.booleans())
def test_cuts_do_not_matter_through_two_operators(
    stream: list[Event | Mark], data: st.DataObject, lateness: int, session: bool
) -> None:
    def run(pieces: list[list[Event | Mark]]) -> dict[str, list[tuple[str, int]]]:
        first = EventTimeSessionWindows.with_gap(4) if session else TumblingEventTimeWindows.of(10)
        driver = Driver(
            lambda: window_operator(first, aggregate=Total(), function=Shown(), allowed_lateness=lateness),
            then=lambda: window_operator(TumblingEventTimeWindows.of(20), aggregate=Total(), function=Shown()),
            delay=2,
        )
        out = emitted(driver, [Batch({"s0": piece}) for piece in pieces] + [Batch(end=True)])
        flat = [pair for batch in out for pair in batch]
        return {key: [pair for pair in flat if pair[0].startswith(key)] for key in KEYS}

    assert run(data.draw(cut(stream))) == run([stream])


@settings(max_examples=100, deadline=None)
@given(stamps=st.lists(st.integers(-40, 60), max_size=12), data=st.data(), gap=st.integers(1, 12), purely=st.booleans())
def test_sessions_do_not_depend_on_arrival_order(
    stamps: list[int], data: st.DataObject, gap: int, purely: bool
) -> None:
    def run(order: list[int]) -> list[tuple[str, int]]:
        events: list[Event | Mark] = [Event("a", t, 1 + t % 7) for t in order]
        driver = Driver(
            lambda: (window_operator if purely else eager)(
                EventTimeSessionWindows.with_gap(gap), aggregate=Total(), function=Shown()
            )
        )
        pieces = data.draw(cut(events))
        out = emitted(driver, [Batch({"s0": piece}) for piece in pieces] + [Batch(end=True)])
        return [pair for batch in out for pair in batch]

    assert run(data.draw(st.permutations(stamps))) == run(sorted(stamps))
