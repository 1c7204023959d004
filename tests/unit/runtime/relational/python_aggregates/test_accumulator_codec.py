"""Accumulators come back from state as they were, with the classes of their parts."""

from __future__ import annotations

import datetime
import decimal
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.row import Row
from penstock.runtime.relational.python_aggregates.accumulator_codec import decode, encode, encode_key
from penstock.runtime.relational.python_aggregates.views import ListView, MapView

_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
_KEYS = st.integers() | st.text()
_VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(_KEYS, inner),
    max_leaves=8,
)


def _classes(value: Any) -> Any:
    if isinstance(value, dict):
        return dict, [(_classes(k), _classes(v)) for k, v in value.items()]
    return type(value), [_classes(v) for v in value] if isinstance(value, list | tuple | Row) else []


@given(_VALUES)
def test_any_value_comes_back_with_its_classes(value: Any) -> None:
    found = decode(encode(value))
    assert found == value
    assert _classes(found) == _classes(value)


@pytest.mark.parametrize(
    "value",
    [
        Row(1, "a"),
        Row(a=1, b=Row(2)),
        [decimal.Decimal("1.50"), datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 1)],
        Counter("aab"),
        {(1, 2): {3}},
        2**70,
        "\ud800",
    ],
)
def test_rows_and_objects_come_back(value: Any) -> None:
    assert decode(encode(value)) == value
    assert _classes(decode(encode(value))) == _classes(value)


def test_views_in_memory_come_back_with_their_entries() -> None:
    items: ListView[int] = ListView()
    items.add_all([1, 2])
    counts: MapView[str, int] = MapView()
    counts["a"] = 3
    found = decode(encode(Row(items, counts)))
    assert list(found[0]) == [1, 2]
    assert dict(found[1].items()) == {"a": 3}


def test_objects_of_local_classes_come_back() -> None:
    class Local:
        value = 5

    assert decode(encode(Local())).value == 5


def test_an_object_that_cannot_be_pickled_is_an_error() -> None:
    with pytest.raises(StateError, match="generator"):
        encode([(n for n in range(3))])


def test_equal_keys_have_equal_bytes() -> None:
    assert encode_key(1) == encode_key(1.0) == encode_key(True)
    assert encode_key((1, "a")) == encode_key((1.0, "a"))
    assert len({encode_key(key) for key in (1, "1", 1.5, None, b"1", (1,))}) == 6
