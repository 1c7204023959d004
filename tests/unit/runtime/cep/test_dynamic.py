"""Patterns that come as a stream, and change while the job runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock import DEAD_LETTERS, StreamExecutionEnvironment
from penstock.cep import CEP, Pattern, PatternContext, PatternProcessFunction, PatternUpdate
from penstock.connectors import At, Mark
from penstock.datastream import DataStream
from penstock.errors import ElementError, PlanError, UserFunctionError
from penstock.testing import Harness, PushSource


class Named(PatternProcessFunction[Any, str]):
    def process_match(self, match: Any, ctx: PatternContext) -> Iterable[str]:
        yield f"{ctx.pattern_id()}: " + " ".join(f"{e[0]}{e[1]}" for events in match.values() for e in events)


def then(letters: str) -> Pattern[Any]:
    """One letter followed by the next: a pattern of a rule that is only text."""
    made: Any = None
    for letter in letters:
        made = Pattern.begin(letter) if made is None else made.followed_by(letter)
        made = made.where(lambda e, letter=letter: e[0] == letter)
    return made  # type: ignore[no-any-return]


def built(on_error: Any = "fail") -> tuple[StreamExecutionEnvironment, DataStream[str]]:
    env = StreamExecutionEnvironment()
    events = env.from_source(PushSource(), None, "events").key_by(lambda e: e[2])
    updates = env.from_source(PushSource(), None, "updates")
    found = CEP.dynamic_patterns(events, updates, pattern_of=then).process(Named(), on_error=on_error)
    return env, found.uid("cep")


class Told:
    """A harness whose updates come with the highest watermark, so that events alone move time."""

    def __init__(self, parallelism: int = 2) -> None:
        env, found = built()
        self.harness = Harness(env, parallelism=parallelism)
        self.out = self.harness.collect(found)

    def update(self, *updates: PatternUpdate) -> None:
        with self.harness.batch():
            self.harness.push_all(list(updates), source="updates")

    def events(self, told: str, until: int) -> None:
        items: list[Any] = [At((word[0], int(word[1:]), "k"), int(word[1:])) for word in told.split()]
        self.harness.push_all([*items, Mark(until)], source="events")
        self.harness.push_watermark(until, source="updates")


def test_patterns_are_added_replaced_and_taken_away() -> None:
    told = Told()
    told.events("a1 b2", 2)
    told.update(PatternUpdate("p", "ab"))
    told.events("a3 b4", 4)
    assert told.out.take() == ["p: a3 b4"]
    told.update(PatternUpdate("q", "bc"))
    told.events("a5 b6 c7", 7)
    assert sorted(told.out.take()) == ["p: a5 b6", "q: b6 c7"]
    told.update(PatternUpdate("p", "cb"), PatternUpdate("q", None))
    told.events("a8 b9 c10 b11", 11)
    assert told.out.take() == ["p: c10 b11"]
    told.update(PatternUpdate("p", None))
    told.events("c12 b13", 13)
    assert told.out.take() == []


def test_a_pattern_sees_the_events_behind_it() -> None:
    told = Told()
    told.update(PatternUpdate("p", "ab"))
    told.events("a5", 1)
    told.update(PatternUpdate("q", "ab"))
    told.events("b6", 9)
    assert told.out.take() == ["p: a5 b6"]


def test_what_was_under_way_for_an_old_pattern_is_dropped() -> None:
    told = Told()
    told.update(PatternUpdate("p", "ab"))
    told.events("a1", 1)
    told.update(PatternUpdate("p", "abc"))
    told.events("b2 c3", 3)
    assert told.out.take() == []
    told.events("a4 b5 c6", 6)
    assert told.out.take() == ["p: a4 b5 c6"]


def test_versions_that_are_not_newer_change_nothing() -> None:
    told = Told()
    told.update(PatternUpdate("p", "ab", version=2))
    told.events("a1", 1)
    told.update(PatternUpdate("p", "xy", version=1), PatternUpdate("p", "ab", version=2))
    told.events("b2", 2)
    assert told.out.take() == ["p: a1 b2"]
    told.update(PatternUpdate("p", "xy", version=3))
    told.events("x3 y4", 4)
    assert told.out.take() == ["p: x3 y4"]


def test_patterns_and_partial_matches_survive_a_restore_with_other_slots() -> None:
    first = Told(2)
    first.update(PatternUpdate("p", "abc"))
    first.events("a1", 1)
    first.events("b3", 2)
    second = Told(3)
    second.harness.restore(first.harness.snapshot())
    second.events("c4", 9)
    assert second.out.take() == ["p: a1 b3 c4"]


def test_a_batch_that_fails_takes_its_patterns_with_it() -> None:
    told = Told()
    with pytest.raises(UserFunctionError, match=r"TypeError.*pattern 'bad'"), told.harness.batch():
        told.harness.push_all([PatternUpdate("p", "ab"), PatternUpdate("bad", 7)], source="updates")
    told.events("a1 b2", 2)
    assert told.out.take() == []
    told.update(PatternUpdate("p", "ab"))
    told.events("a3 b4", 4)
    assert told.out.take() == ["p: a3 b4"]


def test_bad_updates_are_named_and_can_be_put_aside() -> None:
    with pytest.raises(PlanError, match="PATTERN_ID"):
        PatternUpdate("", "ab")
    told = Told()
    with pytest.raises(ElementError, match="PATTERN_UPDATE"):
        told.harness.push("ab", source="updates")
    env, found = built("dead_letter")
    harness = Harness(env)
    out, letters = harness.collect(found), harness.side_output(DEAD_LETTERS)
    with harness.batch():
        harness.push_all([PatternUpdate("bad", 7), PatternUpdate("p", "ab")], source="updates")
    harness.push_all([At(("a", 1, "k"), 1), At(("b", 2, "k"), 2), Mark(2)], source="events")
    harness.push_watermark(2, source="updates")
    assert (out, len(letters)) == (["p: a1 b2"], 1)


def test_updates_are_a_stream() -> None:
    env = StreamExecutionEnvironment()
    events = env.from_sequence(1, 3)
    with pytest.raises(PlanError, match="PATTERN_UPDATE"):
        CEP.dynamic_patterns(events, [PatternUpdate("p", "ab")])  # type: ignore[arg-type]
