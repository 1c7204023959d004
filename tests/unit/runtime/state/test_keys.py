"""Encoded keys: equal keys have equal encodings, different keys different ones, and keys can be restored."""

from __future__ import annotations

import datetime
import enum
import pickle
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidKeyError
from penstock.runtime.state.keys import (
    KeyTable,
    decode_key,
    encode_key,
    encoded_length,
    key_group,
    pickle_undecodable,
    restore_key,
)


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    A = "a"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class City:
    name: str
    zip: int
    note: str = field(default="", compare=False)


class Order(msgspec.Struct, frozen=True):
    number: int


NUMBERS = st.one_of(
    st.integers(),
    st.sampled_from([10**310, 2**63, -(2**63) - 1]),
    st.integers(-3, 3),
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 0.5, 2.0, 1e300, 2.0**63, float("inf")]),
    st.decimals(allow_nan=False),
    st.sampled_from(
        [Decimal("0.5"), Decimal("0.50"), Decimal("2.0"), Decimal("1E+2"), Decimal("0.1"), Decimal("Infinity")]
    ),
    st.just(Decimal("1." + "0" * 40 + "1")),
    st.just(Level.LOW),
)
DATES = st.one_of(st.dates(), st.datetimes(), st.times(), st.datetimes(timezones=st.sampled_from([datetime.UTC, None])))
ATOMS = st.one_of(
    NUMBERS, st.text(max_size=40), st.binary(max_size=40), st.uuids(), st.sampled_from(list(Colour)), DATES
)
KEYS = st.recursive(
    st.one_of(
        ATOMS, st.builds(City, st.text(max_size=3), st.integers(0, 3), st.text(max_size=1)), st.builds(Order, ATOMS)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.tuples(inner, st.none()),
        st.builds(Point, st.integers(0, 2), st.integers(0, 2)),
    ),
    max_leaves=6,
)


@given(KEYS, KEYS)
def test_keys_are_equal_if_their_encodings_are(one: Any, other: Any) -> None:
    assert (one == other) == (encode_key(one)[0] == encode_key(other)[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (2, Decimal("2.00")),
        (0.5, Decimal("0.50")),
        (float("inf"), Decimal("Infinity")),
        (1, Level.LOW),
        ("a", Name.A),
        ((1, 2), Point(1, 2)),
        ((1, 2), (True, 2.0)),
        (b"a", memoryview(b"a")),
        (City("Oslo", 1, "x"), City("Oslo", 1, "y")),
        (frozenset([1, 2]), frozenset([2.0, True])),
        (
            datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC),
            datetime.datetime(2026, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ),
    ],
)
def test_keys_that_are_equal_in_python_are_one_key(one: Any, other: Any) -> None:
    assert one == other
    assert encode_key(one)[0] == encode_key(other)[0]


@given(KEYS)
def test_a_key_is_restored(key: Any) -> None:
    encoded, plain = encode_key(key)
    back = restore_key(encoded, pickle_undecodable(key, plain))
    assert back == key
    assert type(back) is type(key)


@given(KEYS)
def test_a_decodable_key_is_decoded_from_its_encoding(key: Any) -> None:
    encoded, plain = encode_key(key)
    if plain:
        assert decode_key(encoded) == key


@given(KEYS, st.binary(max_size=5))
def test_encoded_length(key: Any, rest: bytes) -> None:
    encoded, _ = encode_key(key)
    assert encoded_length(b"xx" + encoded + rest, 2) == len(encoded)


@given(KEYS, KEYS)
def test_no_encoded_key_is_a_prefix_of_another(one: Any, other: Any) -> None:
    if one != other:
        assert not encode_key(one)[0].startswith(encode_key(other)[0])


@given(st.lists(KEYS, max_size=10))
def test_the_key_table_agrees_with_the_functions(keys: list[Any]) -> None:
    table = KeyTable(32)
    for key in [*keys, *keys]:
        identity = table[key]
        assert identity.encoded == encode_key(key)[0]
        assert identity.group == key_group(identity.hash, 32) < 32
        assert identity.prefix == identity.group.to_bytes(2, "big") + identity.encoded
    met: dict[bytes, bool] = {}  # of equal keys, such as inf and Decimal("Infinity"), the first one is in the table
    for key in keys:
        met.setdefault(*encode_key(key))
    assert set(table.pickled_keys) == {encoded for encoded, plain in met.items() if not plain}


@pytest.mark.parametrize("key", [None, [1], {"a": 1}, {1, 2}, object(), Decimal("NaN")])
def test_invalid_keys_are_rejected(key: Any) -> None:
    with pytest.raises(InvalidKeyError):
        encode_key(key)


def test_hashes_are_the_same_in_another_process() -> None:
    keys = ["a", 1, 2.5, ("x", 1), uuid.UUID(int=5), frozenset("abc"), Decimal("0.1")]
    here = [KeyTable(128)[key].hash for key in keys]
    program = (
        "import pickle, sys\nfrom penstock.runtime.state.keys import KeyTable\n"
        "print([KeyTable(128)[k].hash for k in pickle.loads(bytes.fromhex(sys.argv[1]))])"
    )
    there = subprocess.run(
        [sys.executable, "-c", program, pickle.dumps(keys).hex()], capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == str(here)


class _City(pydantic.BaseModel, frozen=True, extra="allow"):
    name: str
    size: int = 1


def test_frozen_pydantic_models_are_keys() -> None:
    """Models with equal fields and other extra fields are not equal, so they are different keys."""
    assert encode_key(_City(name="Bonn")) == encode_key(_City(name="Bonn", size=1))
    different = [
        _City(name="Bonn"),
        _City(name="Bonn", size=2),
        _City.model_validate({"name": "Bonn", "river": "Rhine"}),
    ]
    assert len({encode_key(city)[0] for city in different}) == 3


def test_frozen_attrs_classes_are_keys() -> None:
    attrs = pytest.importorskip("attrs")

    @attrs.frozen
    class City:
        name: str = attrs.field(eq=str.lower)
        note: str = attrs.field(default="", eq=False)

    make: Any = City
    assert encode_key(make("Bonn", "a")) == encode_key(make("bonn", "b"))
    assert encode_key(make("Bonn")) != encode_key(make("Ulm"))
