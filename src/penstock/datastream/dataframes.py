"""DataFrames of Spark's as sources, and a job's results as one."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.connectors.dataframe import DataFrameStream, DataFrameTable, ForeachBatchSink
from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.source import Source
from penstock.errors import PlanError
from penstock.plan.nodes import Node, SourceNode


def dataframe_source(
    dataframe: Any, timestamp_column: str | None, split_by: Sequence[str], position_column: str | None
) -> Source:
    """The source of a DataFrame, streaming or batch. Spark itself is not known here: a DataFrame is what acts like one."""
    streaming, schema = getattr(dataframe, "isStreaming", None), getattr(dataframe, "schema", None)
    if not isinstance(streaming, bool) or schema is None or not hasattr(dataframe, "mapInArrow"):
        raise PlanError(
            "NOT_A_DATAFRAME",
            f"from_dataframe() got a {type(dataframe).__name__}; it takes a DataFrame of Spark's. from_collection takes elements, "
            "from_source a Source.",
        )
    if position_column is not None and not split_by:
        raise PlanError(
            "DATAFRAME_POSITION",
            f"from_dataframe() got position_column='{position_column}' without split_by. A position orders the rows of one split: "
            "name the columns that tell splits apart too, as in split_by=['topic', 'partition'].",
        )
    columns = Columns(schema.jsonValue(), timestamp_column, tuple(split_by), position_column)
    _ = columns.rows  # a type without a counterpart is told now
    if streaming:
        return DataFrameStream(dataframe, columns)
    if split_by:
        raise PlanError(
            "DATAFRAME_SPLITS",
            "from_dataframe() got split_by with a batch DataFrame, whose partitions are its splits. Leave it out; "
            "dataframe.repartition(...) decides which rows stand together.",
        )
    return DataFrameTable(dataframe, columns)


def refuse_endless(node: Node, nodes: Sequence[Node]) -> None:
    """A batch DataFrame needs all elements that a node gives."""
    wanted, seen = [node], set[int]()
    while wanted:
        node = wanted.pop()
        if isinstance(node, SourceNode) and not node.source.bounded:
            raise PlanError(
                "UNBOUNDED_DATAFRAME",
                f"to_dataframe() needs all elements, and source '{node.name}' ({node.line}) has no end. Use "
                "sink_to(ForeachBatchSink(f)): f is given each batch as a DataFrame.",
            )
        wanted += [nodes[i] for i in node.inputs if i not in seen]
        seen.update(node.inputs)


class KeptRows:
    """The rows of all batches of a job, in a folder that lasts until the program ends."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="penstock-rows-")
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)

    def sink(self) -> ForeachBatchSink:
        return ForeachBatchSink(self._keep)

    def _keep(self, frame: Any, batch: int) -> None:
        """A batch that is handed over again replaces itself."""
        frame.write.mode("overwrite").parquet(Path(self._folder, f"batch-{batch:09d}").as_uri())

    def frame(self, session: Any, schema: Any) -> Any:
        """All rows; also when there are none."""
        batches = sorted(path.as_uri() for path in Path(self._folder).iterdir())
        if not batches:
            return session.createDataFrame(schema.empty_table())
        return session.read.parquet(*batches)
