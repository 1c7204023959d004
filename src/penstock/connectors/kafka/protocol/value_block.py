"""Values of records that lie side by side in a partition: without an object per record, where that can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Block:
    """Some records in the order of their offsets; a value of None is a tombstone."""

    values: list[Any]
    offsets: Any  # int64
    stamps: list[int]  # of all records, or none: where nobody asks for them


def block_of(messages: list[Any], stamps_wanted: bool) -> Block:
    """The block of messages of the client's."""
    first, last = messages[0].offset(), messages[-1].offset()
    # Offsets rise: so many of them in a range of this size are all of it.
    dense = last - first + 1 == len(messages)
    offsets = np.arange(first, last + 1) if dense else np.array([m.offset() for m in messages])
    stamps = [m.timestamp()[1] for m in messages] if stamps_wanted else []  # each costs a call
    return Block([m.value() for m in messages], offsets, stamps)
