"""Converts input rows (Arrow tables, pandas DataFrames or any iterable) to dicts with the columns of a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import StateError
from penstock.types import TupleTypeInfo, TypeInformation
from penstock.types.arrow import ArrowColumn, FileColumns

Rows = Any  # a pyarrow Table or batches, a pandas frame, a Spark DataFrame, or an iterable of mappings
Columns = str | Sequence[str]


def is_spark_frame(data: Any) -> bool:
    """Whether rows are a Spark DataFrame. Does not import Spark."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")


def iterate_rows(data: Rows) -> tuple[Iterator[dict[str, Any]], bool]:
    """The rows as dicts, and whether they come from columns, in which objects are dicts."""
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
                f"A row is {row!r}. Rows are dicts such as {{'key': 'a', 'value': 3}}, an Arrow table, or a pandas or Spark "
                "DataFrame with such columns.",
            )
        yield dict(row)


class RowLayout:
    """The columns of the key, map key and value of a row, and their types."""

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

    def convert(self, data: Rows, *, with_key: bool = True) -> Iterator[dict[str, Any]]:
        """Rows in the form that `OperatorImage.put` accepts."""
        rows, from_columns = iterate_rows(data)
        convert = {n: _converter(t, from_columns) for n, t in self._types.items()}
        for row in rows:
            converted = dict(row)
            if with_key:
                converted["key"] = convert["key"](_pick(row, self.key, as_tuple=True))
            if self.value is not None:
                converted["value"] = convert["value"](_pick(row, self.value))
            if "map_key" in row:
                converted["map_key"] = convert["map_key"](row["map_key"])
            if (written := row.get("written")) is not None and not isinstance(written, int):
                converted["written"] = int(written.timestamp() * 1000)
            yield converted


def _pick(row: dict[str, Any], columns: Columns, as_tuple: bool = False) -> Any:
    try:
        if isinstance(columns, str):
            return row[columns]
        picked = [row[c] for c in columns]
    except KeyError as error:
        raise StateError(
            "STATE_COLUMN",
            f"A row has no column {error}; it has {', '.join(map(repr, row)) or 'none'}. Set the columns with key= and value=.",
        ) from None
    return tuple(picked) if as_tuple else dict(zip(columns, picked, strict=True))


def _converter(kind: TypeInformation | None, from_columns: bool) -> Callable[[Any], Any]:
    if not from_columns:
        return lambda value: value
    if kind is not None and kind.declared:
        convert = _InputColumns().visit(kind).decode
        if convert is not None:
            return lambda value: None if value is None else convert(value)
    return _to_tuples


class _InputColumns(FileColumns):
    """The columns of input rows. Tuples and values of unknown structure are not converted."""

    def visit_tuple(self, type_info: TupleTypeInfo) -> ArrowColumn:
        return ArrowColumn(pa.null())

    def visit_opaque(self, type_info: TypeInformation) -> ArrowColumn:
        return ArrowColumn(pa.null())


def _to_tuples(value: Any) -> Any:
    """Converts dicts with the fields f0, f1, ... to tuples."""
    if isinstance(value, dict) and list(value) == [f"f{i}" for i in range(len(value))]:
        return tuple(_to_tuples(v) for v in value.values())
    return value
