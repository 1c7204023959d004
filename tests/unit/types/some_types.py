"""Hypothesis strategies: any declared type, and values of it."""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from penstock import Instant
from penstock.row import RowKind, make_row
from penstock.types import TypeInformation, Types

Typed = tuple[TypeInformation, st.SearchStrategy[Any]]

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
ANY_FLOAT = st.floats(allow_nan=False)
DATETIMES = st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)).map(lambda d: d.replace(fold=0))

BASIC: list[Typed] = [
    (Types.STRING(), TEXT),
    (Types.CHAR(), st.characters(codec="utf-8")),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), st.integers(-(2**7), 2**7 - 1)),
    (Types.SHORT(), st.integers(-(2**15), 2**15 - 1)),
    (Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    (Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    (Types.FLOAT(), st.floats(width=32, allow_nan=False)),
    (Types.DOUBLE(), ANY_FLOAT),
]
SINGLE: list[Typed] = [
    *BASIC,
    (Types.BIG_INT(), st.integers()),
    (Types.BIG_DEC(), st.decimals(allow_nan=False)),
    (Types.INSTANT(), st.builds(Instant, st.integers(-(2**40), 2**40), st.integers(0, 999_999_999))),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times().map(lambda t: t.replace(fold=0))),
    (Types.SQL_TIMESTAMP(), DATETIMES),
    (Types.BYTES(), st.binary(max_size=8)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=8)),
]


def _or_none(typed: Typed) -> st.SearchStrategy[Any]:
    return st.none() | typed[1]


def _lists(factory: Callable[[TypeInformation], TypeInformation]) -> Callable[[Typed], Typed]:
    return lambda element: (factory(element[0]), st.lists(_or_none(element), max_size=4))


def _primitive_array(element: Typed) -> Typed:
    return Types.PRIMITIVE_ARRAY(element[0]), st.lists(element[1], max_size=4)


def _map(value: Typed) -> Typed:
    return Types.MAP(Types.STRING(), value[0]), st.dictionaries(TEXT, _or_none(value), max_size=3)


def _tuple(fields: list[Typed]) -> Typed:
    return Types.TUPLE([t for t, _ in fields]), st.tuples(*(_or_none(f) for f in fields))


def _row(fields: list[Typed]) -> Typed:
    names = [f"n{i}" for i in range(len(fields))]
    rows = st.builds(
        lambda values, kind: make_row(names, list(values), kind),
        st.tuples(*(_or_none(f) for f in fields)),
        st.sampled_from(RowKind),
    )
    return Types.ROW_NAMED(names, [t for t, _ in fields]), rows


def _nested(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    fields = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(_lists(Types.LIST)),
        inner.map(_lists(Types.OBJECT_ARRAY)),
        inner.map(_map),
        fields.map(_tuple),
        fields.map(_row),
    )


ARRAYS = st.one_of(
    st.sampled_from([b for b in BASIC if b[0] != Types.CHAR()]).map(_lists(Types.BASIC_ARRAY)),
    st.sampled_from([b for b in BASIC[2:] if b[0] != Types.BYTE()]).map(_primitive_array),
)
TYPED: st.SearchStrategy[Typed] = st.recursive(st.sampled_from(SINGLE) | ARRAYS, _nested, max_leaves=5)


def single_precision(value: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


WRONG: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), 1),
    (Types.STRING(), b"a"),
    (Types.BOOLEAN(), "yes"),
    (Types.BOOLEAN(), 1.0),
    (Types.BYTE(), 128),
    (Types.SHORT(), -32769),
    (Types.INT(), 2**31),
    (Types.INT(), 1.5),
    (Types.INT(), "1"),
    (Types.LONG(), 2**63),
    (Types.DOUBLE(), "1.5"),
    (Types.BIG_INT(), 1.5),
    (Types.BIG_DEC(), "many"),
    (Types.INSTANT(), datetime.datetime(2024, 1, 1)),
    (Types.SQL_DATE(), "2024-01-01"),
    (Types.SQL_TIME(), datetime.datetime(2024, 1, 1)),
    (Types.SQL_TIMESTAMP(), datetime.date(2024, 1, 1)),
    (Types.BYTES(), "a"),
    (Types.LIST(Types.INT()), "12"),
    (Types.LIST(Types.INT()), [1, "2"]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1, 2]),
    (Types.MAP(Types.STRING(), Types.INT()), {None: 1}),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": "b"}),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
    (Types.TUPLE([Types.INT(), Types.INT()]), (1,)),
    (Types.TUPLE([Types.INT()]), 1),
    (Types.ROW([Types.INT()]), (1, 2)),
    (Types.ROW_NAMED(["a"], [Types.INT()]), 5),
    (Types.ROW_NAMED(["a"], [Types.INT()]), {"a": "x"}),
    (Types.of(int), "1"),
    (Types.of(int), True),
    (Types.of(tuple[str, int]), ("a", None, 2)),
    (Types.of(list[int]), [1.5]),
    (Types.of(decimal.Decimal), 1.5),
]
