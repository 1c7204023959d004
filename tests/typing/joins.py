"""What type checkers know of joins; see fluent_api.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_type

import penstock as ps
from penstock.functions import JoinContext
from penstock.windows import TumblingEventTimeWindows


@dataclass
class View:
    user: str
    page: str


@dataclass
class Click:
    user: str
    price: float


class Price(ps.JoinFunction[View, Click, float]):
    def join(self, first: View, second: Click) -> float:
        return second.price


class Letters(ps.FlatJoinFunction[View, Click, str]):
    def join(self, first: View, second: Click) -> Iterable[str]:
        return first.page


class Sizes(ps.CoGroupFunction[View, Click, tuple[int, int]]):
    def co_group(self, first: Iterable[View], second: Iterable[Click]) -> Iterator[tuple[int, int]]:
        yield len(list(first)), len(list(second))


LATE = ps.OutputTag("late", View)


class Delay(ps.ProcessJoinFunction[View, Click, int]):
    def process_element(self, left: View, right: Click, ctx: JoinContext) -> Iterator[int]:
        ctx.output(LATE, left)
        yield ctx.get_right_timestamp() - ctx.get_left_timestamp()


def paid(view: View, click: Click) -> tuple[str, float]:
    return view.page, click.price


def streams(env: ps.StreamExecutionEnvironment) -> tuple[ps.DataStream[View], ps.DataStream[Click]]:
    return env.from_collection([View("ann", "shoes")]), env.from_collection([Click("ann", 9.5)])


def joins(env: ps.StreamExecutionEnvironment) -> None:
    views, clicks = streams(env)
    both = views.join(clicks).where(lambda v: v.user).equal_to(lambda c: c.user)
    windows = both.window(TumblingEventTimeWindows.of(9))
    assert_type(windows.apply(Price()), ps.DataStream[float])
    assert_type(windows.apply(Letters()), ps.DataStream[str])
    assert_type(windows.allowed_lateness(5).apply(paid), ps.DataStream[tuple[str, float]])
    assert_type(windows.apply(lambda view, click: view.page), ps.DataStream[str])
    groups = views.co_group(clicks).where(lambda v: v.user).equal_to(lambda c: c.user)
    assert_type(groups.window(TumblingEventTimeWindows.of(9)).apply(Sizes()), ps.DataStream[tuple[int, int]])


def intervals(env: ps.StreamExecutionEnvironment) -> None:
    views, clicks = streams(env)
    both = views.key_by(lambda v: v.user).interval_join(clicks.key_by(lambda c: c.user)).between(0, 5)
    assert_type(both.side_output_left_late_data(LATE).process(Delay()), ps.DataStream[int])


def mistakes(env: ps.StreamExecutionEnvironment) -> None:
    """What a checker finds before the job runs."""
    views, clicks = streams(env)
    both = views.key_by(lambda v: v.user).interval_join(clicks.key_by(lambda c: c.user)).between(0, 5)
    both.side_output_right_late_data(LATE)  # type: ignore[arg-type]
    both.process(Price())  # type: ignore[arg-type]
    views.join(clicks).where(lambda v: v.user).equal_to(lambda c: c.page)  # type: ignore[attr-defined]
