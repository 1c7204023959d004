"""Fields that are added, removed, reordered, renamed or widened, and changes that are rejected."""

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

from penstock import (
    Row,
    Types,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.runtime.state.evolution.python_values import value_reader
from penstock.runtime.state.evolution.shape import read_state_shape
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
    DeclaredState,
    resolve_state,
)
from penstock.types.evolution import state_type
from tests.unit.runtime.state.evolution.saved_state_driver import (
    SavedStateDriver,
    Spent,
    WithDefaults,
    restore_value,
    value_rejection,
)


def test_fields_added_with_defaults() -> None:
    resolution, value = restore_value(Spent, Spent("a", 1, ["x"]), WithDefaults)
    assert resolution.verdict == AFTER_MIGRATION
    assert value == WithDefaults("a", 1, ["x"], "EUR", datetime.date(2026, 1, 1), {})
    assert "currency: was added with a default" in resolution.differences
    assert "Spent became WithDefaults" in resolution.differences


def test_a_default_is_stored_when_the_state_is_restored() -> None:
    """A later program with another default must not change the stored value."""

    @dataclass
    class Later:
        name: str
        total: int
        tags: list[str]
        currency: str = "USD"

    driver = SavedStateDriver(ValueStateDescriptor("s", Spent), lambda handle: handle.update(Spent("a", 1, [])))
    current = DeclaredState("s", ValueStateDescriptor("s", WithDefaults))
    migrate = resolve_state(driver.saved, current).migrate
    assert migrate is not None
    (data,) = driver.store.pending_changes().values()
    assert data is not None
    read = value_reader(read_state_shape(current.type).value)
    assert read(migrate(b"", data))["currency"] == "EUR"


def test_an_added_field_without_a_default_is_rejected() -> None:
    @dataclass
    class More:
        name: str
        total: int
        tags: list[str]
        currency: str

    assert "currency: was added without a default" in value_rejection(Spent, More)


def test_an_added_field_that_may_be_none_is_none() -> None:
    @dataclass
    class More:
        name: str
        total: int
        tags: list[str]
        note: str | None

    assert restore_value(Spent, Spent("a", 1, []), More)[1] == More("a", 1, [], None)


def test_fields_removed_and_reordered() -> None:
    @dataclass
    class Fewer:
        total: int
        name: str

    resolution, value = restore_value(Spent, Spent("a", 1, ["x"]), Fewer)
    assert value == Fewer(1, "a")
    assert "field 'tags' was removed" in resolution.differences
    assert "the order of the fields changed" in resolution.differences


def test_a_renamed_field_without_an_alias_is_rejected_with_a_hint() -> None:
    @dataclass
    class Renamed:
        name: str
        amount: int
        tags: list[str]

    assert "if it was called 'total' before, declare an alias" in value_rejection(Spent, Renamed)


@pytest.mark.parametrize("earlier", ["total", ("sum", "total")])
def test_a_renamed_field(earlier: Any) -> None:
    @state_type(aliases={"amount": earlier})
    @dataclass
    class Renamed:
        name: str
        amount: int
        tags: list[str]

    resolution, value = restore_value(Spent, Spent("a", 7, []), Renamed)
    assert value == Renamed("a", 7, [])
    assert "amount: was called 'total'" in resolution.differences


@pytest.mark.parametrize("aliases", [{"other": "total"}, {"other": "total", "total": "other"}])
def test_an_alias_that_is_the_name_of_another_field_is_an_error(aliases: dict[str, str]) -> None:
    """A saved field with this name could be either of them."""

    @state_type(aliases=aliases)
    @dataclass
    class Both:
        name: str
        total: int
        tags: list[str]
        other: int = -1

    with pytest.raises(StateError, match="but also a field") as raised:
        restore_value(Spent, Spent("a", 7, []), Both)
    assert raised.value.code == "STATE_ALIAS"


def test_rows_with_crossed_aliases_are_an_error() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()])
    with pytest.raises(StateError, match="but also a field 'b'"):
        restore_value(row, Row(a=1, b=2), row.evolved(aliases={"a": "b", "b": "a"}))


def test_an_alias_without_a_field_is_an_error() -> None:
    @state_type(aliases={"amuont": "total"})
    @dataclass
    class Renamed:
        amount: int

    with pytest.raises(StateError, match="amuont") as raised:
        value_rejection(Spent, Renamed)
    assert raised.value.code == "STATE_ALIAS"


@pytest.mark.parametrize(
    ("saved", "value", "current", "expected"),
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
def test_widening(saved: Any, value: Any, current: Any, expected: Any) -> None:
    _found, read = restore_value(saved, value, current)
    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    ("saved", "current"),
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
def test_other_conversions_are_rejected(saved: Any, current: Any) -> None:
    assert value_rejection(saved, current)


def test_an_unchanged_type_is_restored_as_is() -> None:
    resolution, value = restore_value(Spent, Spent("a", 1, []), Spent)
    assert (resolution.verdict, resolution.differences, resolution.migrate) == (AS_IS, [], None)
    assert value == Spent("a", 1, [])


def test_a_renamed_class_with_the_same_fields_is_restored_as_is() -> None:
    other = make_dataclass("Expense", [("name", str), ("total", int), ("tags", list[str])])
    resolution, value = restore_value(Spent, Spent("a", 1, []), other)
    assert resolution.verdict == AS_IS
    assert resolution.differences == ["Spent became Expense"]
    assert (value.name, value.total) == ("a", 1)
