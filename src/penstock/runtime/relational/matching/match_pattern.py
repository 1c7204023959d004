"""The pattern of MATCH_RECOGNIZE as a pattern of events: each row directly follows the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.patterns.condition import Condition
from penstock.patterns.pattern import Pattern
from penstock.patterns.skip import AfterMatchSkipStrategy
from penstock.runtime.relational.specs.match import MatchSkip, PatternStep


def match_pattern(
    steps: Sequence[PatternStep], skip: MatchSkip, within: int | None, conditions: Mapping[str, Condition]
) -> Pattern[Any]:
    """Returns the pattern. A variable without condition takes any row. Raises PlanError for what a pattern cannot express.

    >>> match_pattern([PatternStep("A", 1, None), PatternStep("B")], MatchSkip(), None, {})
    A(next, looping greedy) -> B(next, single)
    """
    pattern: Pattern[Any] | None = None
    for step in steps:
        pattern = Pattern.begin(step.variable, _strategy(skip)) if pattern is None else pattern.next(step.variable)
        if step.variable in conditions:
            pattern = pattern.where(conditions[step.variable])
        pattern = _quantified(pattern, step)
    assert pattern is not None
    return pattern.within(within)


def _quantified(pattern: Pattern[Any], step: PatternStep) -> Pattern[Any]:
    low, high = step.minimum, step.maximum
    if (low, high) == (1, 1):
        return pattern
    if (low, high) == (0, 1):
        return pattern.optional()
    if high is not None:
        repeated = pattern.times(low, high).consecutive()
    elif low == 0:
        repeated = pattern.one_or_more().consecutive().optional()
    else:
        repeated = pattern.times_or_more(low).consecutive()
    return repeated if step.reluctant or low == high else repeated.greedy()


def _strategy(skip: MatchSkip) -> AfterMatchSkipStrategy:
    match skip.kind:
        case "NEXT ROW":
            return AfterMatchSkipStrategy.skip_to_next()
        case "PAST LAST ROW":
            return AfterMatchSkipStrategy.skip_past_last_event()
        case "FIRST":
            return AfterMatchSkipStrategy.skip_to_first(skip.variable).throw_exception_on_miss()
        case "LAST":
            return AfterMatchSkipStrategy.skip_to_last(skip.variable).throw_exception_on_miss()
