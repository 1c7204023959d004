"""How much of each partition a batch takes, and which task reads what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from penstock.connectors.kafka.reader import Range
from penstock.connectors.source import even_ranges

_LEAST = 5_000  # records: less is not worth another task

P = TypeVar("P")


def shared_out(lags: Mapping[P, int], limit: int) -> dict[P, int]:
    """At most `limit` records in all, by partition in proportion to what waits there; each gets something.

    >>> shared_out({"a": 900, "b": 100, "c": 1}, 100)
    {'a': 89, 'b': 9, 'c': 1}
    """
    total = sum(lags.values())
    if total <= limit:
        return dict(lags)
    return {p: max(1, lag * limit // total) for p, lag in lags.items()}


def spread(ranges: list[Range], parallelism: int) -> list[list[Range]]:
    """Tasks of about the same size. A partition that has more than a task's share is cut over several.

    >>> spread([Range("a", 0, 0, 40_000)], 2)
    [[Range(topic='a', partition=0, low=0, high=20000)], [Range(topic='a', partition=0, low=20000, high=40000)]]
    """
    total = sum(r.high - r.low for r in ranges)
    share = max(1, total // max(1, parallelism))
    pieces = [
        Range(r.topic, r.partition, low, high)
        for r in ranges
        for low, high in even_ranges(r.low, r.high, round((r.high - r.low) / share), _LEAST)
    ]
    tasks: list[list[Range]] = [[] for _ in range(min(parallelism, len(pieces)))]
    sizes = [0] * len(tasks)
    for piece in sorted(pieces, key=lambda r: r.low - r.high):
        least = sizes.index(min(sizes))
        tasks[least].append(piece)
        sizes[least] += piece.high - piece.low
    return [sorted(task) for task in tasks]
