"""Patterns with `on_error="dead_letter"`: a failed call costs one event, and the key continues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock import DEAD_LETTERS, OutputTag, StreamExecutionEnvironment
from penstock.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.connectors import At, Mark
from penstock.errors import UserFunctionError
from penstock.testing import Harness, PushSource

TIMED_OUT = OutputTag[Any]("timed out")


def is_even(number: int) -> bool:
    if number == 13:
        raise ValueError("thirteen")
    return number % 2 == 0


class ShowNumbers(PatternProcessFunction[int, Any], TimedOutPartialMatchHandler[int]):
    """Fails for matches that end with 6, and for partial matches of 8 that time out."""

    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        numbers = [n for events in match.values() for n in events]
        if numbers[-1] == 6:
            raise ValueError("six")
        yield numbers

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        [number] = match["a"]
        if number == 8:
            raise ValueError("eight")
        yield TIMED_OUT, number


PAIR = Pattern.begin("a").where(is_even).next("b").where(is_even)


class PatternRun:
    """A harness with the outputs of a pattern."""

    def __init__(
        self, pattern: Pattern[Any], in_event_time: bool = True, batch_mode: bool = False, comparator: Any = None
    ) -> None:
        env = StreamExecutionEnvironment()
        keyed = env.from_source(PushSource()).key_by(lambda number: "k", str)
        matches = CEP.pattern(keyed, pattern, comparator)
        matches = matches if in_event_time else matches.in_processing_time()
        stream = matches.process(ShowNumbers(), on_error="dead_letter")
        self.harness = Harness(env, batch_mode=batch_mode)
        self.out, self.timed_out = self.harness.collect(stream), self.harness.side_output(TIMED_OUT)
        self.dead = self.harness.side_output(DEAD_LETTERS)

    def dead_letters(self) -> list[tuple[Any, int | None, str]]:
        return [(letter.element, letter.timestamp, letter.message) for letter in self.dead]


@pytest.mark.parametrize("batch_mode", [False, True])
@pytest.mark.parametrize("same_time", [False, True])
def test_an_event_whose_condition_fails_is_as_if_it_had_not_arrived(same_time: bool, batch_mode: bool) -> None:
    run = PatternRun(PAIR, batch_mode=batch_mode)
    times = [9] * 5 if same_time else [1, 2, 3, 4, 5]
    run.harness.push_all([At(n, time) for n, time in zip((2, 4, 13, 10, 12), times, strict=True)])
    run.harness.end()
    assert run.out == [[2, 4], [4, 10], [10, 12]]
    assert run.dead_letters() == [(13, times[2], "thirteen")]


def test_the_events_of_a_key_are_matched_in_later_batches_too() -> None:
    run = PatternRun(PAIR)
    run.harness.push_all([At(2, 1), At(13, 2), Mark(2)])
    run.harness.push_all([At(4, 3), At(10, 4), Mark(4)])
    assert (run.out, len(run.dead)) == ([[2, 4], [4, 10]], 1)


@pytest.mark.parametrize("in_event_time", [False, True])
def test_an_event_whose_match_fails_is_as_if_it_had_not_arrived(in_event_time: bool) -> None:
    run = PatternRun(PAIR, in_event_time)
    run.harness.push_all([At(2, 1), At(4, 2), At(6, 3), At(8, 4), At(12, 5), Mark(9)])
    assert run.out == [[2, 4], [4, 8], [8, 12]]
    assert [element for element, _, _ in run.dead_letters()] == [6]


def compare(one: int, other: int) -> int:
    if 13 in (one, other):
        raise ValueError("thirteen")
    return one - other


@pytest.mark.parametrize("in_event_time", [False, True])
def test_a_comparator_that_fails_fails_the_job(in_event_time: bool) -> None:
    """The error is about two events, so there is none to leave out."""
    run = PatternRun(PAIR, in_event_time, comparator=compare)
    run.harness.push_all([At(2, 1), At(13, 1)])
    with pytest.raises(UserFunctionError, match="thirteen"):
        run.harness.push_watermark(1) if in_event_time else run.harness.advance_time(2)


@pytest.mark.parametrize("in_event_time", [False, True])
def test_a_failed_timeout_drops_only_partial_matches_that_have_timed_out(in_event_time: bool) -> None:
    run = PatternRun(PAIR.within(10), in_event_time)

    def push(number: int, time: int) -> None:
        with run.harness.batch():
            run.harness.set_time(time)
            run.harness.push_all([At(number, time), Mark(time)])

    for number, time in ((8, 1), (10, 20), (3, 40), (2, 50), (4, 51), (12, 52)):
        push(number, time)
    assert (run.out, run.timed_out) == ([[2, 4], [4, 12]], [10])
    assert run.dead_letters() == [(None, 11, "eight")]
