"""Hypothesis strategies for row types and their values."""

from __future__ import annotations

import datetime
import math
from typing import Any

from hypothesis import strategies as st

from penstock.row import make_row
from penstock.time import Instant
from penstock.types import RowTypeInfo, TypeInformation, Types

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DOUBLES = st.floats(allow_nan=False)
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1))
Kind = tuple[TypeInformation, st.SearchStrategy[Any]]

SINGLE: list[Kind] = [
    (Types.STRING(), TEXT),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), st.integers(-(2**7), 2**7 - 1)),
    (Types.SHORT(), st.integers(-(2**15), 2**15 - 1)),
    (Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    (Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    (Types.FLOAT(), st.floats(width=32, allow_nan=False)),
    (Types.DOUBLE(), DOUBLES),
    (Types.BIG_INT(), st.integers()),
    (Types.BIG_DEC(), st.decimals(allow_nan=False, allow_infinity=False)),
    (Types.SQL_DATE(), st.dates(datetime.date(1, 1, 1))),
    (Types.SQL_TIMESTAMP(), MOMENTS),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=10)),
]
CLOCKS: Kind = (Types.SQL_TIME(), st.times().map(lambda t: t.replace(microsecond=0)))
INSTANTS: Kind = (
    Types.INSTANT(),
    st.builds(Instant, st.integers(0, 4 * 10**9), st.integers(0, 999_999).map(lambda micros: micros * 1000)),
)


def rows(kinds: list[Kind]) -> st.SearchStrategy[tuple[RowTypeInfo, list[Any]]]:
    """Draws a row type with fields of the given types, and rows of it."""
    return st.lists(st.sampled_from(kinds), min_size=1, max_size=5).flatmap(_rows_of)


def _rows_of(fields: list[Kind]) -> st.SearchStrategy[tuple[RowTypeInfo, list[Any]]]:
    names = [f"field {i}" for i in range(len(fields))]
    kind = Types.ROW_NAMED(names, [t for t, _ in fields])
    row = st.tuples(*(st.none() | values for _, values in fields)).map(lambda v: make_row(names, list(v)))
    return st.tuples(st.just(kind), st.lists(row, max_size=5))


def nested(kinds: list[Kind]) -> list[Kind]:
    """Lists, maps and rows of the given types, and the types themselves."""
    lists = [(Types.LIST(t), st.lists(st.none() | v, max_size=3)) for t, v in kinds]
    maps = [(Types.MAP(Types.STRING(), t), st.dictionaries(TEXT, st.none() | v, max_size=3)) for t, v in kinds]
    inner = Types.ROW_NAMED(["a", "b"], [kinds[0][0], kinds[1][0]])
    both = st.tuples(st.none() | kinds[0][1], st.none() | kinds[1][1])
    return [*kinds, *lists, *maps, (inner, both.map(lambda v: make_row(["a", "b"], list(v))))]


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal and have the same types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return math.copysign(1, a) == math.copysign(1, b) and a == b
    if isinstance(a, (list, tuple)) or type(a).__name__ == "Row":
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)
