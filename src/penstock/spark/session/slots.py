"""Labels of slots: numbers that Spark's hash assigns to the partition in which the slot runs."""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF


def murmur3_int(value: int, seed: int = 42) -> int:
    """Spark's hash of an int column.

    >>> murmur3_int(0)
    933211791
    """
    k = (value & _MASK) * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    k = k * 0x1B873593 & _MASK
    h = (seed ^ k) & _MASK
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


@lru_cache
def slot_labels(parallelism: int) -> tuple[int, ...]:
    """The label of each slot. Slot i runs in partition i."""
    by_slot: dict[int, int] = {}
    label = 0
    while len(by_slot) < parallelism:
        by_slot.setdefault(murmur3_int(label) % parallelism, label)
        label += 1
    return tuple(by_slot[i] for i in range(parallelism))


@lru_cache
def slots_by_label(parallelism: int) -> dict[int, int]:
    """The slot of each label."""
    return {label: slot for slot, label in enumerate(slot_labels(parallelism))}
