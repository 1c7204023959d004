"""Converts record batches of a DataFrame to elements, timestamps, positions and splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.dataframe.spark_types import row_type_from_spark_schema, to_python_values
from penstock.errors import PlanError
from penstock.row import rows_of
from penstock.time import NO_TIMESTAMP
from penstock.types import RowTypeInfo


@dataclass(frozen=True)
class Columns:
    """The schema of a DataFrame and the columns with timestamp, splits and position."""

    schema: dict[str, Any]  # JSON form of the Spark schema
    timestamp: str | None = None
    split_by: tuple[str, ...] = ()
    position: str | None = None

    def __post_init__(self) -> None:
        kinds = {field["name"]: field["type"] for field in self.schema["fields"]}
        used = [*self.split_by, *filter(None, (self.timestamp, self.position))]
        if missing := [name for name in used if name not in kinds]:
            raise PlanError(
                "DATAFRAME_COLUMN",
                f"The DataFrame has no column '{missing[0]}'; its columns are {', '.join(kinds)}. Use one of these.",
            )
        if self.timestamp is not None and kinds[self.timestamp] not in ("timestamp", "timestamp_ntz", "long"):
            raise PlanError(
                "DATAFRAME_COLUMN",
                f"Column '{self.timestamp}' has the type {kinds[self.timestamp]}; expected timestamp, or long with milliseconds "
                "since 1970. Cast it with selectExpr.",
            )
        if self.position is not None and kinds[self.position] not in ("long", "integer"):
            raise PlanError(
                "DATAFRAME_COLUMN",
                f"Column '{self.position}' has the type {kinds[self.position]}; expected long or integer. Cast it with selectExpr.",
            )

    @property
    def rows(self) -> RowTypeInfo:
        return row_type_from_spark_schema(self.schema)

    def elements(self, batch: Any) -> list[Any]:
        """Returns the rows of a batch."""
        names = [field["name"] for field in self.schema["fields"]]
        return list(rows_of(names, [to_python_values(column) for column in batch.columns]))

    def timestamps(self, batch: Any) -> Any:
        """Returns the timestamps of the rows in milliseconds, or None if there is no timestamp column."""
        if self.timestamp is None:
            return None
        column = batch.column(self._column_index(self.timestamp))
        if pa.types.is_timestamp(column.type):
            column = pc.floor_temporal(column.cast(pa.timestamp("us")), unit="millisecond").cast(pa.timestamp("ms"))
        return pc.fill_null(column.cast(pa.int64()), NO_TIMESTAMP).to_numpy(zero_copy_only=False)

    def positions(self, batch: Any) -> Any:
        assert self.position is not None
        return batch.column(self._column_index(self.position)).cast(pa.int64()).to_numpy(zero_copy_only=False)

    def by_split(self, batch: Any) -> Iterator[tuple[str, Any]]:
        """Yields the rows of each split in a batch. Splits are sorted by name, and their rows keep their order."""
        codes, names = np.zeros(batch.num_rows, np.int64), [""]
        for column in self.split_by:
            encoded = pc.fill_null(
                batch.column(self._column_index(column)).cast(pa.string()), "null"
            ).dictionary_encode()
            values = encoded.dictionary.to_pylist()
            codes = codes * len(values) + encoded.indices.to_numpy(zero_copy_only=False)
            names = [f"{name}/{value}" if name else value for name in names for value in values]
        for name, code in sorted((names[code], code) for code in np.unique(codes).tolist()):
            mask = codes == code
            yield name, batch if mask.all() else batch.filter(pa.array(mask))

    def _column_index(self, name: str) -> int:
        names: Sequence[str] = [field["name"] for field in self.schema["fields"]]
        return names.index(name)
