"""Values of consecutive records of a partition, in columns instead of one object per record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class ValueBlock:
    """Some records in the order of their offsets. A value of None is a tombstone."""

    values: list[Any]
    offsets: Any  # an int64 array
    timestamps: list[int]  # empty if nobody reads them


def block_from_messages(messages: list[Any], with_timestamps: bool) -> ValueBlock:
    """Returns the block of messages that the client library returned."""
    first, last = messages[0].offset(), messages[-1].offset()
    # Offsets only increase, so if their number equals the size of the range, none is missing.
    dense = last - first + 1 == len(messages)
    offsets = np.arange(first, last + 1) if dense else np.array([m.offset() for m in messages])
    timestamps = [m.timestamp()[1] for m in messages] if with_timestamps else []  # each costs a call
    return ValueBlock([m.value() for m in messages], offsets, timestamps)
