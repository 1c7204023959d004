"""Updates of patterns that come from a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import PlanError


@dataclass(frozen=True, slots=True)
class PatternUpdate:
    """Adds, replaces or (with `pattern=None`) removes a pattern of `CEP.dynamic_patterns`.

    `pattern` is a Pattern that can be pickled, or a value from which the `pattern_of` function makes a Pattern. If versions are
    given, an update is ignored unless its version is greater than that of the current pattern.

    >>> PatternUpdate("large", None).pattern_id
    'large'
    """

    pattern_id: str
    pattern: Any
    version: int | None = None

    def __post_init__(self) -> None:
        if not self.pattern_id or not isinstance(self.pattern_id, str):
            raise PlanError(
                "PATTERN_ID", f"A PatternUpdate has the id {self.pattern_id!r}. It must be a non-empty string."
            )

    def is_newer(self, version: int | None) -> bool:
        """Returns whether the update replaces a pattern of the given version."""
        return self.version is None or version is None or self.version > version
