"""Quantifiers of pattern steps: how many events match, and which events may lie between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WithinType(Enum):
    """The two events between which `within` measures the time."""

    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
    FIRST_AND_LAST = "FIRST_AND_LAST"


class ConsumingStrategy(Enum):
    """Which events may lie between an event and the previous one."""

    STRICT = "next"
    SKIP_TILL_NEXT = "followed_by"
    SKIP_TILL_ANY = "followed_by_any"
    NOT_FOLLOW = "not_followed_by"
    NOT_NEXT = "not_next"

    @property
    def negative(self) -> bool:
        """Whether the event must not occur."""
        return self in (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)


@dataclass(frozen=True, slots=True)
class Times:
    """The minimum and maximum number of events, and the maximum time between two of them in milliseconds."""

    lowest: int
    highest: int
    window_time: int | None = None


@dataclass(frozen=True, slots=True)
class Quantifier:
    """How many events a step matches: one, a number or range ("times"), or any number ("looping")."""

    strategy: ConsumingStrategy
    kind: str = "single"  # or "times", "looping"
    inner: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT
    optional: bool = False
    greedy: bool = False

    def describe(self) -> str:
        """Returns a readable description."""
        words = [self.kind, *(w for w in ("optional", "greedy") if getattr(self, w))]
        return f"{self.strategy.value}, {' '.join(words)}"
