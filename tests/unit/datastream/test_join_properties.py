"""Joins of random streams equal a batch computation, for all batch boundaries and distributions of keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import At, Harness, PushSource
from penstock.time import MIN_WATERMARK
from penstock.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.example_numbers import examples


class Event(NamedTuple):
    """An element with a unique number."""

    key: str
    time: int
    number: int


SOURCES = ("left", "right")
LEFT_LATE, RIGHT_LATE = ps.OutputTag("left late"), ps.OutputTag("right late")
GAP = 9
ASSIGNERS: dict[str, WindowAssigner[Any, Any]] = {
    "tumbling": TumblingEventTimeWindows.of(7, 2),
    "sliding": SlidingEventTimeWindows.of(9, 4),
    "sessions": EventTimeSessionWindows.with_gap(GAP),
}

events = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-10, 40)), max_size=25)
# Many elements of one key, so that sessions merge.
of_one_key = st.lists(st.tuples(st.just("a"), st.integers(-10, 40)), min_size=5, max_size=12)
places = st.lists(st.integers(0, 25), max_size=4)
spreads = st.sampled_from([(1, 1), (2, 7), (3, 128)])  # parallelism and key groups


def numbered(pairs: list[tuple[str, int]], joins: str) -> list[Event]:
    """Times of sessions are even, and their gap is odd: whether elements just the gap apart share a session depends on
    whether the watermark has come to the end of the first one, in Flink too.
    """
    factor = 2 if "sessions" in joins else 1
    return [Event(key, time * factor, number) for number, (key, time) in enumerate(pairs)]


def disorder(stream: list[Event]) -> int:
    """Returns the maximum out-of-orderness of the stream."""
    most, latest = 0, MIN_WATERMARK
    for event in stream:
        latest = max(latest, event.time)
        most = max(most, latest - event.time)
    return most


def pieces(stream: list[Event], cuts: Iterable[int]) -> list[list[Event]]:
    bounds = [0, *sorted(min(c, len(stream)) for c in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(bounds)]


def by_key(event: Event) -> str:
    return event.key


# -- the joins as batch computations


def windows_of(kind: str, stream: list[Event]) -> Iterator[tuple[int, int]]:
    """The windows that hold some elements of one key."""
    if kind != "sessions":
        size, slide, offset = (7, 7, 2) if kind == "tumbling" else (9, 4, 0)
        for time in {e.time for e in stream}:
            last = time - (time - offset) % slide
            yield from ((start, start + size) for start in range(last, time - size, -slide))
        return
    times = sorted(e.time for e in stream)
    start = times[0]
    for before, time in [*pairwise(times), (times[-1], times[-1] + GAP + 1)]:
        if time - before > GAP:
            yield start, before + GAP
            start = time


def grouped(kind: str, left: list[Event], right: list[Event]) -> Counter[Any]:
    found: set[Any] = set()
    for key in {e.key for e in left + right}:
        sides = [[e for e in side if e.key == key] for side in (left, right)]
        for start, end in windows_of(kind, sides[0] + sides[1]):
            found.add((end - 1, *(tuple(sorted(e.number for e in s if start <= e.time < end)) for s in sides), key))
    return Counter(found)


def paired(kind: str, left: list[Event], right: list[Event]) -> Counter[Any]:
    of_groups = grouped(kind, left, right)
    return Counter((end, one, two) for end, ones, twos, _ in of_groups.elements() for one in ones for two in twos)


def near(lower: int, upper: int, left: list[Event], right: list[Event]) -> Counter[Any]:
    return Counter(
        (max(one.time, two.time), one.number, two.number)
        for one in left
        for two in right
        if one.key == two.key and lower <= two.time - one.time <= upper
    )


# -- the joins themselves


def pair(one: Event, two: Event) -> tuple[int, int]:
    return one.number, two.number


def groups(ones: list[Event], twos: list[Event]) -> list[Any]:
    numbers = [tuple(sorted(e.number for e in group)) for group in (ones, twos)]
    return [(*numbers, (ones + twos)[0].key)]


def of_pair(one: Event, two: Event, ctx: Any) -> list[Any]:
    return [pair(one, two)]


def build(joins: str, left: Any, right: Any, lower: int = 0, upper: int = 0) -> ps.DataStream[Any]:
    if joins == "interval":
        bounded = left.key_by(by_key).interval_join(right.key_by(by_key)).between(lower, upper)
        late = bounded.side_output_left_late_data(LEFT_LATE).side_output_right_late_data(RIGHT_LATE)
        result: ps.DataStream[Any] = late.process(of_pair)
        return result
    how, kind = joins.split()
    method, function = (left.join, pair) if how == "join" else (left.co_group, groups)
    windowed: ps.DataStream[Any] = method(right).where(by_key).equal_to(by_key).window(ASSIGNERS[kind]).apply(function)
    return windowed


@settings(max_examples=examples(50), deadline=None)
@given(
    joins=st.sampled_from([f"{how} {kind}" for how in ("join", "co_group") for kind in ASSIGNERS] + ["interval"] * 3),
    pairs=st.tuples(events, events) | st.tuples(of_one_key, of_one_key),
    cuts=st.tuples(places, places),
    spread=spreads,
    bounds=st.tuples(st.integers(-12, 12), st.integers(0, 15)),
    restored=st.booleans(),
)
def test_without_late_records_the_result_equals_a_batch_computation(
    joins: str,
    pairs: tuple[Any, Any],
    cuts: tuple[list[int], list[int]],
    spread: tuple[int, int],
    bounds: tuple[int, int],
    restored: bool,
) -> None:
    left, right = (numbered(side, joins) for side in pairs)
    lower, upper = bounds[0], bounds[0] + bounds[1]

    def program() -> tuple[Harness, Any]:
        env = ps.StreamExecutionEnvironment()
        sources = [
            env.from_source(
                PushSource(),
                ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_millis(disorder(stream))),
                name,
            )
            for name, stream in zip(SOURCES, (left, right), strict=True)
        ]
        harness = Harness(env, parallelism=spread[0], max_parallelism=spread[1], seed=len(left))
        return harness, harness.collect(build(joins, sources[0], sources[1], lower, upper).uid("joined"))

    harness, out = program()
    found = []
    parts = [pieces(stream, cut) for stream, cut in zip((left, right), cuts, strict=True)]
    for number in range(max(map(len, parts))):
        with harness.batch():
            for name, part in zip(SOURCES, parts, strict=True):
                if number < len(part):
                    harness.push_all([At(e, e.time) for e in part[number]], source=name)
        if restored:
            found += out.records
            saved = harness.snapshot()
            harness, out = program()
            harness.restore(saved)
    harness.end()
    found += out.records
    if joins == "interval":
        expected = near(lower, upper, left, right)
    else:
        how, kind = joins.split()
        expected = (paired if how == "join" else grouped)(kind, left, right)
    assert Counter((r.timestamp, *r.value) for r in found) == expected
    assert harness.late_records() == 0


def late_ones(stream: list[Event], delay: int) -> list[Event]:
    """Returns the elements behind the watermark of the previous elements."""
    late, watermark = [], MIN_WATERMARK
    for event in stream:
        if event.time < watermark:
            late.append(event)
        watermark = max(watermark, event.time - delay - 1)
    return late


@settings(max_examples=examples(50), deadline=None)
@given(
    joins=st.sampled_from(["join tumbling", "co_group sliding", "join sessions", "interval", "interval"]),
    pairs=events,
    cuts=st.tuples(places, places),
    spread=spreads,
    delay=st.integers(0, 6),
    bounds=st.tuples(st.integers(-12, 12), st.integers(0, 15)),
)
def test_with_late_records_of_one_split_cuts_and_keys_do_not_matter(
    joins: str,
    pairs: Any,
    cuts: tuple[list[int], list[int]],
    spread: tuple[int, int],
    delay: int,
    bounds: tuple[int, int],
) -> None:
    stream = numbered(pairs, joins)

    def run(cut: list[int], parallelism: int, max_parallelism: int) -> tuple[Any, ...]:
        env = ps.StreamExecutionEnvironment()
        strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_millis(delay))
        source = env.from_source(PushSource(), strategy, "source")
        left, right = source.filter(lambda e: e.number % 2 == 0), source.filter(lambda e: e.number % 2 == 1)
        joined = build(joins, left, right, bounds[0], sum(bounds))
        harness = Harness(env, parallelism=parallelism, max_parallelism=max_parallelism)
        outs = [harness.collect(joined)]
        if joins == "interval":
            outs += [harness.collect(joined.get_side_output(tag)) for tag in (LEFT_LATE, RIGHT_LATE)]
        for part in pieces(stream, cut):
            harness.push_all([At(e, e.time) for e in part])
        harness.end()
        return *(Counter((r.timestamp, r.value) for r in out.records) for out in outs), harness.late_records()

    whole, cut = run([], 1, 1), run([*cuts[0], *cuts[1]], *spread)
    assert whole == cut
    if joins == "interval":
        late = late_ones(stream, delay)
        for side in (0, 1):
            assert whole[1 + side] == Counter((e.time, e) for e in late if e.number % 2 == side)
        sides = [[e for e in stream if e not in late and e.number % 2 == side] for side in (0, 1)]
        assert set(whole[0]) <= {(end, (one, two)) for end, one, two in near(bounds[0], sum(bounds), *sides)}
