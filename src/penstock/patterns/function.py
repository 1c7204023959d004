"""Functions that process the matches of a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic

from penstock.functions import Function
from penstock.functions.function import OUT, T, Yields

Match = dict[str, list[T]]  # the events of a match by pattern name, in order


class PatternContext(ABC):
    """The context of a match."""

    @abstractmethod
    def timestamp(self) -> int:
        """Returns the time of the match in milliseconds: that of its last event, or the time at which it timed out."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the current processing time in milliseconds."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Returns the key of the events of the match."""

    @abstractmethod
    def pattern_id(self) -> str | None:
        """Returns the id of the pattern that matched, if patterns come from a stream, else None."""


class PatternProcessFunction(Function, ABC, Generic[T, OUT]):
    """Produces results from matches. A result `(tag, value)` is emitted to the side output of the tag.

    >>> class Alert(PatternProcessFunction[float, str]):
    ...     def process_match(self, match: Match[float], ctx: PatternContext) -> Yields[str]:
    ...         yield f"{ctx.get_current_key()} rose to {match['high'][0]}"
    """

    @abstractmethod
    def process_match(self, match: Match[T], ctx: PatternContext) -> Yields[OUT]:
        """Called for each match. `match` has the events by pattern name, in order."""


class TimedOutPartialMatchHandler(ABC, Generic[T]):
    """Also processes partial matches that timed out. Inherit from it in addition to PatternProcessFunction.

    Results are `(tag, value)` pairs for side outputs.
    """

    @abstractmethod
    def process_timed_out_match(self, match: Match[T], ctx: PatternContext) -> Yields[Any]:
        """Called when a partial match times out. `match` has the events that it has accepted."""


class PatternSelectFunction(Function, ABC, Generic[T, OUT]):
    """Returns one result for each match."""

    @abstractmethod
    def select(self, pattern: Match[T]) -> OUT:
        """Returns the result of a match."""


class PatternFlatSelectFunction(Function, ABC, Generic[T, OUT]):
    """Returns any number of results for each match."""

    @abstractmethod
    def flat_select(self, pattern: Match[T]) -> Iterable[OUT] | None:
        """Returns the results of a match, or None."""


class PatternTimeoutFunction(Function, ABC, Generic[T, OUT]):
    """Returns one result for each partial match that timed out."""

    @abstractmethod
    def timeout(self, pattern: Match[T], timeout_timestamp: int) -> OUT:
        """Returns the result of the events of a partial match that timed out."""


class PatternFlatTimeoutFunction(Function, ABC, Generic[T, OUT]):
    """Returns any number of results for each partial match that timed out."""

    @abstractmethod
    def timeout(self, pattern: Match[T], timeout_timestamp: int) -> Iterable[OUT] | None:
        """Returns the results of the events of a partial match that timed out, or None."""
