"""The types: checks, conversions and errors."""

from __future__ import annotations

import datetime
import decimal
import enum
import pickle
from array import array
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Instant, Row, RowKind
from penstock.types import Misfit, RowTypeInfo, TypeInformation, Types, type_information
from tests.unit.types.some_types import TYPED, WRONG, Typed, single_precision


@dataclass
class Order:
    user: str
    amount: float
    tags: list[str]


class Point(NamedTuple):
    x: int
    y: int


class Event(msgspec.Struct):
    k: str
    at: datetime.datetime | None = None


class Shy:
    """Has no declared fields."""


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (Types.STRING(), "String"),
        (Types.INT(), "Integer"),
        (Types.BIG_DEC(), "BigDecimal"),
        (Types.INSTANT(), "Instant"),
        (Types.SQL_DATE(), "DateTypeInfo"),
        (Types.SQL_TIME(), "TimeTypeInfo"),
        (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
        (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
        (Types.ROW([Types.INT(), Types.STRING()]), "RowTypeInfo(Integer, String)"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), "RowTypeInfo(a: Integer)"),
        (Types.TUPLE([Types.INT(), Types.CHAR()]), "TupleTypeInfo(Integer, Char)"),
        (Types.PRIMITIVE_ARRAY(Types.LONG()), "PrimitiveArrayTypeInfo<Long>"),
        (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
        (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
        (Types.MAP(Types.STRING(), Types.BYTE()), "MapTypeInfo<String, Byte>"),
        (Types.LIST(Types.SHORT()), "ListTypeInfo<Short>"),
    ],
)
def test_types_print_as_in_pyflink(type_info: TypeInformation, text: str) -> None:
    assert repr(type_info) == text


def test_equality_of_types() -> None:
    assert Types.INT() == Types.INT()
    assert Types.INT() != Types.LONG()
    assert Types.LIST(Types.INT()) == Types.LIST(Types.INT())
    assert Types.LIST(Types.INT()) != Types.OBJECT_ARRAY(Types.INT())
    assert Types.MAP(Types.INT(), Types.INT()) != Types.MAP(Types.INT(), Types.LONG())
    assert Types.ROW_NAMED(["a"], [Types.INT()]) == Types.ROW([Types.INT()])  # names do not count, as in PyFlink
    assert Types.of(Order) == Types.of(Order)
    assert Types.of(Order) != Types.of(Point)
    assert len({Types.INT(), Types.INT(), Types.of(Order), Types.of(Order)}) == 2


def test_names_that_checkpoints_hold_stay() -> None:
    assert Types.INT().name == "INT"
    assert Types.LIST(Types.INT()).name == "LIST<INT>"
    assert Types.MAP(Types.STRING(), Types.SQL_TIMESTAMP()).name == "MAP<STRING,SQL_TIMESTAMP>"
    assert Types.TUPLE([Types.LONG(), Types.BOOLEAN()]).name == "TUPLE<LONG,BOOLEAN>"
    assert Types.of(Order).name == "Order"
    assert type_information(int).name == "int"
    assert Types.ROW_NAMED(["a"], [Types.INT()]).name == "ROW<a:INT>"


def test_row_types_return_their_fields() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert row.get_field_names() == ["a", "b"]
    assert row.get_field_types() == [Types.INT(), Types.STRING()]
    assert row.get_field_index("b") == 1
    assert Types.ROW([Types.INT()]).get_field_names() == ["f0"]
    assert Types.ROW([Types.INT()]).get_field_index("f0") == -1
    with pytest.raises(ValueError, match="2 field names but 1 field types"):
        RowTypeInfo([Types.INT()], ["a", "b"])


def test_arrays_reject_unsupported_element_types() -> None:
    with pytest.raises(TypeError, match="PRIMITIVE_ARRAY"):
        Types.PRIMITIVE_ARRAY(Types.STRING())
    with pytest.raises(TypeError, match="OBJECT_ARRAY"):
        Types.BASIC_ARRAY(Types.ROW([Types.INT()]))


@given(st.data())
def test_values_of_a_type_fit_it(data: st.DataObject) -> None:
    type_info, values = data.draw(TYPED, "type")
    drawn = data.draw(st.lists(st.none() | values, max_size=5), "values")
    assert type_info.fits(drawn)
    for value in drawn:
        assert type_info.convert_nullable(value) == value


@given(TYPED)
def test_types_are_pickled(typed: Typed) -> None:
    again = pickle.loads(pickle.dumps(typed[0]))
    assert again == typed[0]
    assert again.name == typed[0].name
    assert repr(again) == repr(typed[0])


@pytest.mark.parametrize(("type_info", "value"), WRONG, ids=lambda v: repr(v))
def test_values_that_do_not_fit_raise_an_error(type_info: TypeInformation, value: Any) -> None:
    assert not type_info.fits([value])
    with pytest.raises(Misfit):
        type_info.convert_all([value])


class Color(enum.IntEnum):
    RED = 1


ZONE = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("type_info", "given_", "expected"),
    [
        (Types.INT(), True, 1),
        (Types.INT(), 2.0, 2),
        (Types.INT(), Color.RED, 1),
        (Types.LONG(), np.int64(7), 7),
        (Types.DOUBLE(), 1, 1.0),
        (Types.DOUBLE(), np.float32(0.5), 0.5),
        (Types.FLOAT(), 0.1, single_precision(0.1)),
        (Types.FLOAT(), 1e300, float("inf")),
        (Types.BOOLEAN(), 1, True),
        (Types.BIG_DEC(), 1, decimal.Decimal(1)),
        (Types.BIG_DEC(), 0.5, decimal.Decimal("0.5")),
        (Types.BIG_INT(), 2**100, 2**100),
        (Types.SQL_DATE(), datetime.datetime(2024, 5, 1, 3), datetime.date(2024, 5, 1)),
        (Types.SQL_TIME(), datetime.time(12, 0, 0, 5, ZONE), datetime.time(10, 0, 0, 5)),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 5, 1, 12, tzinfo=ZONE), datetime.datetime(2024, 5, 1, 10)),
        (Types.INSTANT(), datetime.datetime(1969, 12, 31, 23, 59, 59, 5, datetime.UTC), Instant(-1, 5000)),
        (Types.LIST(Types.INT()), (1, None), [1, None]),
        (Types.PRIMITIVE_ARRAY(Types.DOUBLE()), array("d", [1, 2]), [1.0, 2.0]),
        (Types.PRIMITIVE_ARRAY(Types.INT()), np.array([1, 2]), [1, 2]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"a"), b"a"),
        (Types.TUPLE([Types.INT(), Types.DOUBLE()]), [1, 2], (1, 2.0)),
        (Types.TUPLE([Types.INT(), Types.INT()]), Point(1, 2), (1, 2)),
        (Types.ROW([Types.INT()]), (5,), Row(f0=5)),
        (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]), (1, None), Row(a=1, b=None)),
        (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]), {"b": 1}, Row(a=None, b=1)),
        (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]), Row(b=1, a=2), Row(a=2, b=1)),
        (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()]), Row(1, 2), Row(x=1, y=2)),
        (Types.ROW_NAMED(["k"], [Types.STRING()]), Event("a"), Row(k="a")),
        (Types.of(float), 1, 1.0),
        (Types.of(int | None), None, None),
    ],
    ids=lambda v: repr(v),
)
def test_equivalent_values_are_converted(type_info: TypeInformation, given_: Any, expected: Any) -> None:
    (converted,) = type_info.convert_all([given_])
    assert converted == expected
    assert type(converted) is type(expected)


