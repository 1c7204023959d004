"""Converts Spark types to row types, and Arrow columns of a DataFrame to Python values."""

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


def row_type_from_spark_schema(schema: dict[str, Any]) -> RowTypeInfo:
    """Returns the row type of a DataFrame. `schema` is the JSON form of its Spark schema.

    >>> tags = {"name": "tags", "type": {"type": "array", "elementType": "string"}}
    >>> row_type_from_spark_schema({"fields": [{"name": "id", "type": "long"}, tags]})
    RowTypeInfo(id: Long, tags: ListTypeInfo<String>)
    """
    fields = schema["fields"]
    return RowTypeInfo([_from_spark_type(f["type"], f["name"]) for f in fields], [f["name"] for f in fields])


def _from_spark_type(kind: Any, column: str) -> TypeInformation:
    if isinstance(kind, str):
        if kind in _SIMPLE:
            return _SIMPLE[kind]()
        if kind.startswith("decimal"):
            return Types.BIG_DEC()
        if kind.startswith(("char(", "varchar(", "string ")):
            return Types.STRING()
    elif kind["type"] == "struct":
        return row_type_from_spark_schema(kind)
    elif kind["type"] == "array":
        return Types.LIST(_from_spark_type(kind["elementType"], column))
    elif kind["type"] == "map":
        return Types.MAP(_from_spark_type(kind["keyType"], column), _from_spark_type(kind["valueType"], column))
    raise UnsupportedOperation(
        "DATAFRAME_TYPE",
        f"Column '{column}' of the DataFrame has the Spark type {kind if isinstance(kind, str) else kind['type']}, which is not "
        "supported. Cast or drop the column with selectExpr before from_dataframe.",
    )


def to_python_values(array: Any) -> list[Any]:
    """Returns the values of a column: structs as rows, maps as dicts, timestamps in UTC without a time zone.

    >>> to_python_values(pa.array([{"a": 1}, None])), to_python_values(pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))
    ([Row(a=1), None], [{'k': 1}])
    """
    kind = array.type
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        columns = [to_python_values(part) for part in array.flatten()]
        rows = zip(*columns, strict=True) if columns else (() for _ in range(len(array)))
        values: list[Any] = [make_row(names, list(values)) for values in rows]
    elif pa.types.is_map(kind):
        keys, items = to_python_values(array.keys), to_python_values(array.items)
        pairs = list(zip(keys, items, strict=True))
        values = [dict(pairs[a:b]) for a, b in _ranges(array)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = to_python_values(array.values)
        values = [inner[a:b] for a, b in _ranges(array)]
    else:
        if pa.types.is_timestamp(kind):
            array = array.cast(pa.timestamp("us"))
        plain: list[Any] = array.to_pylist()
        return plain
    if array.null_count:
        return [v if there else None for v, there in zip(values, array.is_valid().to_pylist(), strict=True)]
    return values


def _ranges(array: Any) -> list[tuple[int, int]]:
    """Returns start and end of each list in the column of all elements."""
    offsets = array.offsets.to_pylist()
    return list(pairwise(offsets))
