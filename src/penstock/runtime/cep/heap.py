"""A binary heap of partial matches, ordered by the number of their first event.

The order of matches with the same first event determines what a skip strategy drops. So the heap moves its entries exactly as
Java's PriorityQueue does, whose order is visible in Flink. An entry is a tuple whose first item is its rank.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Heap = list[Any]


def push(heap: Heap, entry: Any) -> None:
    """Adds an entry.
    >>> heap = []
    >>> for entry in [(2, "a"), (1, "b"), (2, "c")]: push(heap, entry)
    >>> heap
    [(1, 'b'), (2, 'a'), (2, 'c')]
    """
    rank, index = entry[0], len(heap)
    heap.append(entry)
    while index > 0:
        parent = (index - 1) >> 1
        other = heap[parent]
        if rank >= other[0]:
            break
        heap[index] = other
        index = parent
    heap[index] = entry


def pop(heap: Heap) -> Any:
    """Removes and returns the first entry.

    >>> pop([(1, "b"), (2, "a"), (2, "c")])
    (1, 'b')
    """
    first, last = heap[0], heap.pop()
    if heap:
        _sift_down(heap, 0, last)
    return first


def remove_if(heap: Heap, condition: Callable[[Any], bool]) -> None:
    """Removes all entries for which a condition holds."""
    remaining = [entry for entry in heap if not condition(entry)]
    if len(remaining) < len(heap):
        heap[:] = remaining
        for index in range((len(heap) >> 1) - 1, -1, -1):
            _sift_down(heap, index, heap[index])


def _sift_down(heap: Heap, index: int, entry: Any) -> None:
    rank, size = entry[0], len(heap)
    half = size >> 1
    while index < half:
        child = 2 * index + 1
        other = heap[child]
        if child + 1 < size and other[0] > heap[child + 1][0]:
            child += 1
            other = heap[child]
        if rank <= other[0]:
            break
        heap[index] = other
        index = child
    heap[index] = entry
