"""All kinds of records, and nested types."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

import msgspec
import pytest

from penstock import (
    Row,
    Types,
)
from penstock.errors import StateError
from penstock.types.evolution import state_type
from tests.unit.runtime.state.evolution.saved_state_driver import TupleBefore, restore_value


class StructBefore(msgspec.Struct, rename="camel"):
    first_name: str
    age: int


@state_type(aliases={"given_name": "firstName"})
class StructAfter(msgspec.Struct, rename="camel"):
    given_name: str
    age: float
    home_town: str = "?"


class ArrayAfter(msgspec.Struct, array_like=True):
    age: int
    extra: list[int] = []
    firstName: str = ""  # noqa: N815 - as it is stored


class TupleAfter(NamedTuple):
    z: float = 0.5
    y: float = 0.0
    x: int = 0


class DictBefore(TypedDict):
    x: int
    y: int


class DictAfter(TypedDict):
    y: float
    note: NotRequired[str]


def test_structs_with_stored_names() -> None:
    assert restore_value(StructBefore, StructBefore("Ada", 36), StructAfter)[1] == StructAfter("Ada", 36.0, "?")


def test_structs_stored_as_arrays() -> None:
    value = restore_value(StructBefore, StructBefore("Ada", 36), ArrayAfter)[1]
    assert value == ArrayAfter(36, [], "Ada")
    assert restore_value(ArrayAfter, value, StructBefore)[1] == StructBefore("Ada", 36)


def test_structs_that_omit_defaults() -> None:
    """An omitted field has the default of the class that wrote it."""

    class Before(msgspec.Struct, omit_defaults=True):
        n: int = 3
        s: str = "a"

    class After(msgspec.Struct, omit_defaults=True):
        n: float = 9
        s: str = "b"
        new: int = 1

    assert restore_value(Before, Before(s="x"), After)[1] == After(3.0, "x", 1)


def test_named_tuples() -> None:
    assert restore_value(TupleBefore, TupleBefore(1, 2), TupleAfter)[1] == TupleAfter(0.5, 2.0, 1)
    assert restore_value(tuple[int, int], (1, 2), TupleBefore)[1] == TupleBefore(1, 2)


def test_typed_dicts() -> None:
    assert restore_value(DictBefore, {"x": 1, "y": 2}, DictAfter)[1] == {"y": 2.0}


def test_rows() -> None:
    before = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    after = Types.ROW_NAMED(["age", "born", "called"], [Types.DOUBLE(), Types.SQL_DATE(), Types.STRING()])
    said = after.evolved(aliases={"called": "name"}, defaults={"born": datetime.date(2000, 1, 1)})
    _found, value = restore_value(before, Row(name="Ada", age=36), said)
    assert value == Row(age=36.0, born=datetime.date(2000, 1, 1), called="Ada")
    assert restore_value(before, Row(name="Ada", age=36), after)[1] == Row(age=36.0, born=None, called=None)


def test_a_row_is_converted_to_an_object_and_back() -> None:
    row = Types.ROW_NAMED(["name", "total"], [Types.STRING(), Types.LONG()])
    resolution, value = restore_value(row, Row(name="a", total=1), WithDefaultsOnly)
    assert value == WithDefaultsOnly("a", 1)
    assert resolution.checked  # a row's field may be None
    assert restore_value(WithDefaultsOnly, WithDefaultsOnly("a", 1, 2), row)[1] == Row(name="a", total=1)


@dataclass
class WithDefaultsOnly:
    name: str
    total: int = 0
    more: int = 5


def test_none_is_reported_if_the_new_type_does_not_allow_it() -> None:
    row = Types.ROW_NAMED(["name", "total"], [Types.STRING(), Types.LONG()])
    with pytest.raises(StateError, match="does not fit") as raised:
        restore_value(row, Row(name=None, total=1), WithDefaultsOnly)
    assert raised.value.code == "STATE_MIGRATION"


# -- parts within parts


@dataclass
class LineBefore:
    sku: str
    count: int


@dataclass
class LineAfter:
    sku: str
    count: float
    price: float = 1.5


@dataclass
class OrderBefore:
    lines: list[LineBefore]
    by_sku: dict[str, LineBefore]
    best: LineBefore | None
    pair: tuple[LineBefore, int]


@dataclass
class OrderAfter:
    lines: list[LineAfter]
    by_sku: dict[str, LineAfter]
    best: LineAfter | None
    pair: tuple[LineAfter, int]


def test_nested_types_in_lists_maps_tuples_and_options() -> None:
    old, new = LineBefore("a", 1), LineAfter("a", 1.0)
    resolution, value = restore_value(OrderBefore, OrderBefore([old], {"a": old}, None, (old, 2)), OrderAfter)
    assert value == OrderAfter([new], {"a": new}, None, (new, 2))
    assert "lines[].count: int became float, checked value by value" in resolution.differences
    assert "by_sku{}.price: was added with a default" in resolution.differences


@dataclass
class TreeBefore:
    n: int
    kids: list[TreeBefore]


@dataclass
class TreeAfter:
    n: float
    kids: list[TreeAfter]
    note: str = "-"


def test_classes_that_contain_themselves() -> None:
    old = TreeBefore(1, [TreeBefore(2, [TreeBefore(3, [])])])
    assert restore_value(TreeBefore, old, TreeAfter)[1] == TreeAfter(1.0, [TreeAfter(2.0, [TreeAfter(3.0, [])])])


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    barks: int


class CatAfter(msgspec.Struct, tag="Cat"):
    lives: float
    name: str = "Tom"


def test_unions_of_tagged_structs() -> None:
    _found, value = restore_value(list[Cat | Dog], [Cat(9), Dog(2)], list[CatAfter | Dog | None])
    assert value == [CatAfter(9.0, "Tom"), Dog(2)]


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"


class MoreColors(enum.Enum):
    RED = "r"
    BLUE = "b"
    GREEN = "g"


class OnlyRed(enum.Enum):
    RED = "r"


def test_enumerations() -> None:
    assert restore_value(Color, Color.RED, MoreColors)[1] is MoreColors.RED
    assert restore_value(Color, Color.RED, str)[1] == "r"
    assert restore_value(Color, Color.RED, OnlyRed)[1] is OnlyRed.RED
    with pytest.raises(StateError, match="does not fit"):
        restore_value(Color, Color.BLUE, OnlyRed)
