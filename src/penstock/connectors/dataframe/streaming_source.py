"""A streaming DataFrame as a source: Spark plans and reads it, and our mapper runs right behind, in the same task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.source import Chunk, Offset, Source
from penstock.errors import UnsupportedOperation
from penstock.types import TypeInformation

WHOLE = "*"  # stands for all tasks of a batch, which are concurrent splits that end with it (time.md 1.2)
_TASK_SHIFT = 40  # rows of one task have numbers of their own, in the order of tasks


@dataclass(slots=True)
class DataFrameTask:
    """One task of Spark's: its number in the stage, and the rows it has read, as Arrow record batches."""

    number: int
    batches: Iterator[Any]


class DataFrameStream(Source):
    """The rows of a streaming DataFrame. Spark keeps its offsets; how much a batch has is up to the Spark source's options.

    Without `split_by` the tasks of a batch are concurrent splits that end with the batch, as files of a folder are. With it,
    each value of these columns is a split of its own that lives on, such as a topic's partition.
    """

    bounded = False
    native = True
    output_is_exact = True

    def __init__(self, frame: Any, columns: Columns) -> None:
        self.frame = frame
        self.columns = columns

    def __getstate__(self) -> dict[str, Any]:
        """Workers get rows; the DataFrame stays with its session."""
        return {**self.__dict__, "frame": None}

    @property
    def output_type(self) -> TypeInformation:
        return self.columns.rows

    def initial(self) -> Offset:
        raise UnsupportedOperation(
            "DATAFRAME_WITHOUT_SPARK",
            "A DataFrame is read by Spark alone: this job cannot run without it, as in a test harness. Give the harness its "
            "elements instead.",
        )

    def first_splits(self) -> list[str]:
        return [] if self.columns.split_by else [WHOLE]

    def read(self, task: DataFrameTask) -> Iterator[Chunk]:
        columns = self.columns
        at = task.number << _TASK_SHIFT
        for batch in task.batches:
            parts = columns.by_split(batch) if columns.split_by else [(f"{task.number:06d}", batch)]
            for split, rows in parts:
                if columns.position is None:
                    positions, start = None, at
                    at += rows.num_rows
                else:
                    positions = columns.positions(rows)
                    start = int(positions[0]) if len(positions) else 0
                yield Chunk(
                    split,
                    start,
                    columns.elements(rows),
                    columns.timestamps(rows),
                    positions,
                    transient=not columns.split_by,
                )
