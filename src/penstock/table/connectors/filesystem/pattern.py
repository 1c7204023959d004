"""A filter of files by their path."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class PathPattern:
    """Accepts paths that match a regular expression as a whole. It is picklable.

    >>> PathPattern(".*[.]json")("/in/a.json")
    True
    """

    pattern: str

    def __call__(self, path: str) -> bool:
        return re.fullmatch(self.pattern, path) is not None
