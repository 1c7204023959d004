"""Fields that come, go, move, and get other names or wider types; and what is refused."""

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

from penstock import (
    Types,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.runtime.evolution.natural import value_reader
from penstock.runtime.evolution.shape import state_shape_of
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    StateDescription,
    resolution,
)
from penstock.types.evolution import state_type
from tests.evolution.kept import Kept, Spent, WithDefaults, refused_value, value_of


def test_fields_added_with_defaults() -> None:
    found, value = value_of(Spent, Spent("a", 1, ["x"]), WithDefaults)
    assert found.verdict == AFTER_MIGRATION
    assert value == WithDefaults("a", 1, ["x"], "EUR", datetime.date(2026, 1, 1), {})
    assert "currency: was added with a default" in found.differences
    assert "Spent became WithDefaults" in found.differences


def test_a_default_is_written_when_the_state_is_taken_over() -> None:
    """A later program with another default must not change what is stored."""

    @dataclass
    class Later:
        name: str
        total: int
        tags: list[str]
        currency: str = "USD"

    kept = Kept(ValueStateDescriptor("s", Spent), lambda handle: handle.update(Spent("a", 1, [])))
    wanted = StateDescription("s", ValueStateDescriptor("s", WithDefaults))
    migrate = resolution(kept.saved, wanted).migrate
    assert migrate is not None
    (data,) = kept.store.changes().values()
    assert data is not None
    read = value_reader(state_shape_of(wanted.type).value)
    assert read(migrate(data))["currency"] == "EUR"


def test_an_added_field_without_a_default_is_refused() -> None:
    @dataclass
    class More:
        name: str
        total: int
        tags: list[str]
        currency: str

    assert "currency: was added without a default" in refused_value(Spent, More)


def test_an_added_field_that_may_be_none_is_none() -> None:
    @dataclass
    class More:
        name: str
        total: int
        tags: list[str]
        note: str | None

    assert value_of(Spent, Spent("a", 1, []), More)[1] == More("a", 1, [], None)


def test_fields_removed_and_reordered() -> None:
    @dataclass
    class Fewer:
        total: int
        name: str

    found, value = value_of(Spent, Spent("a", 1, ["x"]), Fewer)
    assert value == Fewer(1, "a")
    assert "field 'tags' was removed" in found.differences
    assert "fields stand in another order" in found.differences


def test_a_renamed_field_without_an_alias_is_refused_with_the_hint() -> None:
    @dataclass
    class Renamed:
        name: str
        amount: int
        tags: list[str]

    assert "if it was called 'total' before, say so by aliases" in refused_value(Spent, Renamed)


@pytest.mark.parametrize("earlier", ["total", ("sum", "total")])
def test_a_renamed_field(earlier: Any) -> None:
    @state_type(aliases={"amount": earlier})
    @dataclass
    class Renamed:
        name: str
        amount: int
        tags: list[str]

    found, value = value_of(Spent, Spent("a", 7, []), Renamed)
    assert value == Renamed("a", 7, [])
    assert "amount: was called 'total'" in found.differences


def test_an_alias_does_not_take_what_another_field_has_by_its_own_name() -> None:
    @state_type(aliases={"other": "total"})
    @dataclass
    class Both:
        name: str
        total: int
        tags: list[str]
        other: int = -1

    assert value_of(Spent, Spent("a", 7, []), Both)[1] == Both("a", 7, [], -1)


def test_an_alias_of_no_field_is_a_mistake() -> None:
    @state_type(aliases={"amuont": "total"})
    @dataclass
    class Renamed:
        amount: int

    with pytest.raises(StateError, match="amuont") as raised:
        refused_value(Spent, Renamed)
    assert raised.value.code == "STATE_ALIAS"


