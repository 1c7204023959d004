"""Skip strategies: which overlapping matches are emitted after a match."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import warn_ignored


@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """Determines which partial matches are dropped after a match.

    >>> AfterMatchSkipStrategy.skip_to_last("fall").throw_exception_on_miss().pattern_name
    'fall'
    """

    kind: str = "no_skip"
    pattern_name: str | None = None
    throws: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emits every possible match."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drops partial matches that start with the first event of the match."""
        return AfterMatchSkipStrategy("skip_to_next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drops partial matches that start before the end of the match."""
        return AfterMatchSkipStrategy("skip_past_last_event")

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drops partial matches that start before the first event of a step of the match."""
        return AfterMatchSkipStrategy("skip_to_first", pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drops partial matches that start before the last event of a step of the match."""
        return AfterMatchSkipStrategy("skip_to_last", pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fails the job if the match has no event of the step to skip to, or if that event is its first."""
        if self.pattern_name is None:
            warn_ignored(
                f"throw_exception_on_miss() has no effect on the skip strategy {self.kind}, which names no step."
            )
            return self
        return replace(self, throws=True)

    @property
    def skips(self) -> bool:
        """Whether a match drops other partial matches."""
        return self.kind != "no_skip"

    def is_skip_strategy(self) -> bool:
        """Returns whether a match drops other partial matches."""
        return self.skips

    def get_pattern_name(self) -> str | None:
        """Returns the name of the step to skip to, or None if the strategy has none."""
        return self.pattern_name
