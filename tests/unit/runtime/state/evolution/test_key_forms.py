"""Single key types: decoded by their shape, and converted."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from penstock import (
    Instant,
    Row,
    Types,
)
from penstock.runtime.state.evolution.describe import describe_key
from penstock.runtime.state.evolution.key_change import compare_key_types
from penstock.runtime.state.evolution.shape import read_shape
from penstock.runtime.state.keys import encode_key
from penstock.types import TupleTypeInfo, type_information
from tests.unit.runtime.state.evolution.key_changes import (
    Inner,
    Kind,
    Old,
    Pair,
    Shifted,
    Tenant,
    Texts,
    Turned,
    Who,
    WhoSaid,
)


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        (bool, [True, False]),
        (float, [1.0, 1.5, float("inf")]),
        (Decimal, [Decimal("1"), Decimal("1.5"), Decimal("0.1"), Decimal("-12345678901234567890.5")]),
        (bytes, [b"", b"ab"]),
        (datetime.date, [datetime.date(2026, 1, 31)]),
        (datetime.time, [datetime.time(1, 2, 3)]),
        (datetime.datetime, [datetime.datetime(2026, 1, 31, 1), datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)]),
        (uuid.UUID, [uuid.UUID(int=7)]),
        (Kind, [Kind.ONE, Kind.MANY]),
        (enum.StrEnum("Words", ["A", "B"]), None),
        (frozenset[int], [frozenset({1, 2}), frozenset()]),
        (tuple[int, ...], [(1, 2, 3), ()]),
        (int | str | None, [1, "a", None]),
        (Inner, [Inner(3)]),
        (Pair, [Pair(1, "a")]),
        (Types.BIG_INT(), [2**70, 5]),
        (Types.INSTANT(), [Instant(5, 6)]),
        (Types.SQL_TIMESTAMP(), [datetime.datetime(2026, 1, 31)]),
        (Types.ROW_NAMED(["z", "a"], [Types.INT(), Types.TUPLE([Types.STRING()])]), [Row(z=1, a=("x",))]),
    ],
)
def test_parts_of_keys_are_decoded(declared: Any, values: list[Any] | None) -> None:
    part = type_information(declared)
    given = list(declared) if values is None else values
    before, after = TupleTypeInfo([part]), TupleTypeInfo([part, Types.STRING()])
    saved = read_shape(msgspec.json.decode(msgspec.json.encode(describe_key(before).to_builtins())))
    make = compare_key_types(saved, after).convert
    assert make is not None
    assert [make(encode_key((value,))[0]) for value in given] == [(value, None) for value in given]


def test_fields_that_swap_positions_are_matched_by_name() -> None:
    """Both fields are str and the class has the same name, so the encoded keys alone would fit."""
    saved = describe_key(Types.of(Texts))
    saved.name = "Turned"
    comparison = compare_key_types(saved, Types.of(Turned))
    assert comparison.convert is not None
    assert comparison.differences == ["the order of the fields changed"]
    assert comparison.convert(encode_key(Texts("ada", "north"))[0]) == Turned("north", "ada")
    assert compare_key_types(saved, Types.of(Shifted)).obstacles == [
        "country: was added without a default; if it was called 'user' before, declare an alias"
    ]


@pytest.mark.parametrize(("now", "expected"), [(Who, "is now called 'who'"), (WhoSaid, "who: was called 'user'")])
def test_a_renamed_field_in_the_same_position_is_the_same_field(now: Any, expected: str) -> None:
    saved = describe_key(Types.of(Old))
    saved.name = now.__name__
    comparison = compare_key_types(saved, Types.of(now))
    assert (comparison.convert, comparison.obstacles) == (None, [])
    assert expected in comparison.differences[0]


def test_a_field_with_a_default_is_a_new_one() -> None:
    saved = describe_key(Types.of(Old))
    saved.name = "Tenant"
    comparison = compare_key_types(saved, Types.of(Tenant))
    assert comparison.convert is not None
    assert comparison.convert(encode_key(Old(1, "north"))[0]) == Tenant(1)