@pytest.mark.parametrize(
    ("saved", "value", "wanted", "expected"),
    [
        (Types.INT(), 7, Types.LONG(), 7),
        (Types.BYTE(), 7, Types.SHORT(), 7),
        (Types.INT(), 7, Types.DOUBLE(), 7.0),
        (Types.SHORT(), 7, Types.FLOAT(), 7.0),
        (Types.FLOAT(), 0.5, Types.DOUBLE(), 0.5),
        (Types.LONG(), 7, Types.BIG_INT(), 7),
        (Types.LONG(), 7, Types.BIG_DEC(), decimal.Decimal(7)),
        (Types.BIG_INT(), 2**70, Types.BIG_DEC(), decimal.Decimal(2**70)),
        (Types.LONG(), 7, Types.of(int), 7),
        (Types.of(int), 7, Types.LONG(), 7),
        (int, 7, float, 7.0),
        (int, 7, int | None, 7),
        (int | None, 7, int, 7),
        (int, 7, int | str, 7),
        (int, 7, float | str, 7.0),
        (list[int], [7], list[Any], [7]),
        (list[int], [1, 2], list[float], [1.0, 2.0]),
        (list[int], [1, 2], tuple[int, ...], (1, 2)),
        (set[int], {1, 2}, frozenset[int], frozenset({1, 2})),
        (tuple[int, int], (1, 2), tuple[int, float], (1, 2.0)),
        (tuple[int, int], (1, 2), list[float], [1.0, 2.0]),
        (tuple[int, str], (1, "a"), tuple[int], (1,)),
        (tuple[int], (1,), tuple[int, str | None], (1, None)),
        (dict[int, int], {1: 2}, dict[float, float], {1.0: 2.0}),
        (dict[str, list[int]], {"a": [1]}, dict[str, list[float]], {"a": [1.0]}),
        (Types.STRING(), "a", Types.of(str), "a"),
        (Types.CHAR(), "a", Types.STRING(), "a"),
        (Types.SQL_DATE(), datetime.date(2026, 1, 2), datetime.date, datetime.date(2026, 1, 2)),
        (uuid.UUID, uuid.UUID(int=1), str, str(uuid.UUID(int=1))),
        (Types.LIST(Types.INT()), [1, None], Types.LIST(Types.DOUBLE()), [1.0, None]),
        (Types.MAP(Types.INT(), Types.INT()), {1: 2}, Types.MAP(Types.LONG(), Types.DOUBLE()), {1: 2.0}),
        (Types.TUPLE([Types.INT()]), (1,), Types.TUPLE([Types.DOUBLE(), Types.STRING()]), (1.0, None)),
    ],
)
def test_widening(saved: Any, value: Any, wanted: Any, expected: Any) -> None:
    _found, read = value_of(saved, value, wanted)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("saved", "wanted"),
    [
        (Types.LONG(), Types.INT()),
        (Types.DOUBLE(), Types.FLOAT()),
        (Types.DOUBLE(), Types.LONG()),
        (Types.INT(), Types.FLOAT()),
        (str, int),
        (int, str),
        (int, bool),
        (list[int], set[int]),
        (list[int], dict[int, int]),
        (tuple[int], tuple[int, str]),
        (Spent, int),
        (int, Spent),
        (int | str, int),
        (datetime.date, datetime.datetime),
        (int, None),
    ],
)
def test_what_is_no_widening_is_refused(saved: Any, wanted: Any) -> None:
    assert refused_value(saved, wanted)


def test_a_type_that_did_not_change_is_taken_as_it_is() -> None:
    found, value = value_of(Spent, Spent("a", 1, []), Spent)
    assert (found.verdict, found.differences, found.migrate) == (AS_IS, [], None)
    assert value == Spent("a", 1, [])


def test_a_class_of_another_name_with_the_same_fields_is_taken_as_it_is() -> None:
    other = make_dataclass("Expense", [("name", str), ("total", int), ("tags", list[str])])
    found, value = value_of(Spent, Spent("a", 1, []), other)
    assert found.verdict == AS_IS
    assert found.differences == ["Spent became Expense"]
    assert (value.name, value.total) == ("a", 1)
