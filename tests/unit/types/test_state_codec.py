"""Declared types in state: values round-trip, values that do not fit fail on write, and old formats stay readable."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Instant, Row
from penstock.errors import StateError
from penstock.runtime.state.codec import PickleCodec, TypedCodec, codec_of
from penstock.types import TypeInformation, Types
from tests.unit.types.some_types import TYPED, WRONG


@dataclass
class Order:
    user: str
    amount: float


class Shy:
    """A class that can only be pickled."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shy) and other.value == self.value

    __hash__ = None  # type: ignore[assignment]


@given(st.data())
def test_every_type_round_trips(data: st.DataObject) -> None:
    type_info, values = data.draw(TYPED, "type")
    value = data.draw(values, "value")
    codec = codec_of(type_info)
    assert isinstance(codec, TypedCodec)
    again = codec.decode(codec.encode(value))
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize(("type_info", "value"), WRONG, ids=lambda v: repr(v))
def test_a_value_that_does_not_fit_fails_on_write(type_info: TypeInformation, value: Any) -> None:
    with pytest.raises(StateError) as caught:
        codec_of(type_info).encode(value)
    assert caught.value.code == "STATE_VALUE"
    assert type_info.name in str(caught.value)


def test_convertible_values_are_converted() -> None:
    rows = codec_of(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.DOUBLE()]))
    assert rows.decode(rows.encode((1, 2))) == Row(a=1, b=2.0)
    lists = codec_of(Types.LIST(Types.INT()))
    assert lists.decode(lists.encode((1, 2))) == [1, 2]


def test_none_in_any_field() -> None:
    codec = codec_of(Types.TUPLE([Types.LONG(), Types.LIST(Types.STRING())]))
    assert codec.decode(codec.encode((None, ["a", None]))) == (None, ["a", None])
    assert codec.decode(codec.encode(None)) is None


def test_classes() -> None:
    codec = codec_of(Types.of(Order))
    assert codec.decode(codec.encode(Order("ada", 1.5))) == Order("ada", 1.5)
    with pytest.raises(StateError, match="Order"):
        codec.encode(Order(1, 1.5))  # type: ignore[arg-type]


def test_plain_objects_are_pickled() -> None:
    for type_info in (Types.of(Shy), Types.of(list[Shy])):
        assert isinstance(codec_of(type_info), PickleCodec)
    codec = codec_of(Types.of(Shy))
    assert codec.decode(codec.encode(Shy(1))) == Shy(1)


def _version_1(value: Any) -> bytes:
    return b"\x01" + msgspec.msgpack.Encoder(decimal_format="string").encode(value)


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.INT(), 2**40, 2**40),  # had no bounds
        (Types.TUPLE([Types.LONG(), Types.STRING()]), (1, "a"), (1, "a")),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1)),
        (Types.INSTANT(), datetime.datetime(1970, 1, 1, 0, 0, 1), Instant(1, 0)),
        (Types.LIST(Types.INSTANT()), [datetime.datetime(1970, 1, 1, 0, 0, 1)], [Instant(1, 0)]),
        (Types.of(Order), {"user": "ada", "amount": 1.5}, Order("ada", 1.5)),
    ],
)
def test_version_1_stays_readable(type_info: TypeInformation, value: Any, expected: Any) -> None:
    assert codec_of(type_info).decode(_version_1(value)) == expected


def test_version_0_stays_readable() -> None:
    assert codec_of(Types.BIG_INT()).decode(b"\x00" + pickle.dumps(2**70)) == 2**70


def test_an_unknown_version_raises_an_error() -> None:
    with pytest.raises(StateError, match="STATE_FORMAT"):
        codec_of(Types.INT()).decode(b"\x09\x01")
