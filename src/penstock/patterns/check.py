"""Checks of a complete pattern before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import PlanError
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.patterns.quantifier import ConsumingStrategy


def check_pattern(pattern: Any) -> None:
    """Raises an error if a pattern is invalid.

    >>> check_pattern(Pattern.begin("a").next("b"))
    """
    if not isinstance(pattern, Pattern):
        raise PlanError(
            "PATTERN_TYPE",
            f"A {type(pattern).__name__} was passed as a pattern. Create a pattern with Pattern.begin(name).",
        )
    _check_groups(pattern)
    names = _names(pattern)
    _check_skip(pattern, set(names))
    _check_windows(pattern)
    if pattern.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW and not (_window(pattern) or pattern.step_window):
        raise PlanError(
            "PATTERN_WITHOUT_END",
            f"The pattern ends with not_followed_by('{pattern.name}') and has no time limit, so it could never match. Add "
            "within(...), or another step after it.",
        )


def _check_groups(pattern: Pattern[Any]) -> None:
    for step in pattern.steps():
        if isinstance(step, GroupPattern):
            group = step.get_raw_pattern()
            _check_groups(group)
            if step.quantifier.kind == "looping" and all(inner.quantifier.optional for inner in group.steps()):
                raise PlanError(
                    "PATTERN_EMPTY_GROUP",
                    f"The group of '{group.name}' is repeated and all its steps are optional, so it could be repeated without "
                    "an event forever. Make one of its steps required, or use times() for the group.",
                )


def all_steps(pattern: Pattern[Any]) -> Iterator[Pattern[Any]]:
    """Yields the steps of a pattern, including those inside its groups, without the groups themselves."""
    for step in pattern.steps():
        if isinstance(step, GroupPattern):
            yield from all_steps(step.get_raw_pattern())
        else:
            yield step


def _names(pattern: Pattern[Any]) -> list[str]:
    names: list[str] = []
    for step in all_steps(pattern):
        if step.name in names:
            raise PlanError(
                "PATTERN_NAME_TWICE",
                f"Two steps of the pattern have the name '{step.name}'. The names in a match must be unique. Rename one.",
            )
        names.append(step.name)
    return names


def _check_skip(pattern: Pattern[Any], names: set[str]) -> None:
    name = pattern.skip.pattern_name
    if name is not None and name not in names:
        raise PlanError(
            "PATTERN_SKIP",
            f"{pattern.skip.kind}('{name}') names a step that does not exist. The steps are {', '.join(sorted(names))}.",
        )


def _window(pattern: Pattern[Any]) -> int | None:
    return min((s.window for s in pattern.steps() if s.window is not None), default=None)


def _check_windows(pattern: Pattern[Any]) -> None:
    window = _window(pattern)
    if window is None:
        return
    for step in pattern.steps():
        step_window = step.repetition.window_time if step.repetition is not None else step.step_window
        if step_window is not None and step_window > window:
            raise PlanError(
                "PATTERN_WITHIN",
                f"Pattern '{step.name}' may follow {step_window} ms after the event before it, but the match may take only "
                f"{window} ms. The first time must not be larger than the second.",
            )
