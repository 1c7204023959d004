"""A streaming DataFrame as a source. Spark reads it, and the mapper runs in the same task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.source import Chunk, Offset, Source
from penstock.errors import UnsupportedOperation
from penstock.runtime.loop.channels import ALL_SPLITS
from penstock.types import TypeInformation

_TASK_SHIFT = 40  # row numbers contain the task number in the high bits, so that they follow the order of tasks


@dataclass(slots=True)
class DataFrameTask:
    """A Spark task: its number in the stage, and its rows as Arrow record batches."""

    number: int
    batches: Iterator[Any]


class DataFrameStream(Source):
    """Reads the rows of a streaming DataFrame. Spark stores its offsets, and the options of the Spark source limit batches.

    Without `split_by`, the tasks of a batch are concurrent splits that end with the batch, like files of a folder. With it, each
    value of these columns is a permanent split, such as a partition of a topic.
    """

    bounded = False
    native = True
    output_is_exact = True

    def __init__(self, frame: Any, columns: Columns) -> None:
        self.frame = frame
        self.columns = columns

    def __getstate__(self) -> dict[str, Any]:
        """Omits the DataFrame, which belongs to the session of the driver."""
        return {**self.__dict__, "frame": None}

    def frame_in(self, session: Any) -> Any:
        """Returns the DataFrame. Called in the driver when the job starts, with the session that runs it."""
        return self.frame

    @property
    def output_type(self) -> TypeInformation:
        return self.columns.rows

    def initial(self) -> Offset:
        raise UnsupportedOperation(
            "DATAFRAME_WITHOUT_SPARK",
            "Only Spark can read a DataFrame, so this job cannot run in a test harness. Pass the elements to the harness instead.",
        )

    def first_splits(self) -> list[str]:
        # Without split columns, the tasks of a batch are concurrent splits that end with it (time-rules 1.2).
        return [] if self.columns.split_by else [ALL_SPLITS]

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
