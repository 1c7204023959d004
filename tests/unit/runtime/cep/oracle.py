"""Matches by trying: every way to choose events, step by step. For patterns without skip strategies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern

STRICT, NEXT, ANY = "next", "followed_by", "followed_by_any"


@dataclass(frozen=True)
class Step:
    """A step of a pattern over letters: how near it is to the one before, which letter, how often."""

    nearness: str
    letter: str
    loop: str | None = None  # nearness within a loop of one or more; None: one event
    optional: bool = False


@dataclass(frozen=True)
class IsLetter:
    letter: str

    def __call__(self, event: Any) -> bool:
        return bool(event[0] == self.letter)


def pattern_of(
    steps: Sequence[Step], within: int | None = None, skip: AfterMatchSkipStrategy | None = None
) -> Pattern[Any]:
    made: Any = None
    for number, step in enumerate(steps):
        name = f"s{number}"
        made = Pattern.begin(name, skip) if made is None else getattr(made, step.nearness)(name)
        made = made.where(IsLetter(step.letter))
        if step.loop is not None:
            made = made.one_or_more()
            made = {STRICT: made.consecutive, NEXT: lambda made=made: made, ANY: made.allow_combinations}[step.loop]()
        if step.optional:
            made = made.optional()
    return made.within(within)  # type: ignore[no-any-return]


def matches(steps: Sequence[Step], letters: str, times: Sequence[int], within: int | None = None) -> list[list[int]]:
    """The positions of the events of each match."""
    found = []
    for chosen in _chosen(steps, 0, [], letters):
        if chosen and (within is None or times[chosen[-1]] - times[chosen[0]] < within):
            found.append(chosen)
    return sorted(found)


def _chosen(steps: Sequence[Step], number: int, before: list[int], letters: str) -> Iterator[list[int]]:
    if number == len(steps):
        yield before
        return
    step = steps[number]
    if step.optional:
        yield from _chosen(steps, number + 1, before, letters)
    near = step.nearness if before else ANY
    for first in _candidates(near, step.letter, before[-1] if before else -1, letters):
        for taken in _repeated(step, [first], letters):
            yield from _chosen(steps, number + 1, before + taken, letters)


def _repeated(step: Step, taken: list[int], letters: str) -> Iterator[list[int]]:
    yield taken
    if step.loop is not None:
        for another in _candidates(step.loop, step.letter, taken[-1], letters):
            yield from _repeated(step, [*taken, another], letters)


def _candidates(nearness: str, letter: str, behind: int, letters: str) -> list[int]:
    if nearness == STRICT:
        at = behind + 1
        return [at] if at < len(letters) and letters[at] == letter else []
    fitting = [i for i in range(behind + 1, len(letters)) if letters[i] == letter]
    return fitting[:1] if nearness == NEXT else fitting
