"""Conversion of Spark DataFrames to sources, and of job results to a DataFrame."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import Any

from penstock.connectors.dataframe import DataFrameStream, DataFrameTable, ForeachBatchSink
from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.source import Source
from penstock.errors import PlanError
from penstock.folders import private_folder, remove_private_folder
from penstock.plan.nodes import Node, SourceNode


def dataframe_source(
    dataframe: Any, timestamp_column: str | None, split_by: Sequence[str], position_column: str | None
) -> Source:
    """Returns the source of a streaming or batch DataFrame.

    A DataFrame is recognized by its attributes because this package does not import Spark.
    """
    streaming, schema = getattr(dataframe, "isStreaming", None), getattr(dataframe, "schema", None)
    if not isinstance(streaming, bool) or schema is None or not hasattr(dataframe, "mapInArrow"):
        raise PlanError(
            "NOT_A_DATAFRAME",
            f"from_dataframe() got a {type(dataframe).__name__}; it takes a Spark DataFrame. Use from_collection for elements, and "
            "from_source for a Source.",
        )
    if position_column is not None and not split_by:
        raise PlanError(
            "DATAFRAME_POSITION",
            f"from_dataframe() got position_column='{position_column}' without split_by. The position orders the rows within a "
            "split, so also pass the columns that identify splits, such as split_by=['topic', 'partition'].",
        )
    columns = Columns(schema.jsonValue(), timestamp_column, tuple(split_by), position_column)
    _ = columns.rows  # raises an error if a column type is not supported
    if streaming:
        return DataFrameStream(dataframe, columns)
    if split_by:
        raise PlanError(
            "DATAFRAME_SPLITS",
            "from_dataframe() got split_by with a batch DataFrame. The splits of a batch DataFrame are its partitions. Remove "
            "split_by, and use dataframe.repartition(...) to change the partitions.",
        )
    return DataFrameTable(dataframe, columns)


def check_bounded_sources(node: Node, nodes: Sequence[Node]) -> None:
    """Raises PlanError if a source of the node is unbounded."""
    pending, seen = [node], set[int]()
    while pending:
        node = pending.pop()
        if isinstance(node, SourceNode) and not node.source.bounded:
            raise PlanError(
                "UNBOUNDED_DATAFRAME",
                f"to_dataframe() collects all elements, but source '{node.name}' ({node.line}) is unbounded. Use "
                "sink_to(ForeachBatchSink(f)), which calls f with each batch as a DataFrame.",
            )
        pending += [nodes[i] for i in node.inputs if i not in seen]
        seen.update(node.inputs)


class CollectedRows:
    """Collects the rows of all batches of a job in a folder that is deleted when the program ends."""

    def __init__(self) -> None:
        self._folder = private_folder("rows")
        atexit.register(remove_private_folder, self._folder)

    def sink(self) -> ForeachBatchSink:
        return ForeachBatchSink(self._write)

    def _write(self, frame: Any, batch: int) -> None:
        """Writes a batch. A batch that is delivered again is overwritten."""
        frame.write.mode("overwrite").parquet((self._folder / f"batch-{batch:09d}").as_uri())

    def frame(self, session: Any, schema: Any) -> Any:
        """Returns all rows as a DataFrame, which may be empty."""
        batches = sorted(path.as_uri() for path in self._folder.glob("batch-*"))
        if not batches:
            return session.createDataFrame(schema.empty_table())
        return session.read.parquet(*batches)
