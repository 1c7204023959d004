"""Whole patterns, checked before they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import PlanError
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.patterns.quantifier import ConsumingStrategy


def check_pattern(pattern: Any) -> None:
    """Refuses a pattern that cannot work.

    >>> check_pattern(Pattern.begin("a").next("b"))
    """
    if not isinstance(pattern, Pattern):
        raise PlanError(
            "PATTERN_TYPE", f"A {type(pattern).__name__} was given as a pattern. Make one with Pattern.begin(name)."
        )
    names = _names(pattern)
    _check_skip(pattern, set(names))
    _check_windows(pattern)
    if pattern.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW and not (_window(pattern) or pattern.step_window):
        raise PlanError(
            "PATTERN_WITHOUT_END",
            f"The pattern ends with not_followed_by('{pattern.name}') and has no time: it could never be said that the event "
            "did not come. Add within(...), or a step behind it.",
        )


def all_steps(pattern: Pattern[Any]) -> Iterator[Pattern[Any]]:
    """The steps of a pattern, and of the groups in it; not the groups themselves."""
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
                f"Two patterns have the name '{step.name}'; a match could not tell their events apart. Rename one.",
            )
        names.append(step.name)
    return names


def _check_skip(pattern: Pattern[Any], names: set[str]) -> None:
    wanted = pattern.skip.pattern_name
    if wanted is not None and wanted not in names:
        raise PlanError(
            "PATTERN_SKIP",
            f"{pattern.skip.kind}('{wanted}') names no pattern; there are {', '.join(sorted(names))}.",
        )


def _window(pattern: Pattern[Any]) -> int | None:
    return min((s.window for s in pattern.steps() if s.window is not None), default=None)


def _check_windows(pattern: Pattern[Any]) -> None:
    whole = _window(pattern)
    if whole is None:
        return
    for step in pattern.steps():
        between = step.repetition.window_time if step.repetition is not None else step.step_window
        if between is not None and between > whole:
            raise PlanError(
                "PATTERN_WITHIN",
                f"Pattern '{step.name}' may come {between} ms behind the event before it, and the whole match may take "
                f"{whole} ms. The first must not be larger.",
            )
