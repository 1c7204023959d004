"""The interface between the relational loop and operators on columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.loop.emissions import Advance
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.changes import Changes


@dataclass(slots=True)
class Input:
    """The rows of one input in one batch, in the order in which they are processed.

    watermarks: the watermark of the operator when each row arrived (ascending). A row is late if its time is not above it.
    ranks: positions in the order over all inputs, for operators with several inputs.
    """

    changes: Changes
    watermarks: NDArray[np.int64]
    ranks: NDArray[np.int64]

    def __len__(self) -> int:
        return self.changes.length


@dataclass(slots=True)
class Output:
    """What an operator emits in a batch: parts in the order of emission.

    Each part has the watermark of the operator when it was emitted, one for all its rows or one per row. Watermarks ascend.
    """

    parts: list[tuple[Changes, NDArray[np.int64]]] = field(default_factory=list)

    def add(self, changes: Changes, watermark: int | NDArray[np.int64]) -> None:
        """Adds rows. Empty parts are dropped."""
        if changes.length:
            marks = np.full(changes.length, watermark, np.int64) if isinstance(watermark, int) else watermark
            self.parts.append((changes, marks))


class RelationalOperator(Protocol):
    """The logic of one operator in one slot."""

    late_records: int  # rows that were dropped because they were late, in total

    def open(self, context: OperatorContext) -> None:
        """Creates the tables of state. `context.runtime.in_batch_mode` is True if the complete input is one batch."""
        ...

    def run(self, inputs: list[Input], advance: Advance) -> Output:
        """Processes one batch: `advance` has the processing time, and the watermark before and after the batch.

        The result must not depend on how rows are cut into batches, except that intermediate updates may be missing:
        with one row per batch, the output is Flink's changelog.
        """
        ...

    def wake(self) -> int | None:
        """Returns the processing time at which the operator has work without new rows, or None."""
        ...

    def next_event_time(self, watermark: int) -> int | None:
        """Returns the lowest watermark above the current one at which the operator has work, or None."""
        ...

    def close(self) -> None:
        """Called when the slot ends."""
        ...


class BaseOperator:
    """Defaults for operators that have no work without rows."""

    def __init__(self) -> None:
        self.late_records = 0

    def wake(self) -> int | None:
        return None

    def next_event_time(self, watermark: int) -> int | None:
        return None

    def close(self) -> None:
        """Has nothing to close."""
