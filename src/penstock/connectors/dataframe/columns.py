"""Batches of a DataFrame's rows as chunks of elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.dataframe.spark_types import row_type, values_of
from penstock.errors import PlanError
from penstock.row import rows_of
from penstock.time import NO_TIMESTAMP
from penstock.types import RowTypeInfo


@dataclass(frozen=True)
class Columns:
    """What the columns of a DataFrame are for: plain names, so that it travels."""

    schema: dict[str, Any]  # in Spark's JSON form
    timestamp: str | None = None
    split_by: tuple[str, ...] = ()
    position: str | None = None

    def __post_init__(self) -> None:
        kinds = {field["name"]: field["type"] for field in self.schema["fields"]}
        wanted = [*self.split_by, *filter(None, (self.timestamp, self.position))]
        if missing := [name for name in wanted if name not in kinds]:
            raise PlanError(
                "DATAFRAME_COLUMN",
                f"The DataFrame has no column '{missing[0]}'; it has {', '.join(kinds)}. Name one of these.",
            )
        if self.timestamp is not None and kinds[self.timestamp] not in ("timestamp", "timestamp_ntz", "long"):
            raise PlanError(
                "DATAFRAME_COLUMN",
                f"Column '{self.timestamp}' is of type {kinds[self.timestamp]}; timestamps are of type timestamp, or milliseconds "
                "since 1970 as long. Cast it with selectExpr.",
            )
        if self.position is not None and kinds[self.position] not in ("long", "integer"):
            raise PlanError(
                "DATAFRAME_COLUMN",
                f"Column '{self.position}' is of type {kinds[self.position]}; positions are whole numbers.",
            )

    @property
    def rows(self) -> RowTypeInfo:
        return row_type(self.schema)

    def elements(self, batch: Any) -> list[Any]:
        """The rows of a batch."""
        names = [field["name"] for field in self.schema["fields"]]
        return list(rows_of(names, [values_of(column) for column in batch.columns]))

    def timestamps(self, batch: Any) -> Any:
        """The timestamps of a batch's rows, in milliseconds; None without a column for them."""
        if self.timestamp is None:
            return None
        column = batch.column(self._place(self.timestamp))
        if pa.types.is_timestamp(column.type):
            column = pc.floor_temporal(column.cast(pa.timestamp("us")), unit="millisecond").cast(pa.timestamp("ms"))
        return pc.fill_null(column.cast(pa.int64()), NO_TIMESTAMP).to_numpy(zero_copy_only=False)

    def positions(self, batch: Any) -> Any:
        assert self.position is not None
        return batch.column(self._place(self.position)).cast(pa.int64()).to_numpy(zero_copy_only=False)

    def by_split(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """The rows of each split in a batch, in their order; splits by name."""
        codes, names = np.zeros(batch.num_rows, np.int64), [""]
        for column in self.split_by:
            texts = pc.fill_null(batch.column(self._place(column)).cast(pa.string()), "null").dictionary_encode()
            values = texts.dictionary.to_pylist()
            codes = codes * len(values) + texts.indices.to_numpy(zero_copy_only=False)
            names = [f"{name}/{value}" if name else value for name in names for value in values]
        for name, code in sorted((names[code], code) for code in np.unique(codes).tolist()):
            here = codes == code
            yield name, batch if here.all() else batch.filter(pa.array(here))

    def _place(self, name: str) -> int:
        names: Sequence[str] = [field["name"] for field in self.schema["fields"]]
        return names.index(name)
