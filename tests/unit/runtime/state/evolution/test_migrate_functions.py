"""Types that are replaced by a function of the user's, and values without a declared type."""

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
from tests.evolution.kept import Kept, Spent, refused_value, value_of


def test_a_type_replaced_by_a_migrate_function() -> None:
    calls = []

    def migrate(version: int, old: Any) -> Any:
        calls.append((version, old))
        return Money(round(old["total"] * 100), old["name"])

    @state_type(version=2, migrate=migrate)
    @dataclass
    class Money:
        cents: int
        owner: str

    found, value = value_of(Spent, Spent("a", 3, ["x"]), Money)
    assert value == Money(300, "a")
    assert calls == [(1, {"name": "a", "total": 3, "tags": ["x"]})]
    assert found.verdict == AFTER_MIGRATION
    assert found.differences == ["version 1 becomes 2 by its migrate function"]
    # What has the version already is not given to it again.
    assert value_of(Money, Money(1, "b"), Money)[1] == Money(1, "b")
    assert len(calls) == 1


def test_a_migrate_function_inside_of_another_type() -> None:
    @state_type(version=3, migrate=lambda version, old: Cents(old * 100))
    @dataclass
    class Cents:
        n: int

    assert value_of(dict[str, list[int]], {"a": [1, 2]}, dict[str, list[Cents]])[1] == {"a": [Cents(100), Cents(200)]}


def test_a_migrate_function_of_a_descriptor() -> None:
    kept = Kept(ValueStateDescriptor("s", float), lambda handle: handle.update(1.25))
    wanted = ValueStateDescriptor("s", Types.LONG()).evolve(version=2, migrate=lambda version, old: round(old * 100))
    found, handle = kept.given_to(wanted)
    assert handle.value() == 125
    # ... and from there on: the version is saved.
    again = Kept(wanted, lambda handle: handle.update(125))
    found, handle = again.given_to(wanted)
    assert (found.verdict, handle.value()) == (AS_IS, 125)


def test_rows_come_to_a_migrate_function_as_rows() -> None:
    before = Types.ROW_NAMED(["name", "when"], [Types.STRING(), Types.INSTANT()])
    after = Types.ROW_NAMED(["text"], [Types.STRING()])
    said = after.evolved(version=2, migrate=lambda version, old: Row(text=f"{old.name} {type(old['when']).__name__}"))
    assert value_of(before, Row(name="a", when=Instant(1, 2)), said)[1] == Row(text="a Instant")


def test_values_of_a_newer_version_are_refused() -> None:
    @state_type(version=3, migrate=lambda version, old: old)
    @dataclass
    class Newer:
        n: int

    @state_type(version=2, migrate=lambda version, old: old)
    @dataclass
    class Older:
        n: int

    assert "version 3" in refused_value(Newer, Older)


def test_what_a_migrate_function_raises_is_told_with_the_value() -> None:
    def migrate(version: int, old: Any) -> Any:
        return old["nothing"]

    @state_type(version=2, migrate=migrate)
    @dataclass
    class Bad:
        n: int

    with pytest.raises(StateError, match=r"test_migrate_functions.py.*KeyError.*'nothing'.*'name': 'a'") as raised:
        value_of(Spent, Spent("a", 1, []), Bad)
    assert raised.value.code == "STATE_MIGRATE_FAILED"


@pytest.mark.parametrize(
    ("version", "migrate", "code"), [(0, None, "STATE_VERSION"), (1, str, "STATE_VERSION"), (2, "f", "STATE_MIGRATE")]
)
def test_mistakes_in_what_a_type_says(version: int, migrate: Any, code: str) -> None:
    with pytest.raises(StateError) as raised:
        state_type(version=version, migrate=migrate)(Spent)
    assert raised.value.code == code


# -- values without a declared type


def test_pickled_values_become_typed_ones_value_by_value() -> None:
    found, value = value_of(None, Spent("a", 1, ["x"]), Spent)
    assert value == Spent("a", 1, ["x"])
    assert found.checked
    assert "no declared type became Spent" in found.differences[0]
    with pytest.raises(StateError):
        value_of(None, "not a number", int)


def test_pickled_values_stay_pickled() -> None:
    found, value = value_of(None, {1: "a"}, None)
    assert (found.verdict, value) == (AS_IS, {1: "a"})
    assert "no declared type" in found.differences[0]


def test_pickled_values_and_a_migrate_function() -> None:
    kept = Kept(ValueStateDescriptor("s"), lambda handle: handle.update((1, 2)))
    wanted = ValueStateDescriptor("s").evolve(version=2, migrate=lambda version, old: sum(old))
    assert kept.given_to(wanted)[1].value() == 3
    typed = Kept(ValueStateDescriptor("s", int), lambda handle: handle.update(4))
    assert typed.given_to(wanted.evolve(version=2, migrate=lambda version, old: [old]))[1].value() == [4]