def test_converted_rows_have_the_order_and_names_of_their_type() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()])
    (converted,) = row.convert_all([Row.of_kind(RowKind.DELETE, b=1, a=2)])
    assert list(converted) == [2, 1]
    assert converted.get_row_kind() is RowKind.DELETE
    with pytest.raises(Misfit, match="fields"):
        row.convert(Row(a=1, c=2))


def test_none_is_an_element_where_pyflink_allows_it() -> None:
    for nullable in (Types.STRING(), Types.BIG_INT(), Types.BIG_DEC(), Types.INSTANT(), Types.SQL_DATE()):
        assert nullable.convert_all([None]) == [None]
    for strict in (Types.INT(), Types.BOOLEAN(), Types.ROW([Types.INT()]), Types.TUPLE([Types.INT()])):
        with pytest.raises(Misfit, match="None"):
            strict.convert_all([None])


def test_a_misfit_names_the_path() -> None:
    person = Types.ROW_NAMED(["name", "marks"], [Types.STRING(), Types.MAP(Types.STRING(), Types.LIST(Types.INT()))])
    with pytest.raises(Misfit) as caught:
        person.convert(("Ada", {"math": [1, 2, "three"]}))
    assert str(caught.value) == ("field 'marks': key 'math': element 2: 'three' is a str, but INT takes an integer")


