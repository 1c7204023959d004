"""The automaton against the oracle that tries everything."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.errors import UserFunctionError
from penstock.runtime.cep.automaton import UNKNOWN
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.key_state import KeyState, pack, unpack
from penstock.runtime.cep.matcher import Event, Matcher, Run
from tests.cep.oracle import ANY, NEXT, STRICT, Step, matches, pattern_of

nearness = st.sampled_from([STRICT, NEXT, ANY])
LETTERS = "abcx"


@st.composite
def patterns(draw: st.DrawFn) -> list[Step]:
    letters = draw(st.permutations("abc"))[: draw(st.integers(1, 3))]
    steps = []
    for number, letter in enumerate(letters):
        loop = draw(st.one_of(st.none(), st.none(), nearness))
        optional = number not in (0, len(letters) - 1) and draw(st.booleans())
        steps.append(Step(draw(nearness), letter, loop, optional))
    return steps


def run_all(
    matcher: Matcher, letters: str, times: list[int], *, again: bool = False
) -> tuple[list[dict[str, list[Any]]], Run]:
    """All matches; with `again` the state is written and read back before each event."""
    state = KeyState()
    state.runs["p"] = "1", matcher.begin()
    found = []
    for number, (letter, time) in enumerate(zip(letters, times, strict=True)):
        run = state.runs["p"][1]
        while (deadline := matcher.deadline(run)) is not None and deadline <= time:
            completed, _ = matcher.time_out(run, deadline)
            found += [matcher.events_of(taken) for taken in completed]
        found += [matcher.events_of(taken) for taken in show(matcher, run, number, time, letter)]
        if again:
            state, gone = unpack(pack(state, _bytes), {"p": ("1", matcher)})
            assert not gone
    return found, state.runs["p"][1]


def show(matcher: Matcher, run: Run, number: int, time: int, letter: str) -> list[Any]:
    event = Event(time, (letter, number))
    event.number = number
    return matcher.step(run, event, matcher.automaton.conditions_of(event.value))


def _bytes(value: tuple[str, int]) -> bytes:
    return f"{value[0]}{value[1]}".encode()


def _value(data: bytes) -> tuple[str, int]:
    return data[:1].decode(), int(data[1:])


def made(pattern: Pattern[Any]) -> Matcher:
    return Matcher(compile_pattern(pattern), _value)


def positions(found: list[dict[str, list[Any]]]) -> list[list[int]]:
    return sorted(sorted(number for events in match.values() for _, number in events) for match in found)


@given(
    patterns(),
    st.text(LETTERS, max_size=9),
    st.lists(st.integers(0, 3), min_size=9, max_size=9),
    st.one_of(st.none(), st.integers(1, 9)),
    st.booleans(),
)
def test_matches_are_those_that_trying_finds(
    steps: list[Step], letters: str, gaps: list[int], within: int | None, again: bool
) -> None:
    times = list(accumulate(gaps))[: len(letters)]
    found, _ = run_all(made(pattern_of(steps, within)), letters, times, again=again)
    assert positions(found) == matches(steps, letters, times, within)


@given(patterns(), st.text(LETTERS, max_size=12))
def test_what_concerns_no_pattern_changes_nothing(steps: list[Step], letters: str) -> None:
    matcher = made(pattern_of(steps))
    run = matcher.begin()
    for number, letter in enumerate(letters):
        before = list(run.partials)
        found = show(matcher, run, number, number, letter)
        if matcher.automaton.quiet and not matcher.automaton.conditions_of((letter, number)):
            assert not found
            assert run.partials == before


def test_events_of_other_kinds_concern_only_patterns_with_strict_steps() -> None:
    relaxed = made(pattern_of([Step(NEXT, "a"), Step(NEXT, "b"), Step(ANY, "c")])).automaton
    strict = made(pattern_of([Step(NEXT, "a"), Step(STRICT, "b")])).automaton
    assert [relaxed.conditions_of((letter, 0)) for letter in "abcx"] == [1, 2, 4, 0]
    assert (relaxed.quiet, strict.quiet) == (True, False)


def test_a_condition_that_fails_on_an_event_lets_the_pattern_decide() -> None:
    automaton = made(
        Pattern.begin("a").where(lambda e: e[0] == "a").followed_by("b").where(lambda e: e[7] > 0)
    ).automaton
    assert automaton.conditions_of(("x", 0)) == UNKNOWN


@given(st.text("ab", max_size=14), st.integers(1, 5))
def test_partial_matches_are_gone_when_their_time_is_over(letters: str, within: int) -> None:
    matcher = made(pattern_of([Step(NEXT, "a", loop=ANY), Step(NEXT, "c")], within))
    _, run = run_all(matcher, letters, list(range(len(letters))))
    assert all(len(letters) - 1 - started < within for _, _, taken, started, _ in run.partials if taken is not None)
    deadline = len(letters) + within
    matcher.time_out(run, deadline)
    assert matcher.is_idle(run)


@given(st.text("abx", max_size=12))
def test_nothing_is_kept_of_what_cannot_match(letters: str) -> None:
    """Strictly one after the other: at most the last event can be the start of a match."""
    matcher = made(pattern_of([Step(NEXT, "a"), Step(STRICT, "b")]))
    _, run = run_all(matcher, letters, list(range(len(letters))))
    under_way = [partial for partial in run.partials if partial[2] is not None]
    assert len(under_way) == letters.endswith("a")


@given(patterns(), st.text(LETTERS, max_size=9), st.booleans())
def test_past_the_last_event_matches_do_not_overlap(steps: list[Step], letters: str, again: bool) -> None:
    skipping = pattern_of(steps, skip=AfterMatchSkipStrategy.skip_past_last_event())
    times = list(range(len(letters)))
    found = positions(run_all(made(skipping), letters, times, again=again)[0])
    for earlier, later in pairwise(found):
        assert earlier[-1] < later[0]
    everything = positions(run_all(made(pattern_of(steps)), letters, times)[0])
    assert all(match in everything for match in found)


@given(patterns(), st.text(LETTERS, max_size=9))
def test_to_the_next_event_each_start_matches_once(steps: list[Step], letters: str) -> None:
    skipping = pattern_of(steps, skip=AfterMatchSkipStrategy.skip_to_next())
    starts = [match[0] for match in positions(run_all(made(skipping), letters, list(range(len(letters))))[0])]
    assert len(starts) == len(set(starts))


SKIPS = [
    AfterMatchSkipStrategy.skip_to_first("s1"),  # has no event in the match
    AfterMatchSkipStrategy.skip_to_last("s1"),
    AfterMatchSkipStrategy.skip_to_first("s0"),  # has the first event of the match
]


@pytest.mark.parametrize("skip", SKIPS)
def test_a_skip_that_misses_fails_only_when_it_was_told_to(skip: AfterMatchSkipStrategy) -> None:
    steps = [Step(NEXT, "a"), Step(NEXT, "b", optional=True), Step(NEXT, "c")]
    found, _ = run_all(made(pattern_of(steps, skip=skip)), "ac", [1, 2])
    assert positions(found) == [[0, 1]]
    with pytest.raises(UserFunctionError, match="PATTERN_SKIP_MISSED"):
        run_all(made(pattern_of(steps, skip=skip.throw_exception_on_miss())), "ac", [1, 2])


def test_a_loop_may_end_by_what_it_has_taken() -> None:
    """Until the loop has two events; the event that ends it is no part of it."""
    pattern = (
        Pattern.begin("start")
        .where(lambda e: e[0] == "a")
        .followed_by("loop")
        .where(lambda e: e[0] == "b")
        .one_or_more()
        .until(lambda e, ctx: len(ctx.get_events_for_pattern("loop")) == 2)
    )
    found, run = run_all(made(pattern), "abbbb", [1, 2, 3, 4, 5])
    assert positions(found) == [[0, 1], [0, 1, 2]]
    assert [taken for _, _, taken, _, _ in run.partials] == [None]
