"""Parts of partitions, as tasks carry them."""

from __future__ import annotations

from typing import NamedTuple

Key = tuple[str, int]  # topic and partition


class Range(NamedTuple):
    """The records of a partition from one offset to below another."""

    topic: str
    partition: int
    low: int
    high: int

    @property
    def key(self) -> Key:
        return self.topic, self.partition


def rounds(ranges: list[Range]) -> list[list[Range]]:
    """The ranges in rounds with one of each partition.

    >>> [[r.low for r in some] for some in rounds([Range("a", 0, 0, 5), Range("a", 1, 2, 3), Range("a", 0, 5, 9)])]
    [[0, 2], [5]]
    """
    made = []
    later = list(ranges)
    while later:
        now: dict[Key, Range] = {}
        for r in later:
            now.setdefault(r.key, r)
        later = [r for r in later if now[r.key] is not r]
        made.append(list(now.values()))
    return made
