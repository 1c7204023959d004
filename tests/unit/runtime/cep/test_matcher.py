"""Compares the automaton with the oracle, which tries all choices of events."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.errors import UserFunctionError
from penstock.runtime.cep.automaton import NOT_EVALUATED
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.key_state import KeyState, decode_key_state, encode_key_state
from penstock.runtime.cep.matcher import Event, Matcher, MatchState
from tests.unit.runtime.cep.oracle import ANY, NEXT, STRICT, Step, find_matches, make_pattern

contiguities = st.sampled_from([STRICT, NEXT, ANY])
LETTERS = "abcx"


@st.composite
def patterns(draw: st.DrawFn) -> list[Step]:
    letters = draw(st.permutations("abc"))[: draw(st.integers(1, 3))]
    steps = []
    for number, letter in enumerate(letters):
        loop = draw(st.one_of(st.none(), st.none(), contiguities))
        optional = number not in (0, len(letters) - 1) and draw(st.booleans())
        steps.append(Step(draw(contiguities), letter, loop, optional))
    return steps


def run_all(
    matcher: Matcher, letters: str, times: list[int], *, reload: bool = False
) -> tuple[list[dict[str, list[Any]]], MatchState]:
    """Returns all matches. With `reload` the state is encoded and decoded after each event."""
    state = KeyState()
    state.match_states["p"] = "1", matcher.initial_state()
    matches = []
    for number, (letter, time) in enumerate(zip(letters, times, strict=True)):
        run = state.match_states["p"][1]
        while (deadline := matcher.deadline(run)) is not None and deadline <= time:
            completed, _ = matcher.time_out(run, deadline)
            matches += [matcher.match_events(link) for link in completed]
        matches += [matcher.match_events(link) for link in process(matcher, run, number, time, letter)]
        if reload:
            state, dropped = decode_key_state(encode_key_state(state, _bytes), {"p": ("1", matcher)})
            assert not dropped
    return matches, state.match_states["p"][1]


def process(matcher: Matcher, run: MatchState, number: int, time: int, letter: str) -> list[Any]:
    event = Event(time, (letter, number))
    event.number = number
    return matcher.process_event(run, event, matcher.automaton.evaluate_conditions(event.value))


def _bytes(value: tuple[str, int]) -> bytes:
    return f"{value[0]}{value[1]}".encode()


def _value(data: bytes) -> tuple[str, int]:
    return data[:1].decode(), int(data[1:])


def make_matcher(pattern: Pattern[Any]) -> Matcher:
    return Matcher(compile_pattern(pattern), _value)


def positions(matches: list[dict[str, list[Any]]]) -> list[list[int]]:
    return sorted(sorted(number for events in match.values() for _, number in events) for match in matches)


@given(
    patterns(),
    st.text(LETTERS, max_size=9),
    st.lists(st.integers(0, 3), min_size=9, max_size=9),
    st.one_of(st.none(), st.integers(1, 9)),
    st.booleans(),
)
def test_matches_equal_the_oracle(
    steps: list[Step], letters: str, gaps: list[int], within: int | None, reload: bool
) -> None:
    times = list(accumulate(gaps))[: len(letters)]
    matches, _ = run_all(make_matcher(make_pattern(steps, within)), letters, times, reload=reload)
    assert positions(matches) == find_matches(steps, letters, times, within)


@given(patterns(), st.text(LETTERS, max_size=12))
def test_unmatched_events_change_nothing(steps: list[Step], letters: str) -> None:
    matcher = make_matcher(make_pattern(steps))
    run = matcher.initial_state()
    for number, letter in enumerate(letters):
        before = list(run.partials)
        completed = process(matcher, run, number, number, letter)
        if matcher.automaton.ignores_unmatched_events and not matcher.automaton.evaluate_conditions((letter, number)):
            assert not completed
            assert run.partials == before


def test_only_patterns_with_strict_steps_process_unmatched_events() -> None:
    relaxed = make_matcher(make_pattern([Step(NEXT, "a"), Step(NEXT, "b"), Step(ANY, "c")])).automaton
    strict = make_matcher(make_pattern([Step(NEXT, "a"), Step(STRICT, "b")])).automaton
    assert [relaxed.evaluate_conditions((letter, 0)) for letter in "abcx"] == [1, 2, 4, 0]
    assert (relaxed.ignores_unmatched_events, strict.ignores_unmatched_events) == (True, False)


def test_a_condition_that_raises_is_evaluated_later() -> None:
    automaton = make_matcher(
        Pattern.begin("a").where(lambda e: e[0] == "a").followed_by("b").where(lambda e: e[7] > 0)
    ).automaton
    assert automaton.evaluate_conditions(("x", 0)) == NOT_EVALUATED


@given(st.text("ab", max_size=14), st.integers(1, 5))
def test_partial_matches_time_out(letters: str, within: int) -> None:
    matcher = make_matcher(make_pattern([Step(NEXT, "a", loop=ANY), Step(NEXT, "c")], within))
    _, run = run_all(matcher, letters, list(range(len(letters))))
    assert all(len(letters) - 1 - started < within for _, _, link, started, _ in run.partials if link is not None)
    deadline = len(letters) + within
    matcher.time_out(run, deadline)
    assert matcher.is_idle(run)


@given(st.text("abx", max_size=12))
def test_events_that_cannot_match_are_released(letters: str) -> None:
    """With strict contiguity, only the last event can be the start of a match."""
    matcher = make_matcher(make_pattern([Step(NEXT, "a"), Step(STRICT, "b")]))
    _, run = run_all(matcher, letters, list(range(len(letters))))
    started = [partial for partial in run.partials if partial[2] is not None]
    assert len(started) == letters.endswith("a")


@given(patterns(), st.text(LETTERS, max_size=9), st.booleans())
def test_skip_past_last_event_emits_no_overlapping_matches(steps: list[Step], letters: str, reload: bool) -> None:
    skipping = make_pattern(steps, skip=AfterMatchSkipStrategy.skip_past_last_event())
    times = list(range(len(letters)))
    skipped = positions(run_all(make_matcher(skipping), letters, times, reload=reload)[0])
    for earlier, later in pairwise(skipped):
        assert earlier[-1] < later[0]
    everything = positions(run_all(make_matcher(make_pattern(steps)), letters, times)[0])
    assert all(match in everything for match in skipped)


@given(patterns(), st.text(LETTERS, max_size=9))
def test_skip_to_next_emits_one_match_per_start(steps: list[Step], letters: str) -> None:
    skipping = make_pattern(steps, skip=AfterMatchSkipStrategy.skip_to_next())
    starts = [match[0] for match in positions(run_all(make_matcher(skipping), letters, list(range(len(letters))))[0])]
    assert len(starts) == len(set(starts))


SKIPS = [
    AfterMatchSkipStrategy.skip_to_first("s1"),  # has no event in the match
    AfterMatchSkipStrategy.skip_to_last("s1"),
    AfterMatchSkipStrategy.skip_to_first("s0"),  # has the first event of the match
]


@pytest.mark.parametrize("skip", SKIPS)
def test_a_skip_that_misses_fails_with_throw_exception_on_miss(skip: AfterMatchSkipStrategy) -> None:
    steps = [Step(NEXT, "a"), Step(NEXT, "b", optional=True), Step(NEXT, "c")]
    matches, _ = run_all(make_matcher(make_pattern(steps, skip=skip)), "ac", [1, 2])
    assert positions(matches) == [[0, 1]]
    with pytest.raises(UserFunctionError, match="PATTERN_SKIP_MISSED"):
        run_all(make_matcher(make_pattern(steps, skip=skip.throw_exception_on_miss())), "ac", [1, 2])


def test_until_can_use_the_events_of_the_loop() -> None:
    """The loop ends when it has two events. The event that ends it is not part of it."""
    pattern = (
        Pattern.begin("start")
        .where(lambda e: e[0] == "a")
        .followed_by("loop")
        .where(lambda e: e[0] == "b")
        .one_or_more()
        .until(lambda e, ctx: len(ctx.get_events_for_pattern("loop")) == 2)
    )
    matches, run = run_all(make_matcher(pattern), "abbbb", [1, 2, 3, 4, 5])
    assert positions(matches) == [[0, 1], [0, 1, 2]]
    assert [link for _, _, link, _, _ in run.partials] == [None]
