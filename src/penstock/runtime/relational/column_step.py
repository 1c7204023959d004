"""Stateless steps on columns: what the chains of tables call for the rows of a chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes

Rows = Changes | list[Any]


@dataclass(slots=True)
class StepResult:
    """The output of a step.

    origins: for each output row the position of the input row that it came from; None if output row i came from input row i.
    bad: positions of input rows that the step could not process, with the reason.
    watermarks: new watermarks of the output rows, ascending, for rows that stand for several input rows. Then there are no origins.
    """

    rows: Rows
    origins: NDArray[np.int64] | None = None
    bad: list[tuple[int, Exception]] = field(default_factory=list)
    watermarks: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class StepContext:
    """What a step may need besides its rows: the watermark before each row, the clock, and the timestamps, in milliseconds."""

    watermarks: Callable[[], NDArray[np.int64]]
    now: Callable[[], int]
    timestamps: Callable[[], NDArray[np.int64]]


class ColumnStep(Protocol):
    """A picklable step."""

    def open(self) -> None:
        """Compiles expressions. Called once per worker."""
        ...

    def run(self, rows: Rows, context: StepContext) -> StepResult: ...


class ColumnWatermarks(Protocol):
    """The watermark of a table, by columns."""

    def evaluate(self, rows: Changes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the timestamp of each row, and the watermark that it proposes, both in milliseconds."""
        ...
