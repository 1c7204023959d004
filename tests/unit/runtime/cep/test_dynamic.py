"""Patterns from a stream that change while the job runs."""

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


class FormatMatch(PatternProcessFunction[Any, str]):
    def process_match(self, match: Any, ctx: PatternContext) -> Iterable[str]:
        yield f"{ctx.pattern_id()}: " + " ".join(f"{e[0]}{e[1]}" for events in match.values() for e in events)


def letters_in_order(letters: str) -> Pattern[Any]:
    """Returns a pattern of letters that follow each other."""
    pattern: Any = None
    for letter in letters:
        pattern = Pattern.begin(letter) if pattern is None else pattern.followed_by(letter)
        pattern = pattern.where(lambda e, letter=letter: e[0] == letter)
    return pattern  # type: ignore[no-any-return]


def build_job(on_error: Any = "fail") -> tuple[StreamExecutionEnvironment, DataStream[str]]:
    env = StreamExecutionEnvironment()
    events = env.from_source(PushSource(), None, "events").key_by(lambda e: e[2])
    updates = env.from_source(PushSource(), None, "updates")
    matches = CEP.dynamic_patterns(events, updates, pattern_of=letters_in_order).process(
        FormatMatch(), on_error=on_error
    )
    return env, matches.uid("cep")


class PatternJob:
    """A harness in which only events advance the watermark, not pattern updates."""

    def __init__(self, parallelism: int = 2) -> None:
        env, matches = build_job()
        self.harness = Harness(env, parallelism=parallelism)
        self.out = self.harness.collect(matches)

    def update(self, *updates: PatternUpdate) -> None:
        with self.harness.batch():
            self.harness.push_all(list(updates), source="updates")

    def events(self, text: str, until: int) -> None:
        items: list[Any] = [At((word[0], int(word[1:]), "k"), int(word[1:])) for word in text.split()]
        self.harness.push_all([*items, Mark(until)], source="events")
        self.harness.push_watermark(until, source="updates")


def test_patterns_are_added_replaced_and_removed() -> None:
    job = PatternJob()
    job.events("a1 b2", 2)
    job.update(PatternUpdate("p", "ab"))
    job.events("a3 b4", 4)
    assert job.out.take() == ["p: a3 b4"]
    job.update(PatternUpdate("q", "bc"))
    job.events("a5 b6 c7", 7)
    assert sorted(job.out.take()) == ["p: a5 b6", "q: b6 c7"]
    job.update(PatternUpdate("p", "cb"), PatternUpdate("q", None))
    job.events("a8 b9 c10 b11", 11)
    assert job.out.take() == ["p: c10 b11"]
    job.update(PatternUpdate("p", None))
    job.events("c12 b13", 13)
    assert job.out.take() == []


def test_a_pattern_sees_only_events_after_it() -> None:
    job = PatternJob()
    job.update(PatternUpdate("p", "ab"))
    job.events("a5", 1)
    job.update(PatternUpdate("q", "ab"))
    job.events("b6", 9)
    assert job.out.take() == ["p: a5 b6"]


def test_partial_matches_of_a_replaced_pattern_are_dropped() -> None:
    job = PatternJob()
    job.update(PatternUpdate("p", "ab"))
    job.events("a1", 1)
    job.update(PatternUpdate("p", "abc"))
    job.events("b2 c3", 3)
    assert job.out.take() == []
    job.events("a4 b5 c6", 6)
    assert job.out.take() == ["p: a4 b5 c6"]


def test_versions_that_are_not_newer_are_ignored() -> None:
    job = PatternJob()
    job.update(PatternUpdate("p", "ab", version=2))
    job.events("a1", 1)
    job.update(PatternUpdate("p", "xy", version=1), PatternUpdate("p", "ab", version=2))
    job.events("b2", 2)
    assert job.out.take() == ["p: a1 b2"]
    job.update(PatternUpdate("p", "xy", version=3))
    job.events("x3 y4", 4)
    assert job.out.take() == ["p: x3 y4"]


def test_patterns_and_partial_matches_are_restored_with_another_parallelism() -> None:
    first = PatternJob(2)
    first.update(PatternUpdate("p", "abc"))
    first.events("a1", 1)
    first.events("b3", 2)
    second = PatternJob(3)
    second.harness.restore(first.harness.snapshot())
    second.events("c4", 9)
    assert second.out.take() == ["p: a1 b3 c4"]


def test_patterns_of_a_failed_batch_are_not_added() -> None:
    job = PatternJob()
    with pytest.raises(UserFunctionError, match=r"TypeError.*pattern 'bad'"), job.harness.batch():
        job.harness.push_all([PatternUpdate("p", "ab"), PatternUpdate("bad", 7)], source="updates")
    job.events("a1 b2", 2)
    assert job.out.take() == []
    job.update(PatternUpdate("p", "ab"))
    job.events("a3 b4", 4)
    assert job.out.take() == ["p: a3 b4"]


def test_invalid_updates_fail_the_job_or_become_dead_letters() -> None:
    with pytest.raises(PlanError, match="PATTERN_ID"):
        PatternUpdate("", "ab")
    job = PatternJob()
    with pytest.raises(ElementError, match="PATTERN_UPDATE"):
        job.harness.push("ab", source="updates")
    env, matches = build_job("dead_letter")
    harness = Harness(env)
    out, dead_letters = harness.collect(matches), harness.side_output(DEAD_LETTERS)
    with harness.batch():
        harness.push_all([PatternUpdate("bad", 7), PatternUpdate("p", "ab")], source="updates")
    harness.push_all([At(("a", 1, "k"), 1), At(("b", 2, "k"), 2), Mark(2)], source="events")
    harness.push_watermark(2, source="updates")
    assert (out, len(dead_letters)) == (["p: a1 b2"], 1)


def test_updates_must_be_a_stream() -> None:
    env = StreamExecutionEnvironment()
    events = env.from_sequence(1, 3)
    with pytest.raises(PlanError, match="PATTERN_UPDATE"):
        CEP.dynamic_patterns(events, [PatternUpdate("p", "ab")])  # type: ignore[arg-type]
