"""sum, min, max, min_by and max_by, by position or name, for all kinds of elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pytest

import penstock as ps
from penstock.errors import PlanError, UserFunctionError
from penstock.testing import Harness, PushSource


class Named(NamedTuple):
    key: str
    value: int
    note: str


@dataclass(frozen=True)
class Data:
    key: str
    value: int
    note: str


class Struct(msgspec.Struct, frozen=True):
    key: str
    value: int
    note: str


class Plain:
    def __init__(self, key: str, value: int, note: str) -> None:
        self.key, self.value, self.note = key, value, note

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def as_list(*fields: Any) -> list[Any]:
    return list(fields)


def as_tuple(*fields: Any) -> tuple[Any, ...]:
    return fields


def as_dict(key: str, value: int, note: str) -> dict[str, Any]:
    return {"key": key, "value": value, "note": note}


def rolling(elements: list[Any], how: str, *position: Any, key: Any = lambda e: "all") -> list[Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    stream = getattr(env.from_collection(elements).key_by(key), how)(*position)
    harness = Harness(env)
    out = harness.collect(stream)
    harness.run()
    return list(out)


INPUT = [("a", 3, "first"), ("a", 5, "second"), ("a", 1, "third"), ("a", 5, "fourth")]
EXPECTED = {
    "sum": [("a", 3, "first"), ("a", 8, "first"), ("a", 9, "first"), ("a", 14, "first")],
    "min": [("a", 3, "first"), ("a", 3, "first"), ("a", 1, "first"), ("a", 1, "first")],
    "max": [("a", 3, "first"), ("a", 5, "first"), ("a", 5, "first"), ("a", 5, "first")],
    "min_by": [INPUT[0], INPUT[0], INPUT[2], INPUT[2]],
    "max_by": [INPUT[0], INPUT[1], INPUT[1], INPUT[1]],
}


@pytest.mark.parametrize("how", EXPECTED)
@pytest.mark.parametrize(
    ("make", "position"),
    [
        (as_tuple, 1),
        (as_tuple, -2),
        (as_list, 1),
        (as_dict, "value"),
        (Named, 1),
        (Named, "value"),
        (Data, "value"),
        (Data, 1),
        (Struct, "value"),
        (Struct, 1),
        (Plain, "value"),
    ],
)
def test_one_field_is_aggregated(how: str, make: Any, position: int | str) -> None:
    found = rolling([make(*fields) for fields in INPUT], how, position)
    assert found == [make(*fields) for fields in EXPECTED[how]]
    assert type(found[-1]) is type(make(*INPUT[0]))


@pytest.mark.parametrize(
    ("how", "expected"),
    [("sum", [3, 8, 9]), ("min", [3, 3, 1]), ("max", [3, 5, 5]), ("min_by", [3, 3, 1]), ("max_by", [3, 5, 5])],
)
def test_field_0_of_a_value_without_fields_is_the_value(how: str, expected: list[int]) -> None:
    assert rolling([3, 5, 1], how) == expected
    assert rolling([3, 5, 1], how, 0) == expected


def test_each_key_has_a_separate_result() -> None:
    found = rolling([("a", 1), ("b", 10), ("a", 2), ("b", 20)], "sum", 1, key=lambda e: e[0])
    assert sorted(found) == [("a", 1), ("a", 3), ("b", 10), ("b", 30)]


def test_a_position_must_be_a_number_or_a_name() -> None:
    with pytest.raises(PlanError, match=r"\[FIELD_POSITION\] sum\(\) got 1.5"):
        rolling([(1, 2)], "sum", 1.5)


@pytest.mark.parametrize(
    ("element", "position", "text"),
    [
        (7, 1, "a int has no field 1"),
        (Named("a", 1, ""), "price", "no field 'price'"),
        (Data("a", 1, ""), "x", "no field 'x'"),
    ],
)
def test_a_missing_field_raises_an_error(element: Any, position: int | str, text: str) -> None:
    with pytest.raises(UserFunctionError, match=text):
        rolling([element, element], "sum", position)


def test_batch_mode_emits_only_the_last_result() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env, batch_mode=True)
    out = harness.collect(env.from_collection([("a", 1), ("b", 5), ("a", 2)]).key_by(lambda e: e[0]).sum(1))
    harness.run()
    assert sorted(out) == [("a", 3), ("b", 5)]


def test_elements_of_several_types_add_up_in_any_order() -> None:
    """The result has the type of the first element of its key."""
    elements: list[Any] = [("a", 1), ["a", 2], ["b", 3], ("b", 4), {0: "a", 1: 5}]
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    results = harness.collect(env.from_source(PushSource()).key_by(lambda e: e[0]).sum(1))
    for element in elements:
        harness.push(element)
    assert [record.value for record in results.records] == [("a", 1), ("a", 3), ["b", 3], ["b", 7], ("a", 8)]
