"""Shares: batch mode cuts the keys of a slot into shares that run one after the other, so that only one is in memory.

What goes to a slot is addressed to one of its shares. The first one holds what must be known before anything else: clocks,
and elements that are broadcast. In streaming mode there is no other, so an address is a slot.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST = 0
_SHIFT = 40  # slots are chosen by a hash's lower bits


@dataclass(frozen=True, slots=True)
class Shares:
    """How a batch job's elements are addressed.

    >>> shares = Shares(slots=2, count=3)
    >>> shares.address(1, share=2), shares.slot_of(5), shares.share_of(5)
    (5, 1, 2)
    """

    slots: int
    count: int  # shares of keys; elements without keys go to the first of them

    def address(self, slot: int, share: int) -> int:
        return share * self.slots + slot

    def of_key(self, slot: int, hashed: int) -> int:
        """The address of a key, by its hash."""
        return self.address(slot, 1 + (hashed >> _SHIFT) % self.count)

    def slot_of(self, address: int) -> int:
        return address % self.slots

    def share_of(self, address: int) -> int:
        return address // self.slots

    @property
    def addresses(self) -> int:
        """How many there are."""
        return self.slots * (1 + self.count)
