"""Batch partitions: batch mode splits the keys of a slot into partitions, so that only one of them is in memory.

In batch mode, elements are sent to an address: a slot and one of its partitions. The first partition of a slot contains
what it needs before everything else: clocks and broadcast elements. In streaming mode an address is a slot.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PARTITION = 0
_SHIFT = 40  # the lower bits of a key hash choose the slot


@dataclass(frozen=True, slots=True)
class BatchPartitions:
    """Converts slots and partitions to addresses and back.

    >>> partitions = BatchPartitions(slots=2, count=3)
    >>> partitions.address(1, partition=2), partitions.slot(5), partitions.partition(5)
    (5, 1, 2)
    """

    slots: int
    count: int  # partitions of keys per slot; elements without keys are in the first of them

    def address(self, slot: int, partition: int) -> int:
        return partition * self.slots + slot

    def key_address(self, slot: int, key_hash: int) -> int:
        """The address of a key."""
        return self.address(slot, 1 + (key_hash >> _SHIFT) % self.count)

    def slot(self, address: int) -> int:
        return address % self.slots

    def partition(self, address: int) -> int:
        return address // self.slots

    @property
    def address_count(self) -> int:
        return self.slots * (1 + self.count)
