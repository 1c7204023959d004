"""How often a pattern's events may come, and how near to each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WithinType(Enum):
    """Between which events the time of `within` is measured."""

    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
    FIRST_AND_LAST = "FIRST_AND_LAST"


class ConsumingStrategy(Enum):
    """What may lie between an event and the one before it."""

    STRICT = "next"
    SKIP_TILL_NEXT = "followed_by"
    SKIP_TILL_ANY = "followed_by_any"
    NOT_FOLLOW = "not_followed_by"
    NOT_NEXT = "not_next"

    @property
    def negative(self) -> bool:
        """Whether the event must not come."""
        return self in (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)


@dataclass(frozen=True, slots=True)
class Times:
    """From how many to how many events; and, in milliseconds, how far each may be from the one before."""

    lowest: int
    highest: int
    window_time: int | None = None


@dataclass(frozen=True, slots=True)
class Quantifier:
    """One event, so many of them, or a loop; with what may lie between the events of a loop."""

    strategy: ConsumingStrategy
    kind: str = "single"  # or "times", "looping"
    inner: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT
    optional: bool = False
    greedy: bool = False

    def describe(self) -> str:
        """In words."""
        words = [self.kind, *(w for w in ("optional", "greedy") if getattr(self, w))]
        return f"{self.strategy.value}, {' '.join(words)}"
