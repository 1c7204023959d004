"""Functions that see matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic

from penstock.functions import Function
from penstock.functions.function import OUT, T, Yields

Match = dict[str, list[T]]  # the events of a match, by the names of their patterns, in order


class PatternContext(ABC):
    """What a function may ask for beside a match."""

    @abstractmethod
    def timestamp(self) -> int:
        """The time of the match: of its last event, or when it timed out."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The clock."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the match's events."""

    @abstractmethod
    def pattern_id(self) -> str | None:
        """Which pattern matched, where patterns come as a stream; else None."""


class PatternProcessFunction(Function, ABC, Generic[T, OUT]):
    """Makes results of matches; a result `(tag, value)` goes to a side output."""

    @abstractmethod
    def process_match(self, match: Match[T], ctx: PatternContext) -> Yields[OUT]:
        """Called with each match: its events by the names of their patterns."""


class TimedOutPartialMatchHandler(ABC, Generic[T]):
    """Beside PatternProcessFunction: also sees partial matches whose time is over; it yields `(tag, value)`."""

    @abstractmethod
    def process_timed_out_match(self, match: Match[T], ctx: PatternContext) -> Yields[Any]:
        """Called with what a partial match has when its time is over."""


class PatternSelectFunction(Function, ABC, Generic[T, OUT]):
    """One result for each match."""

    @abstractmethod
    def select(self, pattern: Match[T]) -> OUT:
        """The result of a match."""


class PatternFlatSelectFunction(Function, ABC, Generic[T, OUT]):
    """Any number of results for each match."""

    @abstractmethod
    def flat_select(self, pattern: Match[T]) -> Iterable[OUT] | None:
        """The results of a match."""


class PatternTimeoutFunction(Function, ABC, Generic[T, OUT]):
    """One result for each partial match whose time is over."""

    @abstractmethod
    def timeout(self, pattern: Match[T], timeout_timestamp: int) -> OUT:
        """The result of what a partial match has when its time is over."""


class PatternFlatTimeoutFunction(Function, ABC, Generic[T, OUT]):
    """Any number of results for each partial match whose time is over."""

    @abstractmethod
    def timeout(self, pattern: Match[T], timeout_timestamp: int) -> Iterable[OUT] | None:
        """The results of what a partial match has when its time is over."""
