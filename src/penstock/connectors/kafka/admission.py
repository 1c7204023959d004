"""How much of each partition a batch takes, and which task reads what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from penstock.connectors.kafka.ranges import Range
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
    share = max(1.0, total / max(1, parallelism))
    pieces = [
        Range(r.topic, r.partition, low, high)
        for r in ranges
        for low, high in even_ranges(r.low, r.high, round((r.high - r.low) / share), _LEAST)
    ]
    tasks: list[list[Range]] = [[] for _ in range(max(1, parallelism))]
    before = 0
    for piece in pieces:  # in order, so that the pieces of a partition are in the order of tasks
        size = piece.high - piece.low
        tasks[min(len(tasks) - 1, int((before + size / 2) / share))].append(piece)
        before += size
    return [task for task in tasks if task]
