"""What a match leaves of the partial matches that overlap it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """Where matching goes on after a match.

    >>> AfterMatchSkipStrategy.skip_to_last("fall").throw_exception_on_miss().pattern_name
    'fall'
    """

    kind: str = "no_skip"
    pattern_name: str | None = None
    throws: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Every possible match is emitted."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drops partial matches that start with the match's first event."""
        return AfterMatchSkipStrategy("skip_to_next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drops partial matches that start before the match ended."""
        return AfterMatchSkipStrategy("skip_past_last_event")

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drops partial matches that start before the first event of a pattern."""
        return AfterMatchSkipStrategy("skip_to_first", pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drops partial matches that start before the last event of a pattern."""
        return AfterMatchSkipStrategy("skip_to_last", pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fails when the match has no event of the pattern to skip to, or when that is its first event."""
        return replace(self, throws=True) if self.pattern_name is not None else self

    @property
    def skips(self) -> bool:
        """Whether a match drops others."""
        return self.kind != "no_skip"

    def is_skip_strategy(self) -> bool:
        """Whether a match drops others."""
        return self.skips

    def get_pattern_name(self) -> str | None:
        """The pattern to skip to; None: the strategy needs none."""
        return self.pattern_name
