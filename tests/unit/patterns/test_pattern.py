"""Invalid patterns are rejected where they are built."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from operator import truth
from typing import Any

import pytest

from penstock import Duration, StreamExecutionEnvironment
from penstock.cep import CEP, AfterMatchSkipStrategy, IterativeCondition, Pattern, SimpleCondition, WithinType
from penstock.errors import PenstockError, PlanError, UnsupportedOperation
from penstock.patterns.check import check_pattern
from penstock.runtime.cep.compiler import compile_pattern


def begin() -> Pattern[Any]:
    return Pattern.begin("a")


INVALID: list[tuple[str, str, Callable[[], Any]]] = [
    ("PATTERN_NAME_TWICE", "'a'", lambda: begin().next("b").followed_by("a")),
    ("PATTERN_NAME_TWICE", "'b'", lambda: begin().next("b").followed_by(Pattern.begin("b").next("c"))),
    ("PATTERN_WITHOUT_END", "not_followed_by('b')", lambda: begin().not_followed_by("b")),
    ("PATTERN_NOT", "optional()", lambda: begin().not_next("b").optional()),
    ("PATTERN_NOT", "one_or_more()", lambda: begin().not_next("b").one_or_more()),
    ("PATTERN_NOT", "times()", lambda: begin().not_followed_by("b").times(2)),
    ("PATTERN_NOT", "greedy()", lambda: begin().not_followed_by("b").greedy()),
    ("PATTERN_NOT_AFTER_OPTIONAL", "'a'", lambda: begin().optional().not_next("b")),
    ("PATTERN_NOT_AFTER_OPTIONAL", "two patterns", lambda: begin().optional().not_followed_by("b")),
    ("PATTERN_NAME", "takes the name", lambda: begin().not_next(begin())),  # type: ignore[arg-type]
    ("PATTERN_NAME", "''", lambda: Pattern.begin("")),
    ("PATTERN_NAME", "7", lambda: begin().next(7)),  # type: ignore[call-overload]
    ("PATTERN_GREEDY", "one event", lambda: begin().greedy()),
    ("PATTERN_GREEDY", "combinations", lambda: begin().one_or_more().allow_combinations().greedy()),
    ("PATTERN_GREEDY", "group", lambda: Pattern.begin(begin()).one_or_more().greedy()),
    ("PATTERN_GREEDY", "'b'", lambda: begin().one_or_more().greedy().followed_by("b").optional()),
    ("PATTERN_UNTIL", "not a loop", lambda: begin().until(truth)),
    ("PATTERN_UNTIL", "not a loop", lambda: begin().times(2).until(truth)),
    ("PATTERN_UNTIL", "already", lambda: begin().one_or_more().until(truth).until(truth)),
    ("PATTERN_TIMES", "0 to 0", lambda: begin().times(0)),
    ("PATTERN_TIMES", "-1", lambda: begin().times(-1)),
    ("PATTERN_TIMES", "3 to 2", lambda: begin().times(3, 2)),
    ("PATTERN_TIMES", "0 to 0", lambda: begin().times_or_more(0)),
    ("PATTERN_QUANTIFIER", "already", lambda: begin().times(2).one_or_more()),
    ("PATTERN_QUANTIFIER", "already", lambda: begin().optional().optional()),
    ("PATTERN_QUANTIFIER", "forget", lambda: begin().optional().one_or_more()),
    ("PATTERN_QUANTIFIER", "one event", lambda: begin().consecutive()),
    ("PATTERN_QUANTIFIER", "one event", lambda: begin().allow_combinations()),
    ("PATTERN_QUANTIFIER", "once", lambda: begin().times(2).consecutive().allow_combinations()),
    ("PATTERN_QUANTIFIER", "once", lambda: begin().times(2).allow_combinations().allow_combinations()),
    ("PATTERN_WITHIN", "0 ms", lambda: begin().within(0)),
    ("PATTERN_WITHIN", "-5 ms", lambda: begin().within(timedelta(milliseconds=-5))),
    ("PATTERN_WITHIN", "0 ms", lambda: begin().times(2, window_time=Duration.of_millis(0))),
    (
        "PATTERN_WITHIN",
        "not be larger",
        lambda: begin().next("b").within(20, WithinType.PREVIOUS_AND_CURRENT).next("c").within(10),
    ),
    ("PATTERN_WITHIN", "not be larger", lambda: begin().times(2, window_time=20).within(10)),
    ("PATTERN_GROUP", "where()", lambda: Pattern.begin(begin()).where(truth)),
    ("PATTERN_GROUP", "or_where()", lambda: Pattern.begin(begin()).or_where(truth)),
    ("PATTERN_GROUP", "subtype()", lambda: Pattern.begin(begin()).subtype(int)),
    (
        "PATTERN_SKIP",
        "does not exist",
        lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("z")).next("b"),
    ),
    ("PATTERN_SKIP", "AfterMatchSkipStrategy", lambda: Pattern.begin("a", "no_skip")),  # type: ignore[call-overload]
    ("PATTERN_CONDITION", "a int", lambda: begin().where(3)),  # type: ignore[arg-type]
    ("PATTERN_CONDITION", "the class", lambda: begin().where(SimpleCondition)),  # type: ignore[arg-type]
    ("PATTERN_CONDITION", "a class", lambda: begin().subtype("int")),  # type: ignore[arg-type]
    ("PATTERN_TYPE", "A str", lambda: "a"),
]


@pytest.mark.parametrize(("code", "words", "build"), INVALID, ids=[f"{c}-{w}" for c, w, _ in INVALID])
def test_an_invalid_pattern_is_rejected_with_a_reason(code: str, words: str, build: Callable[[], Any]) -> None:
    with pytest.raises((PlanError, UnsupportedOperation)) as raised:
        check_pattern(build())
    assert raised.value.code == code
    assert words in raised.value.text


def test_cep_checks_the_pattern_when_the_job_is_built() -> None:
    stream = StreamExecutionEnvironment().from_sequence(1, 3)
    with pytest.raises(PlanError, match="PATTERN_WITHOUT_END"):
        CEP.pattern(stream, begin().not_followed_by("b"))
    with pytest.raises(PlanError, match="PATTERN_COMPARATOR"):
        CEP.pattern(stream, begin(), "price")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="PATTERN_TIMEOUT"):
        CEP.pattern(stream, begin()).select(len, timeout_function=lambda match, at: at)
    with pytest.raises(PlanError, match="FUNCTION_TYPE"):
        CEP.pattern(stream, begin()).process(len)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="OUTPUT_TAG"):
        CEP.pattern(stream, begin()).side_output_late_data("late")  # type: ignore[arg-type]


def test_not_followed_by_at_the_end_requires_a_time_limit() -> None:
    check_pattern(begin().not_followed_by("b").within(5))
    check_pattern(begin().not_followed_by("b").within(5, WithinType.PREVIOUS_AND_CURRENT))
    check_pattern(begin().within(5).not_followed_by("b"))


def test_patterns_are_immutable() -> None:
    first = begin()
    first.where(truth)
    first.one_or_more()
    assert first.condition is None
    assert first.quantifier.kind == "single"


class Rising(IterativeCondition[int]):
    def filter(self, value: int, ctx: Any) -> bool:
        return all(value > n for n in ctx.get_events_for_pattern("a"))


def test_conditions_are_distinguished_by_their_parameters() -> None:
    def two(event: Any, ctx: Any) -> bool:
        return True

    def two_with_default(event: Any, least: int = 3) -> bool:
        return True

    kinds = [begin().where(c).condition for c in (two, two_with_default, Rising(), SimpleCondition.of(truth), truth)]
    assert [c.iterative for c in kinds] == [True, False, True, False, False]  # type: ignore[union-attr]


def test_patterns_can_be_pickled() -> None:
    pattern = begin().where(truth).followed_by(Pattern.begin("b").next("c")).times(2).within(Duration.of_seconds(3))
    copy = pickle.loads(pickle.dumps(pattern))
    assert compile_pattern(copy).fingerprint == compile_pattern(pattern).fingerprint
    assert repr(copy) == "a(next, single) -> GroupPattern(followed_by, times)"


def test_times_from_zero_is_optional() -> None:
    step = begin().next("b").times(0, 2)
    assert (step.quantifier.optional, step.get_times()) == (True, begin().times(1, 2).get_times())


def test_errors_of_patterns_are_penstock_errors() -> None:
    with pytest.raises(PenstockError):
        begin().times(0)
