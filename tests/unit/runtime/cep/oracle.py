"""Finds matches by trying every choice of events, step by step. For patterns without skip strategies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern

STRICT, NEXT, ANY = "next", "followed_by", "followed_by_any"


@dataclass(frozen=True)
class Step:
    """A step of a pattern of letters: its contiguity to the previous step, its letter, and how often it matches."""

    contiguity: str
    letter: str
    loop: str | None = None  # contiguity within a loop of one or more events; None for a single event
    optional: bool = False


@dataclass(frozen=True)
class IsLetter:
    letter: str

    def __call__(self, event: Any) -> bool:
        return bool(event[0] == self.letter)


def make_pattern(
    steps: Sequence[Step], within: int | None = None, skip: AfterMatchSkipStrategy | None = None
) -> Pattern[Any]:
    pattern: Any = None
    for number, step in enumerate(steps):
        name = f"s{number}"
        pattern = Pattern.begin(name, skip) if pattern is None else getattr(pattern, step.contiguity)(name)
        pattern = pattern.where(IsLetter(step.letter))
        if step.loop is not None:
            pattern = pattern.one_or_more()
            if step.loop == STRICT:
                pattern = pattern.consecutive()
            elif step.loop == ANY:
                pattern = pattern.allow_combinations()
        if step.optional:
            pattern = pattern.optional()
    return pattern.within(within)  # type: ignore[no-any-return]


def find_matches(
    steps: Sequence[Step], letters: str, times: Sequence[int], within: int | None = None
) -> list[list[int]]:
    """Returns the positions of the events of each match."""
    matches = []
    for chosen in _choices(steps, 0, [], letters):
        if chosen and (within is None or times[chosen[-1]] - times[chosen[0]] < within):
            matches.append(chosen)
    return sorted(matches)


def _choices(steps: Sequence[Step], number: int, before: list[int], letters: str) -> Iterator[list[int]]:
    if number == len(steps):
        yield before
        return
    step = steps[number]
    if step.optional:
        yield from _choices(steps, number + 1, before, letters)
    contiguity = step.contiguity if before else ANY
    for first in _candidates(contiguity, step.letter, before[-1] if before else -1, letters):
        for positions in _repetitions(step, [first], letters):
            yield from _choices(steps, number + 1, before + positions, letters)


def _repetitions(step: Step, positions: list[int], letters: str) -> Iterator[list[int]]:
    yield positions
    if step.loop is not None:
        for another in _candidates(step.loop, step.letter, positions[-1], letters):
            yield from _repetitions(step, [*positions, another], letters)


def _candidates(contiguity: str, letter: str, last: int, letters: str) -> list[int]:
    if contiguity == STRICT:
        index = last + 1
        return [index] if index < len(letters) and letters[index] == letter else []
    matching = [i for i in range(last + 1, len(letters)) if letters[i] == letter]
    return matching[:1] if contiguity == NEXT else matching
