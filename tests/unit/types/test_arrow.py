"""Typed elements are unchanged after they are sent between processes with Arrow."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Row, RowKind
from penstock.engine.wire.arrow import arrow_packer
from penstock.engine.wire.arrow_types import wire_column
from penstock.engine.wire.body import _ARROW, _MIN_ARROW, pack_body, unpack_body
from penstock.types import TypeInformation, Types
from tests.unit.types.some_types import TYPED


@dataclass
class Order:
    user: str
    amount: float
    at: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class Small:
    x: int


@dataclass
class Restless:
    x: int

    def __post_init__(self) -> None:
        self.x += 1


class Event(msgspec.Struct, gc=False):
    k: str
    x: float
    parts: list[Small]


class Point(NamedTuple):
    x: int
    y: Decimal | None


def round_trip(
    type_info: TypeInformation, values: list[Any], keys: list[Any] | None = None, certain: bool = False
) -> Any:
    """Keys and values on the other side, and which columns went as Arrow."""
    body = pack_body(keys, values, arrow_packer(type_info, certain))
    shape, _, packed = pickle.loads(body)
    return *unpack_body(body), packed[1] if shape == _ARROW else ()


def enough(values: list[Any]) -> list[Any]:
    """Enough of them for Arrow to be worth while."""
    return values * (_MIN_ARROW // max(1, len(values)) + 1) if values else values


def assert_same(again: list[Any], values: list[Any]) -> None:
    """One by one: pytest takes minutes to show how two long lists differ."""
    assert len(again) == len(values)
    for one, other in zip(again, values, strict=True):
        assert one == other
        assert repr(one) == repr(other)
        assert getattr(one, "__dict__", None) == getattr(other, "__dict__", None)


@settings(deadline=None)  # the first use of Arrow loads it
@given(st.data())
def test_a_column_of_any_type_round_trips(data: st.DataObject) -> None:
    type_info, values = data.draw(TYPED, "type")
    drawn = data.draw(st.lists(st.none() | values), "values")
    column = wire_column(type_info)
    assert column is not None
    array = column.encode(drawn)
    assert array.type == column.arrow
    assert_same(column.decode(array), drawn)


@settings(deadline=None)
@given(st.data())
def test_elements_of_any_type_round_trip(data: st.DataObject) -> None:
    type_info, values = data.draw(TYPED, "type")
    drawn = enough(data.draw(st.lists(values if not type_info.nullable else st.none() | values, min_size=1), "values"))
    keys, again, _ = round_trip(type_info, drawn, list(range(len(drawn))), certain=data.draw(st.booleans()))
    assert keys == list(range(len(drawn)))
    assert_same(again, drawn)


CLASSES: list[tuple[Any, list[Any], tuple[int, ...]]] = [
    (Order, [Order("ada", 1.5), Order("bob", 2.0, datetime.datetime(2024, 1, 1))], (0, 1, 2)),
    (Small, [Small(1)], (0,)),
    (Point, [Point(1, Decimal("1.10")), Point(2, None)], (0, 1)),
    (str, ["a", "ü"], (0,)),
    (int, [1, -(2**63)], (0,)),
    (list[Small], [[Small(1)], []], (0,)),
    (list[float], [[1.0], []], ()),  # a pickle is faster
    (tuple[str, int], [("a", 1)], ()),  # a pickle of columns is as fast as looking at all values first
    (Event, [Event("a", 0.5, [])], ()),
]
CERTAIN: list[tuple[Any, list[Any], tuple[int, ...]]] = [
    (tuple[str, dict[str, list[int]]], [("a", {"x": [1, 2]}), ("b", {})], (0,)),
    (Event, [Event("a", 0.5, [Small(1), Small(2)]), Event("b", 1.0, [])], (0, 1, 2)),
]


@pytest.mark.parametrize(("python_type", "values", "columns"), CERTAIN, ids=lambda v: str(v)[:30])
def test_checked_elements_are_sent_as_arrow(python_type: Any, values: list[Any], columns: tuple[int, ...]) -> None:
    _, again, in_arrow = round_trip(Types.of(python_type), enough(values), certain=True)
    assert in_arrow == columns
    assert_same(again, enough(values))


@pytest.mark.parametrize(("python_type", "values", "columns"), CLASSES, ids=lambda v: str(v)[:30])
def test_annotated_elements_are_sent_as_arrow(python_type: Any, values: list[Any], columns: tuple[int, ...]) -> None:
    _, again, in_arrow = round_trip(Types.of(python_type), enough(values))
    assert in_arrow == columns
    assert_same(again, enough(values))


UTC = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
EXTRA = Order("ada", 1.5)
EXTRA.note = "set later"  # type: ignore[attr-defined]

CHANGED_BY_ARROW: list[tuple[Any, list[Any], tuple[int, ...]]] = [
    (int, [1, True], ()),
    (int, [2**63], ()),
    (int, ["a"], ()),
    (float, [1.0, 1], ()),
    (str, ["a", b"a"], ()),
    (str, ["\ud800"], ()),
    (Point, [Point(1, None), Point(1.5, None)], (1,)),  # type: ignore[arg-type]
    (Point, [Point(1, None), None], ()),
    (Order, [Order("ada", 1)], (0, 2)),
    (Order, [Order("ada", 1.0, UTC)], (0, 1)),
    (Order, [EXTRA], ()),
    (Restless, [Restless(1)], ()),
    (Small, [Order("ada", 1.0)], ()),
]


@pytest.mark.parametrize(("python_type", "values", "columns"), CHANGED_BY_ARROW, ids=lambda v: str(v)[:30])
def test_values_that_arrow_would_change_are_pickled(
    python_type: Any, values: list[Any], columns: tuple[int, ...]
) -> None:
    """A column that does not fit its annotation is pickled; elements of another class are pickled completely."""
    _, again, in_arrow = round_trip(Types.of(python_type), enough(values))
    assert in_arrow == columns
    assert_same(again, enough(values))


def test_a_key_that_is_a_field_is_sent_once() -> None:
    pairs = enough([(f"user-{i}", i) for i in range(100)])
    packer = arrow_packer(Types.of(tuple[str, int]), certain=True)
    assert packer is not None
    packed = packer.pack([p[0] for p in pairs], pairs)
    assert packed is not None
    assert packed[-1] == 0
    keys, values = unpack_body(pack_body([p[0] for p in pairs], pairs, packer))
    assert keys is not None
    assert all(key is value[0] for key, value in zip(keys, values, strict=True))


def test_few_elements_are_pickled() -> None:
    assert round_trip(Types.INT(), [1, 2, 3]) == (None, [1, 2, 3], ())


def test_rows_keep_their_kinds() -> None:
    rows = enough([Row.of_kind(kind, a=1) for kind in RowKind])
    _, again, in_arrow = round_trip(Types.ROW_NAMED(["a"], [Types.INT()]), rows)
    assert in_arrow == (0, 1)
    assert [r.get_row_kind() for r in again] == [r.get_row_kind() for r in rows]


@pytest.mark.parametrize(
    "type_info", [Types.PICKLED_BYTE_ARRAY(), Types.LIST(Types.PICKLED_BYTE_ARRAY()), Types.of(object)]
)
def test_types_with_a_pickled_part_have_no_packer(type_info: TypeInformation) -> None:
    assert arrow_packer(type_info, certain=True) is None
