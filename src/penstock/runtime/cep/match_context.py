"""The context of a function that is called with a match."""

from __future__ import annotations

from typing import Any

from penstock.patterns.function import PatternContext
from penstock.runtime.loop.operator import OperatorContext


class MatchContext(PatternContext):
    """The context of the match for which a function is called."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self.time = 0
        self.pattern: str | None = None

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._context.now

    def get_current_key(self) -> Any:
        return self._context.cell.at

    def pattern_id(self) -> str | None:
        return self.pattern
