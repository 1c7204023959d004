"""Copies of elements: what is copied, and what is shared because it cannot be changed."""

from __future__ import annotations

import copy
import dataclasses
import enum
import threading
from collections import deque
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from penstock.row import Row
from penstock.runtime.loop.element_copy import IMMUTABLE, copy_element, copy_elements


class Color(enum.Enum):
    RED = 1


class Reading(msgspec.Struct):
    sensor: str
    value: float


class Readings(msgspec.Struct, frozen=True):
    sensor: str
    values: list[float]


class Point(msgspec.Struct, frozen=True):
    x: int
    y: int | None = None


@dataclasses.dataclass
class Order:
    number: int
    items: list[str]


@dataclasses.dataclass(slots=True)
class SlottedOrder:
    number: int
    items: list[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Money:
    amount: Decimal
    currency: str


@dataclasses.dataclass(frozen=True)
class Tree:
    """Refers to itself."""

    label: str
    left: Tree | None = None


class Pair(NamedTuple):
    key: str
    values: list[int]


class Plain:
    def __init__(self, items: list[int]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and other.items == self.items

    __hash__ = None  # type: ignore[assignment]


class WithSlots:
    __slots__ = ("items", "unset")

    def __init__(self, items: list[int]) -> None:
        self.items = items


class Counted(dict[str, int]):
    """A dict with an attribute."""

    note = ""


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.5, "a", b"a", None, True, (1, "a"), (1, (2, "b")), frozenset({1}), datetime(2024, 1, 1), Decimal(1)),
        *(Color.RED, Point(1), Money(Decimal(1), "EUR"), np.int64(1), range(3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_changed_is_equal_and_shared(value: Any) -> None:
    copied = copy_element(value)

    assert copied == value
    if type(value) is not tuple:
        assert copied is value


@pytest.mark.parametrize(
    "value",
    [
        *([1, [2]], {"a": {"b": [1]}}, {1, 2}, bytearray(b"a"), deque([1, [2]], maxlen=3), (1, [2]), ("a", {"b": 1})),
        *(Row(a=1, b=[2]), Row(1, [2]), Reading("a", 1.0), Readings("a", [1.0]), Order(1, ["a"]), Pair("a", [1])),
        *(SlottedOrder(1, ["a"]), Plain([1]), Tree("a", Tree("b")), Counted(a=1), [Plain([1]), Order(1, [])]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_can_be_changed_is_copied(value: Any) -> None:
    before = copy.deepcopy(value)

    copied = copy_element(value)

    assert copied == value
    assert type(copied) is type(value)
    assert copied is not value
    _change(value)
    assert copied == before


def _change(value: Any) -> None:
    """Changes every list, dict and object in a value."""
    if isinstance(value, (tuple, list, deque)):
        for item in value:
            _change(item)
    if isinstance(value, (list, deque)):
        value.append(99)
    elif isinstance(value, dict):
        for item in value.values():
            _change(item)
        value["new"] = 99
    elif isinstance(value, set):
        value.add(99)
    elif isinstance(value, bytearray):
        value.append(99)
    elif isinstance(value, Row):
        _change(value._values)
    else:
        for name in getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", vars_of(value)):
            _change(getattr(value, name))


def vars_of(value: Any) -> list[str]:
    return list(getattr(value, "__dict__", ()))


def test_slots_that_are_not_set_stay_unset() -> None:
    value = WithSlots([1])

    copied = copy_element(value)
    value.items.append(2)

    assert copied.items == [1]
    assert not hasattr(copied, "unset")


def test_an_object_that_contains_itself_is_copied() -> None:
    value: list[Any] = [1]
    value.append(value)

    copied = copy_element(value)

    assert copied is not value
    assert copied[1] is copied


def test_an_object_that_cannot_be_copied_is_shared() -> None:
    lock = threading.Lock()
    value = {"lock": lock, "items": [1]}

    copied = copy_element(value)

    assert copied["lock"] is lock
    assert copied["items"] is not value["items"]


def test_lists_of_immutable_elements_are_returned_unchanged() -> None:
    values = [Point(1), Point(2)]
    copy_elements(values)  # decides about the class

    assert Point in IMMUTABLE
    assert copy_elements(values) is values
