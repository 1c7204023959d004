"""Spark's types as ours: what the columns of a DataFrame are as fields of rows, and how their values are read from Arrow."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyarrow as pa

from penstock.errors import UnsupportedOperation
from penstock.row import make_row
from penstock.types import RowTypeInfo, TypeInformation, Types

_SIMPLE: dict[str, Callable[[], TypeInformation]] = {
    "string": Types.STRING,
    "boolean": Types.BOOLEAN,
    "byte": Types.BYTE,
    "short": Types.SHORT,
    "integer": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "binary": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "date": Types.SQL_DATE,
    "timestamp": Types.SQL_TIMESTAMP,
    "timestamp_ntz": Types.SQL_TIMESTAMP,
}


def row_type(schema: dict[str, Any]) -> RowTypeInfo:
    """The rows of a DataFrame, by its schema in Spark's JSON form.

    >>> row_type({"fields": [{"name": "id", "type": "long"}, {"name": "tags", "type": {"type": "array", "elementType": "string"}}]})
    RowTypeInfo(id: Long, tags: ListTypeInfo<String>)
    """
    fields = schema["fields"]
    return RowTypeInfo([_type_of(f["type"], f["name"]) for f in fields], [f["name"] for f in fields])


def _type_of(kind: Any, column: str) -> TypeInformation:
    if isinstance(kind, str):
        if kind in _SIMPLE:
            return _SIMPLE[kind]()
        if kind.startswith("decimal"):
            return Types.BIG_DEC()
        if kind.startswith(("char(", "varchar(", "string ")):
            return Types.STRING()
    elif kind["type"] == "struct":
        return row_type(kind)
    elif kind["type"] == "array":
        return Types.LIST(_type_of(kind["elementType"], column))
    elif kind["type"] == "map":
        return Types.MAP(_type_of(kind["keyType"], column), _type_of(kind["valueType"], column))
    raise UnsupportedOperation(
        "DATAFRAME_TYPE",
        f"Column '{column}' of the DataFrame is of Spark's type {kind if isinstance(kind, str) else kind['type']}, which has no "
        "counterpart here. Cast it with selectExpr before from_dataframe, or leave it out.",
    )


def values_of(array: Any) -> list[Any]:
    """The elements of a column as Python values: structs as rows, maps as dicts, moments in UTC without a zone.

    >>> values_of(pa.array([{"a": 1}, None])), values_of(pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))
    ([Row(a=1), None], [{'k': 1}])
    """
    kind = array.type
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        columns = [values_of(part) for part in array.flatten()]
        rows = zip(*columns, strict=True) if columns else (() for _ in range(len(array)))
        found: list[Any] = [make_row(names, list(values)) for values in rows]
    elif pa.types.is_map(kind):
        keys, items = values_of(array.keys), values_of(array.items)
        pairs = list(zip(keys, items, strict=True))
        found = [dict(pairs[a:b]) for a, b in _ranges(array)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = values_of(array.values)
        found = [inner[a:b] for a, b in _ranges(array)]
    else:
        if pa.types.is_timestamp(kind):
            array = array.cast(pa.timestamp("us"))
        plain: list[Any] = array.to_pylist()
        return plain
    if array.null_count:
        return [v if there else None for v, there in zip(found, array.is_valid().to_pylist(), strict=True)]
    return found


def _ranges(array: Any) -> list[tuple[int, int]]:
    """Where each list begins and ends in the column of all elements."""
    offsets = array.offsets.to_pylist()
    return list(pairwise(offsets))
