from __future__ import annotations

import decimal
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PlanError
from penstock.runtime.relational.sorting.ordered_bytes import can_order, ordered_bytes
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.types.logical.kinds import INT, STRING, MapType

_TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats(allow_nan=True)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text(max_size=4)),
    (pa.binary(), st.binary(max_size=4)),
    (pa.decimal128(10, 2), st.decimals(-1000, 1000, places=2)),
    (pa.list_(pa.int32()), st.lists(st.integers(-3, 3), max_size=3)),
]


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def _before(a: Any, b: Any, key: SortKey) -> bool:
    if a is None or b is None:
        return a is not b and (a is None) == key.nulls_first
    return bool(_comparable(a) < _comparable(b) if key.ascending else _comparable(a) > _comparable(b))


@pytest.mark.parametrize(("type_", "values"), _TYPES, ids=lambda p: str(p)[:14])
@given(data=st.data(), ascending=st.booleans(), nulls_first=st.booleans())
def test_bytes_sort_like_values(
    type_: pa.DataType, values: st.SearchStrategy[Any], data: Any, ascending: bool, nulls_first: bool
) -> None:
    rows = data.draw(st.lists(st.none() | values, max_size=6))
    key = SortKey(0, ascending, nulls_first)
    encoded = ordered_bytes([pa.array([None, *rows], type_).slice(1)], [key], len(rows))
    for a, left in zip(rows, encoded, strict=True):
        for b, right in zip(rows, encoded, strict=True):
            assert (left < right) == _before(a, b, key)
            assert left == right or not right.startswith(left)


@given(st.lists(st.tuples(st.none() | st.text("ab\0", max_size=3), st.integers(-2, 2))))
def test_several_columns(rows: list[tuple[str | None, int]]) -> None:
    columns = [pa.array([r[0] for r in rows], pa.string()), pa.array([r[1] for r in rows], pa.int64())]
    keys = ordered_bytes(columns, [SortKey(0), SortKey(1, ascending=False)], len(rows))
    expected = sorted(range(len(rows)), key=lambda i: (rows[i][0] is not None, rows[i][0] or "", -rows[i][1]))
    assert sorted(range(len(rows)), key=keys.__getitem__) == expected


def test_stored_forms_stay_the_same() -> None:
    """Sort keys are part of the keys of state."""
    order = [SortKey(0), SortKey(1, ascending=False)]
    columns = [pa.array([-1], pa.int32()), pa.array(["a"])]
    assert ordered_bytes(columns, order, 1) == [b"\x01\x7f\xff\xff\xff\x01\x9e\xff\xff"]
    decimals = pa.array([decimal.Decimal("-0.01"), None], pa.decimal128(5, 2))
    assert ordered_bytes([decimals], [SortKey(0, True, False)], 2) == [
        b"\x00\x7f" + b"\xff" * 15,
        b"\x01" + bytes(16),
    ]


def test_no_sort_keys_and_types_without_an_order() -> None:
    assert ordered_bytes([], [], 2) == [b"", b""]
    assert can_order(STRING)
    assert not can_order(MapType(STRING, INT))
    with pytest.raises(PlanError, match="cannot be sorted"):
        ordered_bytes([pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))], [SortKey(0)], 1)
