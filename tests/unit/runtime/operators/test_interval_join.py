"""Interval joins: the cases of Flink, the bounds of lateness, and random streams compared with a simple join."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import PlanError, TimeError
from penstock.functions import OutputTag
from penstock.runtime.loop.lateness import pattern_is_late
from penstock.runtime.operators import interval_join
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP
from tests.unit.runtime.windows.test_window_random import cut, streams
from tests.unit.runtime.windows.window_driver import (
    Batch,
    Driver,
    Event,
    Mark,
    Result,
    is_side_output,
    one_split,
    parse,
)

LEFT_LATE, RIGHT_LATE = OutputTag("left"), OutputTag("right")


class Pairs:
    """Emits the two timestamps."""

    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterable[tuple[int, int]]:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left.timestamp, right.timestamp)
        assert ctx.get_timestamp() == max(left.timestamp, right.timestamp)
        yield left.timestamp, right.timestamp


def join_driver(
    lower: int, upper: int, *, delay: int | None = None, restarting: bool = False, cached: bool = False, **given: Any
) -> Driver:
    return Driver(
        lambda: IntervalJoinOperator(Pairs(), lower, upper, **given),
        delay=delay,
        splits=["l", "r"],
        inputs={"l": 0, "r": 1},
        restarting=restarting,
        cached=cached,
    )


def batch(left: str = "", right: str = "") -> Batch:
    return Batch({"l": [parse(w) for w in left.split()], "r": [parse(w) for w in right.split()]})


def values(results: list[list[Result]]) -> list[Any]:
    return [r.value for part in results for r in part]


FOUR = "a@1 !1 a@2 !2 a@3 !3 a@4 !4"


@pytest.mark.parametrize("right_first", [False, True])
@pytest.mark.parametrize(
    ("lower", "upper", "given", "expected"),
    [
        (1, 3, {"upper_inclusive": False}, [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]),
        (-3, -1, {"lower_inclusive": False}, [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)]),
        (-2, -1, {}, [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3)]),
        (1, 3, {"lower_inclusive": False, "upper_inclusive": False}, [(1, 3), (2, 4)]),
        (2, 2, {"lower_inclusive": False, "upper_inclusive": False}, []),
    ],
)
def test_bounds(
    lower: int, upper: int, given: dict[str, bool], expected: list[tuple[int, int]], right_first: bool
) -> None:
    sides = [batch(left=FOUR), batch(right=FOUR)]
    out = join_driver(lower, upper, **given).run_all(reversed(sides) if right_first else sides)
    assert sorted(values(out)) == expected
    assert all(r.timestamp == max(r.value) for part in out for r in part)


@pytest.mark.parametrize("tagged", [True, False])
def test_late_elements_do_not_join(tagged: bool) -> None:
    tags: dict[str, Any] = {"left_late_tag": LEFT_LATE, "right_late_tag": RIGHT_LATE} if tagged else {}
    driver = join_driver(-1, 1, **tags)
    out = values(
        driver.run_all(
            [
                batch("a@1 a@2 a@3", "a@1 a@2 a@3"),
                batch("!3", "!3"),
                batch("a@1=9 a@4", "a@4 a@2=8"),
                batch("a@5", "a@5"),
            ]
        )
    )
    late = [v for v in out if is_side_output(v)]
    assert late == ([(LEFT_LATE, Event("a", 1, 9)), (RIGHT_LATE, Event("a", 2, 8))] if tagged else [])
    assert sorted(v for v in out if not is_side_output(v)) == [
        *[(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)],
        *[(3, 4), (4, 3), (4, 4), (4, 5), (5, 4), (5, 5)],
    ]
    assert isinstance(driver.first.operator, IntervalJoinOperator)
    assert driver.first.operator.late_records == (0 if tagged else 2)


def test_transcript_35_an_element_at_the_watermark_joins_and_is_late_for_a_pattern() -> None:
    driver = Driver(lambda: IntervalJoinOperator(Pairs(), 0, 0), delay=None)
    driver.run_all(one_split("!10 a@10"))
    assert isinstance(driver.first.operator, IntervalJoinOperator)
    assert driver.first.operator.late_records == 0
    assert driver.first.count_entries() > 0
    assert pattern_is_late(10, 10)


def test_state_is_dropped_when_it_can_no_longer_be_joined() -> None:
    driver = join_driver(-5, 10)
    driver.run_all([batch("a@20 b@20", "a@20")])
    entries = driver.first.count_entries()
    driver.run_all([batch("!24", "!24")])
    assert driver.first.count_entries() == entries
    driver.run_all([batch("!25", "!25")])
    assert driver.first.count_entries() < entries
    driver.run_all([batch("!30", "!30")])
    assert driver.first.count_entries() == 0


def test_elements_of_different_keys_are_not_joined() -> None:
    assert values(join_driver(-5, 5).run_all([batch("a@1 b@2", "c@1 b@3")])) == [(2, 3)]


def test_bounds_must_be_in_order() -> None:
    with pytest.raises(PlanError, match="JOIN_BOUNDS"):
        IntervalJoinOperator(Pairs(), 2, 1)


def test_elements_need_timestamps() -> None:
    with pytest.raises(TimeError, match="ELEMENT_WITHOUT_TIMESTAMP"):
        join_driver(0, 1).run(Batch({"l": [Event("a", NO_TIMESTAMP)]}))


class SimpleJoin:
    """A join with two lists; elements are dropped only when the watermark advances."""

    def __init__(self, lower: int, upper: int) -> None:
        self._reach = ((lower, upper), (-upper, -lower))
        self._kept: tuple[list[Event], list[Event]] = ([], [])
        self.watermark = MIN_WATERMARK

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            for side in (0, 1):
                life = max(self._reach[side][1], 0)
                self._kept[side][:] = [e for e in self._kept[side] if e.timestamp + life > watermark]

    def element(self, side: int, event: Event) -> list[Any]:
        if event.timestamp < self.watermark:
            return [((LEFT_LATE, RIGHT_LATE)[side], event)]
        low, high = (event.timestamp + r for r in self._reach[side])
        met = [e for e in self._kept[1 - side] if e.key == event.key and low <= e.timestamp <= high]
        met.sort(key=lambda e: e.timestamp)
        self._kept[side].append(event)
        pairs = [(event.timestamp, e.timestamp) for e in met]
        return pairs if side == 0 else [(right, left) for left, right in pairs]


@settings(max_examples=200, deadline=None)
@given(
    lower=st.integers(-6, 6),
    width=st.integers(0, 8),
    delay=st.integers(0, 5),
    left=streams(marks=False).flatmap(cut),
    right=streams(marks=False).flatmap(cut),
    keeping=st.sampled_from(["nothing", "cached", "restarting"]),
    steps=st.sampled_from([8, 2, 1]),  # with few steps, elements are dropped long after they died
)
def test_equals_a_simple_join(
    lower: int,
    width: int,
    delay: int,
    left: list[list[Event | Mark]],
    right: list[list[Event | Mark]],
    keeping: str,
    steps: int,
) -> None:
    upper = lower + width
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_join, "_CLEANUPS", steps)
        driver = join_driver(
            lower,
            upper,
            delay=delay,
            restarting=keeping == "restarting",
            cached=keeping == "cached",
            left_late_tag=LEFT_LATE,
            right_late_tag=RIGHT_LATE,
        )
    plain = SimpleJoin(lower, upper)
    marks = [MIN_WATERMARK, MIN_WATERMARK]
    for pieces in zip(left + [[]] * len(right), right + [[]] * len(left), strict=True):
        arrived = []
        before = plain.watermark
        for side, piece in enumerate(pieces):
            for position, event in enumerate(piece):
                assert isinstance(event, Event)
                arrived.append((marks[side], side, position, event))
                marks[side] = max(marks[side], event.timestamp - delay - 1)
        end = max(before, min(marks))
        expected: list[Any] = []
        for w, side, _, event in sorted((max(before, min(w, end)), s, p, e) for w, s, p, e in arrived):
            plain.advance(w)
            expected += plain.element(side, event)
        plain.advance(end)
        assert [r.value for r in driver.run(Batch({"l": pieces[0], "r": pieces[1]}))] == expected
    driver.run(Batch(end=True))
    assert driver.first.count_entries() == 0
