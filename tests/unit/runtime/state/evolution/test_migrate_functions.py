"""Types that are converted by a migrate function, and values without a declared type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from penstock import (
    Instant,
    Row,
    Types,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.savepoints.evolution import (
    AFTER_MIGRATION,
    AS_IS,
)
from penstock.types.evolution import state_type
from tests.unit.runtime.state.evolution.saved_state_driver import (
    SavedStateDriver,
    Spent,
    restore_value,
    value_rejection,
)


def test_a_type_converted_by_a_migrate_function() -> None:
    calls = []

    def migrate(version: int, old: Any) -> Any:
        calls.append((version, old))
        return Money(round(old["total"] * 100), old["name"])

    @state_type(version=2, migrate=migrate)
    @dataclass
    class Money:
        cents: int
        owner: str

    resolution, value = restore_value(Spent, Spent("a", 3, ["x"]), Money)
    assert value == Money(300, "a")
    assert calls == [(1, {"name": "a", "total": 3, "tags": ["x"]})]
    assert resolution.verdict == AFTER_MIGRATION
    assert resolution.differences == ["version 1 is converted to 2 by its migrate function"]
    # What has the version already is not given to it again.
    assert restore_value(Money, Money(1, "b"), Money)[1] == Money(1, "b")
    assert len(calls) == 1


def test_a_migrate_function_of_a_nested_type() -> None:
    @state_type(version=3, migrate=lambda version, old: Cents(old * 100))
    @dataclass
    class Cents:
        n: int

    assert restore_value(dict[str, list[int]], {"a": [1, 2]}, dict[str, list[Cents]])[1] == {
        "a": [Cents(100), Cents(200)]
    }


def test_a_migrate_function_of_a_descriptor() -> None:
    driver = SavedStateDriver(ValueStateDescriptor("s", float), lambda handle: handle.update(1.25))
    current = ValueStateDescriptor("s", Types.LONG()).evolve(version=2, migrate=lambda version, old: round(old * 100))
    resolution, handle = driver.restore_as(current)
    assert handle.value() == 125
    # ... and from there on: the version is saved.
    again = SavedStateDriver(current, lambda handle: handle.update(125))
    resolution, handle = again.restore_as(current)
    assert (resolution.verdict, handle.value()) == (AS_IS, 125)


def test_a_migrate_function_gets_rows_as_rows() -> None:
    before = Types.ROW_NAMED(["name", "when"], [Types.STRING(), Types.INSTANT()])
    after = Types.ROW_NAMED(["text"], [Types.STRING()])
    said = after.evolved(version=2, migrate=lambda version, old: Row(text=f"{old.name} {type(old['when']).__name__}"))
    assert restore_value(before, Row(name="a", when=Instant(1, 2)), said)[1] == Row(text="a Instant")


def test_values_of_a_newer_version_are_rejected() -> None:
    @state_type(version=3, migrate=lambda version, old: old)
    @dataclass
    class Newer:
        n: int

    @state_type(version=2, migrate=lambda version, old: old)
    @dataclass
    class Older:
        n: int

    assert "version 3" in value_rejection(Newer, Older)


def test_an_error_of_a_migrate_function_is_reported_with_the_value() -> None:
    def migrate(version: int, old: Any) -> Any:
        return old["nothing"]

    @state_type(version=2, migrate=migrate)
    @dataclass
    class Bad:
        n: int

    with pytest.raises(StateError, match=r"test_migrate_functions.py.*KeyError.*'nothing'.*'name': 'a'") as raised:
        restore_value(Spent, Spent("a", 1, []), Bad)
    assert raised.value.code == "STATE_MIGRATE_FAILED"


@pytest.mark.parametrize(
    ("version", "migrate", "code"), [(0, None, "STATE_VERSION"), (1, str, "STATE_VERSION"), (2, "f", "STATE_MIGRATE")]
)
def test_invalid_evolutions(version: int, migrate: Any, code: str) -> None:
    with pytest.raises(StateError) as raised:
        state_type(version=version, migrate=migrate)(Spent)
    assert raised.value.code == code


# -- values without a declared type


def test_pickled_values_are_converted_to_a_type_one_by_one() -> None:
    resolution, value = restore_value(None, Spent("a", 1, ["x"]), Spent)
    assert value == Spent("a", 1, ["x"])
    assert resolution.checked
    assert "no declared type became Spent" in resolution.differences[0]
    with pytest.raises(StateError):
        restore_value(None, "not a number", int)


def test_pickled_values_stay_pickled() -> None:
    resolution, value = restore_value(None, {1: "a"}, None)
    assert (resolution.verdict, value) == (AS_IS, {1: "a"})
    assert "no declared type" in resolution.differences[0]


def test_pickled_values_and_a_migrate_function() -> None:
    driver = SavedStateDriver(ValueStateDescriptor("s"), lambda handle: handle.update((1, 2)))
    current = ValueStateDescriptor("s").evolve(version=2, migrate=lambda version, old: sum(old))
    assert driver.restore_as(current)[1].value() == 3
    typed = SavedStateDriver(ValueStateDescriptor("s", int), lambda handle: handle.update(4))
    assert typed.restore_as(current.evolve(version=2, migrate=lambda version, old: [old]))[1].value() == [4]
