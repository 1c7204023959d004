"""Rows that a user gives: Arrow tables, pandas frames, or any iterable, as dicts with the columns that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import PlanError, StateError
from penstock.formats.arrow_rows import from_arrow
from penstock.types import TypeInformation

Rows = Any  # a pyarrow Table or batches, a pandas frame, a Spark DataFrame, or an iterable of mappings
Columns = str | Sequence[str]


def is_spark_frame(data: Any) -> bool:
    """Whether rows are a DataFrame of Spark's; asked without importing Spark."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")


def rows_of(data: Rows) -> tuple[Iterator[dict[str, Any]], bool]:
    """The rows as dicts, and whether they come from columns (so that objects are dicts in them)."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return _of_batches(data.to_batches() if isinstance(data, pa.Table) else [data]), True
    if isinstance(data, pa.RecordBatchReader):
        return _of_batches(data), True
    if type(data).__module__.startswith("pandas.") and hasattr(data, "columns"):
        return _of_batches(pa.Table.from_pandas(data, preserve_index=False).to_batches()), True
    return _of_mappings(data), False


def _of_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _of_mappings(data: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for row in data:
        if not isinstance(row, Mapping):
            raise StateError(
                "STATE_ROWS",
                f"A row is {row!r}; rows are dicts such as {{'key': 'a', 'value': 3}}, or an Arrow table, or a pandas or Spark "
                "frame with such columns.",
            )
        yield dict(row)


class RowForm:
    """Which columns are a row's key, map key and value, and what they become."""

    def __init__(
        self,
        key: Columns,
        value: Columns | None,
        key_type: TypeInformation | None,
        value_type: TypeInformation | None,
        map_key_type: TypeInformation | None = None,
    ) -> None:
        self.key = key
        self.value = value
        self._types = {"key": key_type, "map_key": map_key_type, "value": value_type}

    @property
    def key_columns(self) -> list[str]:
        return [self.key] if isinstance(self.key, str) else list(self.key)

    def shaped(self, data: Rows, *, with_key: bool = True) -> Iterator[dict[str, Any]]:
        """Rows as `OperatorImage` takes them."""
        rows, of_columns = rows_of(data)
        change = {n: _changer(t, of_columns) for n, t in self._types.items()}
        for row in rows:
            found = dict(row)
            if with_key:
                found["key"] = change["key"](_picked(row, self.key, as_tuple=True))
            if self.value is not None:
                found["value"] = change["value"](_picked(row, self.value))
            if "map_key" in row:
                found["map_key"] = change["map_key"](row["map_key"])
            if (written := row.get("written")) is not None and not isinstance(written, int):
                found["written"] = int(written.timestamp() * 1000)
            yield found


def _picked(row: dict[str, Any], columns: Columns, as_tuple: bool = False) -> Any:
    try:
        if isinstance(columns, str):
            return row[columns]
        picked = [row[c] for c in columns]
    except KeyError as error:
        raise StateError(
            "STATE_COLUMN",
            f"A row has no column {error}; it has {', '.join(map(repr, row)) or 'none'}. Name the columns with key= and value=.",
        ) from None
    return tuple(picked) if as_tuple else dict(zip(columns, picked, strict=True))


def _changer(kind: TypeInformation | None, of_columns: bool) -> Callable[[Any], Any]:
    if not of_columns:
        return lambda value: value
    if kind is not None and kind.declared:
        try:
            convert = from_arrow(kind, as_dicts=False)
        except PlanError:
            convert = None
        if convert is not None:
            return lambda value: None if value is None else convert(value)
    return _tuples


def _tuples(value: Any) -> Any:
    """Structs whose fields are f0, f1, ... were tuples."""
    if isinstance(value, dict) and list(value) == [f"f{i}" for i in range(len(value))]:
        return tuple(_tuples(v) for v in value.values())
    return value
