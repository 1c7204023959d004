"""Elements and keys arrive in another process as they were sent: equal, and of the same classes."""

from __future__ import annotations

import enum
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.wire.body import pack_body, unpack_body
from penstock.engine.wire.plain_columns import encode_column


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    """A subclass that a format without classes would lose."""


class Click(msgspec.Struct):
    page: Any
    amount: Any


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters(), max_size=4),  # with halves of surrogate pairs
    st.binary(max_size=4),
    st.sampled_from([Colour.RED, Level.LOW, Name("a"), (1, "b"), [None], b"", 2**64 - 1, -(2**63)]),
)
COLUMNS = st.one_of(
    st.just(st.integers(-(2**63), 2**64 - 1)),
    st.just(st.floats()),
    st.just(st.text(max_size=3)),
    st.just(st.one_of(st.none(), st.text(max_size=3))),
    st.just(VALUES),
)


def described(value: Any) -> Any:
    """A form that distinguishes classes, signs of zero and NaN."""
    if isinstance(value, list | tuple):
        return type(value), [described(item) for item in value]
    if isinstance(value, Click):
        return Click, described((value.page, value.amount))
    if isinstance(value, float):
        return float, "nan" if math.isnan(value) else (value, math.copysign(1, value))
    return type(value), value


@given(st.data(), st.integers(1, 3), st.integers(0, 40), st.sampled_from(["none", "column", "other"]))
def test_tuples_and_keys_arrive_unchanged(data: st.DataObject, width: int, count: int, keyed: str) -> None:
    columns = [data.draw(st.lists(data.draw(COLUMNS), min_size=count, max_size=count)) for _ in range(width)]
    values = list(zip(*columns, strict=True))
    keys = {"none": None, "column": columns[-1], "other": list(range(count))}[keyed]
    received_keys, received = unpack_body(pack_body(keys, values))
    assert described(received) == described(values)
    assert described(received_keys) == described(keys)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=40))
def test_structs_arrive_unchanged(pairs: list[tuple[Any, Any]]) -> None:
    values = [Click(*pair) for pair in pairs]
    keys = [click.page for click in values]
    received_keys, received = unpack_body(pack_body(keys, values))
    assert described(received) == described(values)
    assert described(received_keys) == described(keys)


def test_keys_that_are_a_column_are_sent_once() -> None:
    names = [f"a long name of a user {i}" for i in range(100)]
    values = [(name, 1) for name in names]
    with_keys, without = pack_body(names, values), pack_body(None, values)
    assert len(with_keys) - len(without) < 10


@pytest.mark.parametrize("value", [Colour.RED, Level.LOW, Name("a"), (1,), 2**64, "\ud800"])
def test_a_column_with_another_value_stays_a_list(value: Any) -> None:
    column = ["a", 1, value]
    assert encode_column(column) is column


def test_repeated_strings_are_sent_once() -> None:
    campaigns = [f"the name of campaign {i} " * 5 for i in range(4)]
    values = [(campaigns[i % 4], i) for i in range(1000)]
    assert len(pack_body(None, values)) < 10_000
