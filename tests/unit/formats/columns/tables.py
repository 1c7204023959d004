"""Tables for tests: fields from the text of a type, rows of Python values, and random rows of all types."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from penstock.formats.columns.interface import Decoded
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field, RowType
from penstock.types.logical.text import parse_type

SIGNS = ("+I", "-U", "+U", "-D")


def fields(columns: str) -> tuple[Field, ...]:
    """Returns the fields of a list of columns as in CREATE TABLE."""
    row = parse_type(f"ROW<{columns}>")
    assert isinstance(row, RowType)
    return row.fields


def changes(columns: str, rows: Sequence[Sequence[Any]], kinds: str = "") -> Changes:
    """Returns rows as changes; `kinds` are signs such as "+I -D", or nothing for insertions."""
    types = [arrow_type(field.type) for field in fields(columns)]
    arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)]
    codes = np.array([SIGNS.index(k) for k in kinds.split()], np.int8) if kinds else None
    return Changes(arrays, len(rows), codes)


def rows_of(decoded: Decoded | Changes) -> list[tuple[Any, ...]]:
    """Returns the rows as tuples, with the sign of their kind first unless all are insertions."""
    found = decoded.changes if isinstance(decoded, Decoded) else decoded
    for column in found.columns:
        column.validate(full=True)
        assert len(column) == found.length
    rows = list(zip(*(c.to_pylist() for c in found.columns), strict=True)) if found.columns else [()] * found.length
    if found.kinds is None:
        return rows
    return [(SIGNS[kind], *row) for kind, row in zip(found.kinds.tolist(), rows, strict=True)]


_days = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
_times = st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))
_millis = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)).map(
    lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
)
_text = st.text(st.characters(codec="utf-8"), max_size=30)
_ints = {bits: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
_decimals = st.decimals(-99999999, 99999999, places=2).map(lambda d: d.quantize(Decimal("0.01")))

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": _ints[8],
    "SMALLINT": _ints[16],
    "INT": _ints[32],
    "BIGINT": _ints[64],
    "FLOAT": st.floats(width=32, allow_nan=False),
    "DOUBLE": st.floats(allow_nan=False),
    "DECIMAL(10, 2)": _decimals,
    "STRING": _text,
    "BYTES": st.binary(max_size=20),
    "DATE": _days,
    "TIME(3)": _times,
    "TIMESTAMP(3)": _millis,
    "TIMESTAMP_LTZ(3)": _millis.map(lambda t: t.replace(tzinfo=datetime.UTC)),
}
NESTED: dict[str, st.SearchStrategy[Any]] = {
    "ARRAY<INT>": st.lists(st.none() | _ints[32], max_size=4),
    "ARRAY<ARRAY<STRING>>": st.lists(st.none() | st.lists(_text, max_size=3), max_size=3),
    "MAP<STRING, BIGINT>": st.dictionaries(_text, st.none() | _ints[64], max_size=3).map(lambda d: list(d.items())),
    "MULTISET<STRING>": st.dictionaries(_text, st.integers(1, 9), max_size=3).map(lambda d: list(d.items())),
    "ROW<x INT, y ROW<z STRING>>": st.fixed_dictionaries(
        {"x": st.none() | _ints[32], "y": st.none() | st.fixed_dictionaries({"z": st.none() | _text})}
    ),
    "ARRAY<ROW<a DATE>>": st.lists(st.none() | st.fixed_dictionaries({"a": st.none() | _days}), max_size=3),
}


def random_rows(
    types: dict[str, st.SearchStrategy[Any]], nulls: bool = True
) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Returns lists of rows with one column per type."""
    return st.lists(st.tuples(*((st.none() | s) if nulls else s for s in types.values())), max_size=6)


def columns_of(types: dict[str, Any]) -> str:
    """Returns the columns of `random_rows`."""
    return ", ".join(f"c{i} {name}" for i, name in enumerate(types))
