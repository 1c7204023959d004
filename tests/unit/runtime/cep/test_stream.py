"""Patterns on streams in the harness: order, lateness, time, state and errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import DEAD_LETTERS, OutputTag, StreamExecutionEnvironment, WatermarkStrategy
from penstock.cep import (
    CEP,
    Pattern,
    PatternContext,
    PatternProcessFunction,
    PatternStream,
    TimedOutPartialMatchHandler,
)
from penstock.connectors import At, Mark
from penstock.datastream import DataStream
from penstock.errors import PenstockError, StateError, TimeError, UserFunctionError
from penstock.testing import Harness, PushSource
from penstock.time import NO_TIMESTAMP
from tests.unit.runtime.cep.oracle import ANY, NEXT, STRICT, Step, find_matches, make_pattern

AB = make_pattern([Step(NEXT, "a"), Step(NEXT, "b")])
LATE, TIMED_OUT = OutputTag[Any]("late"), OutputTag[Any]("timed-out")


def format_match(match: dict[str, list[Any]]) -> str:
    return " ".join(f"{letter}{number}" for events in match.values() for letter, number, *_ in events)


def build_job(
    pattern: Pattern[Any],
    how: Callable[[PatternStream[Any]], DataStream[Any]] = lambda matches: matches.select(format_match),
    *,
    strategy: WatermarkStrategy | None = None,
    comparator: Any = None,
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    """Events are (letter, number, key)."""
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource(), strategy).key_by(lambda event: event[-1])
    return env, how(CEP.pattern(stream, pattern, comparator)).uid("cep")


def start(*arguments: Any, parallelism: int = 2, **settings: Any) -> tuple[Harness, Any]:
    env, stream = build_job(*arguments, **settings)
    harness = Harness(env, parallelism=parallelism)
    return harness, harness.collect(stream)


def times(out: Any) -> list[int | None]:
    return [None if record.timestamp == NO_TIMESTAMP else record.timestamp for record in out.records]


def count_entries(harness: Harness) -> int:
    """Returns the number of entries of state and timers."""
    return sum(len(state.entries) for state in harness.job.states().values())


# -- event time


def test_events_are_processed_by_time_after_the_watermark() -> None:
    harness, out = start(AB)
    harness.push_all([At(("b", 5, "k"), 5), At(("a", 3, "k"), 3), At(("b", 4, "k"), 4)])
    assert out == []
    harness.push_watermark(3)
    assert out == []
    harness.push_watermark(4)
    assert out == ["a3 b4"]
    harness.push_watermark(9)
    assert out == ["a3 b4"]


def test_the_timestamp_of_a_match_is_that_of_its_last_event() -> None:
    harness, out = start(AB)
    harness.push_all([At(("a", 3, "k"), 3), At(("b", 4, "k"), 4), Mark(7)])
    assert times(out) == [4]


def test_late_events_are_counted_or_emitted_to_a_side_output() -> None:
    harness, out = start(AB)
    harness.push_all([At(("a", 3, "k"), 3), Mark(4)])
    harness.push_all([At(("b", 4, "k"), 4), At(("x", 4, "k"), 4), Mark(9)])
    assert (out, harness.late_records()) == ([], 2)
    env, stream = build_job(AB, lambda matches: matches.side_output_late_data(LATE).select(format_match))
    harness = Harness(env)
    out, late = harness.collect(stream), harness.side_output(LATE)
    harness.push_all([At(("a", 3, "k"), 3), Mark(4), At(("b", 4, "k"), 4), At(("b", 5, "k"), 5), Mark(9)])
    assert (out, late, harness.late_records()) == (["a3 b5"], [("b", 4, "k")], 0)


def test_events_without_timestamps_are_rejected() -> None:
    harness, _ = start(AB)
    with pytest.raises(TimeError, match=r"ELEMENT_WITHOUT_TIMESTAMP.*in_processing_time"):
        harness.push(("a", 1, "k"))


def test_a_comparator_orders_events_with_equal_timestamps() -> None:
    harness, out = start(AB, comparator=lambda one, other: one[1] - other[1])
    harness.push_all([At(("b", 2, "k"), 5), At(("a", 1, "k"), 5), Mark(9)])
    assert out == ["a1 b2"]
    harness, out = start(AB)
    harness.push_all([At(("b", 2, "k"), 5), At(("a", 1, "k"), 5), Mark(9)])
    assert out == []


def test_a_non_keyed_stream_is_matched_as_a_whole() -> None:
    env = StreamExecutionEnvironment()
    matches = CEP.pattern(env.from_source(PushSource()), AB).select(format_match)
    harness = Harness(env, parallelism=3)
    out = harness.collect(matches)
    harness.push_all([At(("a", 1, "k"), 1), At(("b", 2, "l"), 2), Mark(9)])
    assert out == ["a1 b2"]


def test_results_are_in_order_of_time_over_all_keys() -> None:
    harness, out = start(AB, parallelism=1)
    events = [At((letter, 10 * t + n, f"k{n}"), 10 * t + n) for t, letter in enumerate("ab") for n in (3, 1, 2)]
    harness.push_all([*events, Mark(99)])
    assert out == ["a1 b11", "a2 b12", "a3 b13"]


# -- timeouts


class FormatMatches(PatternProcessFunction[Any, str], TimedOutPartialMatchHandler[Any]):
    def process_match(self, match: Any, ctx: PatternContext) -> Iterable[str]:
        yield f"{format_match(match)} @{ctx.timestamp()} of {ctx.get_current_key()}"

    def process_timed_out_match(self, match: Any, ctx: PatternContext) -> Iterable[Any]:
        yield TIMED_OUT, f"{format_match(match)} @{ctx.timestamp()}"


def test_partial_matches_time_out() -> None:
    env, stream = build_job(
        make_pattern([Step(NEXT, "a"), Step(NEXT, "b")], within=5), lambda matches: matches.process(FormatMatches())
    )
    harness = Harness(env, parallelism=2)
    out, timed_out = harness.collect(stream), harness.side_output(TIMED_OUT)
    harness.push_all([At(("a", 1, "k"), 1), At(("b", 5, "k"), 5), At(("a", 7, "k"), 7), Mark(11)])
    assert (out, timed_out) == (["a1 b5 @5 of k"], [])
    assert count_entries(harness) > 0
    harness.push_watermark(12)
    assert (timed_out, times(timed_out)) == (["a7 @12"], [12])
    assert count_entries(harness) == 0
    harness.push_all([At(("a", 20, "k"), 20), At(("b", 25, "k"), 25), Mark(30)])
    assert (out, timed_out) == (["a1 b5 @5 of k"], ["a7 @12", "a20 @25"])


def test_timeouts_of_select_and_flat_select() -> None:
    def select(matches: PatternStream[Any]) -> DataStream[Any]:
        return matches.select(
            format_match, timed_out_tag=TIMED_OUT, timeout_function=lambda match, at: (format_match(match), at)
        )

    def flat_select(matches: PatternStream[Any]) -> DataStream[Any]:
        return matches.flat_select(
            lambda match: [format_match(match)],
            timed_out_tag=TIMED_OUT,
            timeout_function=lambda match, at: [(format_match(match), at)],
        )

    for how in (select, flat_select):
        env, stream = build_job(make_pattern([Step(NEXT, "a"), Step(NEXT, "b")], within=5), how)
        harness = Harness(env)
        out, timed_out = harness.collect(stream), harness.side_output(TIMED_OUT)
        harness.push_all([At(("a", 1, "k"), 1), At(("a", 2, "k"), 2), At(("b", 6, "k"), 6), Mark(9)])
        assert (out, timed_out) == (["a2 b6"], [("a1", 6)])


def test_not_followed_by_matches_when_its_time_is_over() -> None:
    pattern = (
        Pattern.begin("a").where(lambda e: e[0] == "a").not_followed_by("b").where(lambda e: e[0] == "b").within(5)
    )
    harness, out = start(pattern)
    harness.push_all([At(("a", 1, "k"), 1), At(("a", 2, "l"), 2), At(("b", 4, "l"), 4), Mark(5)])
    assert out == []
    harness.push_watermark(6)
    assert (out, times(out), count_entries(harness)) == (["a1"], [6], 0)


def test_the_end_of_input_times_out_partial_matches() -> None:
    env, stream = build_job(
        make_pattern([Step(NEXT, "a"), Step(NEXT, "b")], within=5), lambda matches: matches.process(FormatMatches())
    )
    harness = Harness(env)
    out, timed_out = harness.collect(stream), harness.side_output(TIMED_OUT)
    harness.push_all([At(("b", 3, "k"), 3), At(("a", 1, "k"), 1), At(("a", 7, "k"), 7)])
    harness.end()
    assert (out, timed_out) == (["a1 b3 @3 of k"], ["a7 @12"])


# -- state


def test_state_is_empty_without_partial_matches() -> None:
    harness, out = start(AB)
    harness.push_all([At(("x", n, f"k{n % 7}"), n) for n in range(1, 50)])
    assert count_entries(harness) == 0  # they fulfil no condition, so they are not stored
    harness.push_all([At(("b", n, f"k{n % 7}"), 50 + n) for n in range(50)])
    assert count_entries(harness) > 0
    harness.push_watermark(200)
    assert (out, count_entries(harness)) == ([], 0)
    harness.push_all([At(("a", 1, "k"), 201), At(("b", 2, "k"), 202), Mark(300)])
    assert (out, count_entries(harness)) == (["a1 b2"], 0)


def test_a_partial_match_is_stored_until_it_times_out() -> None:
    harness, _ = start(make_pattern([Step(NEXT, "a"), Step(NEXT, "b")], within=100))
    for n in range(1, 60):
        harness.push_all([At(("a", n, "k"), 10 * n), Mark(10 * n)])
    sizes = [len(v) for state in harness.job.states().values() for v in state.entries.values()]
    assert max(sizes) < 600  # ten events, not sixty
    harness.push_watermark(700)
    assert count_entries(harness) == 0


def test_events_that_the_watermark_passes_in_their_batch_are_not_stored() -> None:
    harness, out = start(AB)
    harness.push_all([*(At((letter, n, "k"), n) for n, letter in enumerate("abab", 1)), Mark(9)])
    assert (out, count_entries(harness)) == (["a1 b2", "a3 b4"], 0)


def test_another_pattern_cannot_restore_partial_matches() -> None:
    harness, _ = start(AB)
    harness.push_all([At(("a", 1, "k"), 1), Mark(5)])
    env, _ = build_job(make_pattern([Step(NEXT, "a"), Step(NEXT, "b"), Step(NEXT, "c")]))
    other = Harness(env, parallelism=2).restore(harness.snapshot())
    with pytest.raises(StateError, match="PATTERN_CHANGED"):
        other.push_all([At(("b", 2, "k"), 6), Mark(9)])


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[tuple[str, int, str]], list[int]]:
    """Events that are at most 4 ms out of order, and the boundaries of batches."""
    count = draw(st.integers(0, 14))
    letters = draw(st.lists(st.sampled_from("abcx"), min_size=count, max_size=count))
    keys = draw(st.lists(st.sampled_from("kl"), min_size=count, max_size=count))
    times = [3 * n + draw(st.integers(0, 4)) for n in range(count)]
    boundaries = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    return list(zip(letters, times, keys, strict=True)), boundaries


PATTERNS = [
    [Step(NEXT, "a"), Step(NEXT, "b"), Step(NEXT, "c")],
    [Step(NEXT, "a"), Step(STRICT, "b")],
    [Step(NEXT, "a"), Step(ANY, "b", loop=ANY), Step(NEXT, "c")],
    [Step(NEXT, "a"), Step(NEXT, "b", loop=NEXT, optional=True), Step(ANY, "c")],
]
EXPECTED = re.compile(r"(\d+)")


@settings(deadline=None, max_examples=60)
@given(streams(), st.sampled_from(PATTERNS), st.one_of(st.none(), st.integers(3, 20)), st.booleans())
def test_matches_do_not_depend_on_batches_restores_and_slots(
    stream: tuple[list[Any], list[int]], steps: list[Step], within: int | None, restored: bool
) -> None:
    events, boundaries = stream
    pattern = make_pattern(steps, within)
    results: list[str] = []
    harness, out = _new_harness(pattern, 0)
    for number, (start, stop) in enumerate(pairwise([0, *boundaries, len(events)])):
        if restored and number > 0:
            saved = harness.snapshot()
            harness, out = _new_harness(pattern, number)
            harness.restore(saved)
        with harness.batch():
            harness.push_all(events[start:stop])
        results += out.take()
    harness.end()
    results += out.take()
    assert sorted(results) == _expected(events, steps, within)


def _new_harness(pattern: Pattern[Any], number: int) -> tuple[Harness, Any]:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(5).with_timestamp_assigner(lambda e, _: e[1])
    env, matched = build_job(pattern, strategy=strategy)
    harness = Harness(env, parallelism=1 + number % 3, seed=number)
    return harness, harness.collect(matched)


def _expected(events: list[Any], steps: list[Step], within: int | None) -> list[str]:
    expected = []
    for key in "kl":
        of_key = sorted((e for e in events if e[2] == key), key=lambda e: e[1])
        chosen = find_matches(steps, "".join(e[0] for e in of_key), [e[1] for e in of_key], within)
        expected += [" ".join(f"{of_key[i][0]}{of_key[i][1]}" for i in match) for match in chosen]
    return sorted(expected)


@settings(deadline=None, max_examples=40)
@given(streams(), st.sampled_from(PATTERNS), st.booleans())
def test_batch_mode_and_dead_letters_find_the_same_matches(
    stream: tuple[list[Any], list[int]], steps: list[Step], batch_mode: bool
) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(5).with_timestamp_assigner(lambda e, _: e[1])
    env, matched = build_job(
        make_pattern(steps, 9), lambda matches: matches.select(format_match, on_error="dead_letter"), strategy=strategy
    )
    harness = Harness(env, parallelism=2, batch_mode=batch_mode)
    out = harness.collect(matched)
    harness.push_all(stream[0])
    harness.end()
    assert sorted(out) == _expected(stream[0], steps, 9)


# -- processing time


def test_in_processing_time_events_are_processed_as_they_arrive() -> None:
    env, stream = build_job(
        make_pattern([Step(NEXT, "a"), Step(NEXT, "b")], within=10),
        lambda matches: matches.in_processing_time().process(FormatMatches()),
    )
    harness = Harness(env)
    out, timed_out = harness.collect(stream), harness.side_output(TIMED_OUT)
    harness.set_time(100)
    harness.push(("a", 1, "k"))
    harness.set_time(105)
    harness.push(("b", 2, "k"))
    assert (out, times(out)) == (["a1 b2 @105 of k"], [None])
    harness.push(("a", 3, "k"))
    harness.set_time(114)
    assert timed_out == []
    harness.set_time(115)
    assert (timed_out, count_entries(harness)) == (["a3 @115"], 0)
    harness.push(("b", 4, "k"))
    assert len(out) == 1


def test_in_processing_time_a_comparator_waits_for_the_next_millisecond() -> None:
    harness, out = start(
        AB,
        lambda matches: matches.in_processing_time().select(format_match),
        comparator=lambda one, other: one[1] - other[1],
    )
    harness.set_time(100)
    with harness.batch():
        harness.push(("b", 2, "k"))
        harness.push(("a", 1, "k"))
    assert out == []
    harness.set_time(101)
    assert out == ["a1 b2"]


# -- conditions


def test_iterative_conditions_read_accepted_events() -> None:
    pattern = (
        Pattern.begin("start")
        .where(lambda e: e[0] == "a")
        .followed_by("rise")
        .where(lambda e, ctx: e[1] > max(n for _, n, _ in ctx.get_events_for_pattern("start")))
        .followed_by("top")
        .where(
            lambda e, ctx: e[1] > sum(n for name in ("start", "rise") for _, n, _ in ctx.get_events_for_pattern(name))
        )
        .where(lambda e, ctx: ctx.timestamp() > 3 and ctx.get_events_for_pattern("other") == [])
    )
    harness, out = start(pattern)
    values = [("a", 5), ("x", 3), ("x", 6), ("x", 10), ("x", 12)]
    harness.push_all([*(At((letter, n, "k"), t) for t, (letter, n) in enumerate(values, 1)), Mark(9)])
    assert out == ["a5 x6 x12"]


def test_or_where_and_subtype() -> None:
    pattern = Pattern.begin("a").subtype(tuple).where(lambda e: e[0] == "a").or_where(lambda e: e[0] == "A")
    harness, out = start(pattern)
    harness.push_all([At(("A", 1, "k"), 1), At(("a", 2, "k"), 2), At(("x", 3, "k"), 3), Mark(9)])
    assert out == ["A1", "a2"]


# -- errors


def raise_error(event: Any) -> bool:
    return bool(event[9])


BROKEN = Pattern.begin("first").where(lambda e: e[0] == "a").followed_by("second").where(raise_error)


def test_an_error_in_a_condition_names_the_pattern() -> None:
    harness, _ = start(BROKEN)
    harness.push_all([At(("a", 1, "k"), 1), Mark(1)])
    with pytest.raises(UserFunctionError) as raised:
        harness.push_all([At(("x", 2, "k"), 2), Mark(3)])
    for words in ("'pattern_select'", "IndexError", "pattern 'second'", "test_stream.py", "key 'k'", "('x', 2, 'k')"):
        assert words in str(raised.value)


def test_an_error_in_a_condition_becomes_a_dead_letter() -> None:
    env, stream = build_job(BROKEN, lambda matches: matches.select(format_match, on_error="dead_letter"))
    harness = Harness(env)
    out, dead_letters = harness.collect(stream), harness.side_output(DEAD_LETTERS)
    harness.push_all([At(("a", 1, "k"), 1), Mark(1), At(("x", 2, "k"), 2), Mark(3)])
    assert out == []
    assert [(letter.error, letter.key) for letter in dead_letters] == [("IndexError", "k")]


def test_an_error_in_a_select_function_names_the_key() -> None:
    harness, _ = start(AB, lambda matches: matches.select(lambda match: match["none"]))
    with pytest.raises(UserFunctionError, match=r"KeyError.*key 'k'"):
        harness.push_all([At(("a", 1, "k"), 1), At(("b", 2, "k"), 2), Mark(3)])


def test_a_failed_batch_changes_no_state() -> None:
    harness, out = start(BROKEN)
    harness.push_all([At(("a", 1, "k"), 1), Mark(1)])
    before = count_entries(harness)
    with pytest.raises(PenstockError):
        harness.push_all([At(("x", 2, "k"), 2), Mark(3)])
    assert (out, count_entries(harness)) == ([], before)
