"""Partial matches by the order of their first events: a binary heap in a list.

Which of several matches with the same first event comes first decides what a skip strategy drops. So the heap moves its
entries exactly as Java's PriorityQueue does, whose order Flink shows. An entry is a tuple; its first item is its rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Heap = list[Any]


def add(heap: Heap, entry: Any) -> None:
    """
    >>> heap = []
    >>> for entry in [(2, "a"), (1, "b"), (2, "c")]: add(heap, entry)
    >>> heap
    [(1, 'b'), (2, 'a'), (2, 'c')]
    """
    rank, at = entry[0], len(heap)
    heap.append(entry)
    while at > 0:
        parent = (at - 1) >> 1
        other = heap[parent]
        if rank >= other[0]:
            break
        heap[at] = other
        at = parent
    heap[at] = entry


def poll(heap: Heap) -> Any:
    """Removes the first entry.

    >>> poll([(1, "b"), (2, "a"), (2, "c")])
    (1, 'b')
    """
    first, last = heap[0], heap.pop()
    if heap:
        _down(heap, 0, last)
    return first


def remove(heap: Heap, unwanted: Callable[[Any], bool]) -> None:
    """Removes all entries that are not wanted."""
    kept = [entry for entry in heap if not unwanted(entry)]
    if len(kept) < len(heap):
        heap[:] = kept
        for at in range((len(heap) >> 1) - 1, -1, -1):
            _down(heap, at, heap[at])


def _down(heap: Heap, at: int, entry: Any) -> None:
    rank, size = entry[0], len(heap)
    half = size >> 1
    while at < half:
        child = 2 * at + 1
        other = heap[child]
        if child + 1 < size and other[0] > heap[child + 1][0]:
            child += 1
            other = heap[child]
        if rank <= other[0]:
            break
        heap[at] = other
        at = child
    heap[at] = entry
