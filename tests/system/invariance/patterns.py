"""Builds the patterns of a description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.cep import CEP, AfterMatchSkipStrategy, WithinType
from penstock.cep import Pattern as CepPattern
from penstock.datastream import DataStream
from tests.system.invariance import functions as f
from tests.system.invariance import program as p


def match_stream(spec: p.Match, stream: DataStream[Any], on_error: Any) -> Any:
    """Returns the matches of a pattern in a stream."""
    keyed = stream if spec.by is None else stream.key_by(f.KeyOf(spec.by))
    matches = CEP.pattern(keyed, cep_pattern(spec))
    if spec.time == "processing":
        matches = matches.in_processing_time()
    if spec.late_output:
        matches = matches.side_output_late_data(f.LATE)
    function = f.ShowMatchAndTimeout if spec.timeouts else f.ShowMatch
    return matches.process(function(0 if spec.condition_fails else spec.fails), on_error=on_error)


def cep_pattern(spec: p.Match) -> Any:
    steps, fails = list(enumerate(spec.steps)), spec.fails if spec.condition_fails else 0
    if spec.group == "none":
        pattern = _sequence(steps, _skip(spec), fails)
    else:
        pattern = _sequence(steps[:1], _skip(spec), fails).followed_by(_sequence(steps[1:]))
        match spec.group:
            case "times":
                pattern = pattern.times(2)
            case "optional":
                pattern = pattern.optional()
            case "one_or_more":
                pattern = pattern.one_or_more()
    return pattern.within(spec.within) if spec.within else pattern


def _skip(spec: p.Match) -> AfterMatchSkipStrategy:
    strategy = getattr(AfterMatchSkipStrategy, spec.skip)
    skip: AfterMatchSkipStrategy = strategy(_name(spec.skip_to)) if spec.skip in SKIPS_TO_STEP else strategy()
    return skip


SKIPS_TO_STEP = ("skip_to_first", "skip_to_last")


def _sequence(
    steps: Sequence[tuple[int, p.PatternStep]], skip: AfterMatchSkipStrategy | None = None, fails: int = 0
) -> Any:
    pattern: Any = None
    for number, step in steps:
        first = pattern is None
        follows = CepPattern.begin(_name(number), skip) if first else _follow(pattern, step, number)
        pattern = _with_quantifier(_with_conditions(follows, step, fails if first else 0), step)
    return pattern


def _name(number: int) -> str:
    return f"p{number}"


def _follow(pattern: Any, step: p.PatternStep, number: int) -> Any:
    return getattr(pattern, step.strategy)(_name(number))


def _with_conditions(pattern: Any, step: p.PatternStep, fails: int) -> Any:
    larger = step.remainder is None
    pattern = pattern.where(f.IsLarger(_name(0)) if larger else f.HasRemainder(step.remainder or 0, fails))
    return pattern.or_where(f.IsMultiple(7)) if step.either else pattern


def _with_quantifier(pattern: Any, step: p.PatternStep) -> Any:
    match step.quantifier:
        case "optional":
            pattern = pattern.optional()
        case "one_or_more":
            pattern = pattern.one_or_more()
        case "times":
            pattern = pattern.times(2)
        case "times from to":
            pattern = pattern.times(1, 3)
        case "greedy":
            pattern = pattern.one_or_more().greedy()
        case "greedy times":
            pattern = pattern.times(1, 2).greedy()
        case "consecutive":
            pattern = pattern.one_or_more().consecutive()
        case "combinations":
            pattern = pattern.times(2).allow_combinations()
        case "times_or_more":
            pattern = pattern.times_or_more(2)
        case "any number":
            pattern = pattern.one_or_more().optional()
    if step.until is not None:
        pattern = pattern.until(f.HasRemainder(step.until))
    return pattern.within(step.within, WithinType.PREVIOUS_AND_CURRENT) if step.within else pattern
