"""The kinds of changes of a stream that is read as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ChangelogMode:
    """Which kinds of changes a stream has.

    >>> ChangelogMode.upsert().mode
    'upsert'
    """

    mode: Literal["append", "upsert", "retract"]

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Returns the mode of a stream of insertions."""
        return ChangelogMode("append")

    @staticmethod
    def upsert() -> ChangelogMode:
        """Returns the mode of changes by primary key, without the row before an update."""
        return ChangelogMode("upsert")

    @staticmethod
    def all() -> ChangelogMode:
        """Returns the mode of all kinds of changes."""
        return ChangelogMode("retract")
