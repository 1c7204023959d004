"""Patterns that come as a stream: what one element of it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import PlanError


@dataclass(frozen=True, slots=True)
class PatternUpdate:
    """Adds a pattern, puts another in its place, or (with `pattern=None`) takes it away.

    `pattern` is a Pattern that can be pickled, or anything that the `pattern_of` of `CEP.dynamic_patterns` makes one of. With
    numbers as versions, an update that is not newer than what is known is passed over.

    >>> PatternUpdate("large", None).pattern_id
    'large'
    """

    pattern_id: str
    pattern: Any
    version: int | None = None

    def __post_init__(self) -> None:
        if not self.pattern_id or not isinstance(self.pattern_id, str):
            raise PlanError("PATTERN_ID", f"A PatternUpdate has the id {self.pattern_id!r}; it takes a text.")

    def is_newer(self, version: int | None) -> bool:
        """Whether it replaces a pattern of some version."""
        return self.version is None or version is None or self.version > version