def test_classes_are_checked_field_by_field_and_not_changed() -> None:
    order = Order("ada", 2, [])
    assert Types.of(Order).convert_all([order])[0] is order  # an integer is accepted where a float was declared
    assert not Types.of(Order).fits([order])
    assert Types.of(Order).fits([Order("ada", 2.0, [])])
    with pytest.raises(Misfit, match="field 'user': 5 is a int"):
        Types.of(Order).convert(Order(5, 2.0, []))  # type: ignore[arg-type]
    with pytest.raises(Misfit, match="a Order was declared"):
        Types.of(Order).convert({"user": "ada"})
    assert Types.of(Event).fits([Event("a", None)])
    assert Types.of(Point).fits([Point(1, 2)])


def test_classes_without_declared_fields_are_checked_by_class() -> None:
    shy = Shy()
    assert Types.of(Shy).convert(shy) is shy
    with pytest.raises(Misfit, match="Shy was declared"):
        Types.of(Shy).convert(5)


@dataclass
class Tree:
    value: int
    children: list[Tree]


def test_a_class_that_holds_itself_is_not_described_by_fields() -> None:
    tree = Tree(1, [Tree(2, [])])
    assert Types.of(Tree).convert(tree) is tree
    assert not Types.of(Tree).fits([tree])


UTC_PLUS_2 = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("kind", "value", "internal"),
    [
        (Types.INT(), 5, 5),
        (Types.LIST(Types.SQL_DATE()), [datetime.date(1970, 1, 2)], [datetime.date(1970, 1, 2)]),
        (Types.SQL_DATE(), datetime.date(1970, 1, 3), 2),
        (Types.SQL_TIME(), datetime.time(1, 0, 0, 7), 3_600_000_007),
        (Types.SQL_TIMESTAMP(), datetime.datetime(1970, 1, 2, microsecond=5), 86_400_000_005),
        (Types.INSTANT(), Instant.of_epoch_milli(7), 7000),
        (Types.SQL_DATE(), None, None),
    ],
)
def test_internal_forms_round_trip(kind: TypeInformation, value: Any, internal: Any) -> None:
    assert kind.to_internal_type(value) == internal
    assert kind.from_internal_type(internal) == value
    assert kind.need_conversion() == (internal != value or value is None)


def test_internal_forms_of_rows_and_tuples() -> None:
    fields = [Types.SQL_DATE(), Types.STRING()]
    row = Row(datetime.date(1970, 1, 3), "a")
    row.set_row_kind(RowKind.DELETE)
    assert Types.ROW(fields).to_internal_type(row) == (RowKind.DELETE.value, 2, "a")
    assert Types.TUPLE(fields).to_internal_type((datetime.date(1970, 1, 3), "a")) == (2, "a")
    assert Types.TUPLE(fields).from_internal_type((2, "a")) == (2, "a")  # as PyFlink: a tuple is taken as it is
    assert Types.TUPLE(fields).from_internal_type({2: None, "a": None}) == (datetime.date(1970, 1, 3), "a")
    assert Types.ROW(fields).need_conversion()


def test_internal_times_are_those_of_utc() -> None:
    noon = datetime.datetime(1970, 1, 1, 12, tzinfo=UTC_PLUS_2)
    assert Types.SQL_TIMESTAMP().to_internal_type(noon) == 10 * 3_600_000_000
    assert Types.SQL_TIME().to_internal_type(noon.timetz()) == 10 * 3_600_000_000
