"""Changes of types that would change values without an error: large integers, renumbered enumerations."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import StreamExecutionEnvironment, Types
from penstock.errors import CheckpointError, StateError
from penstock.runtime.state.evolution.describe import describe, describe_key, describe_state
from penstock.runtime.state.evolution.key_change import compare_key_types
from penstock.runtime.state.evolution.values import differences_in_place
from penstock.runtime.state.keys import encode_key
from penstock.savepoints import open_savepoint
from penstock.savepoints.check import check_restore
from penstock.savepoints.evolution import AFTER_MIGRATION, AS_IS, StateResolution
from penstock.savepoints.values import try_values
from penstock.state import MapStateDescriptor
from penstock.testing import Harness, PushSource
from penstock.types import type_information
from tests.unit.runtime.state.evolution.saved_state_driver import SavedStateDriver, restore_value, value_rejection


@dataclass
class Count:
    n: int


@dataclass
class Ratio:
    n: float


@pytest.mark.parametrize("number", [0, -7, 2**53, 2**60])
def test_an_integer_that_is_a_float_is_converted(number: int) -> None:
    resolution, value = restore_value(int, number, float)
    assert (value, type(value)) == (number, float)
    assert resolution.differences == ["int became float, checked value by value"]
    assert restore_value(Count, Count(number), Ratio)[1] == Ratio(number)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_an_integer_that_is_not_a_float_is_an_error(number: int) -> None:
    for before, value, after in ((Types.LONG(), number, Types.DOUBLE()), (Count, Count(number), Ratio)):
        with pytest.raises(StateError, match=f"{number} is no float") as raised:
            restore_value(before, value, after)
        assert raised.value.code == "STATE_MIGRATION"


def test_small_integers_are_not_checked() -> None:
    resolution, value = restore_value(Types.INT(), 2**31 - 1, Types.DOUBLE())
    assert (value, resolution.checked) == (2.0**31 - 1, False)


def test_a_key_that_is_not_a_float_is_an_error(tmp_path: Path) -> None:
    def job(key_type: Any) -> tuple[Harness, Any]:
        env = StreamExecutionEnvironment()
        keyed = env.from_source(PushSource()).uid("source").key_by(lambda n: n, key_type=key_type)
        harness = Harness(env)
        return harness, harness.collect(keyed.reduce(lambda a, b: a + b).uid("sums"))

    first, _ = job(int)
    first.push(7)
    second, out = job(float)
    second.restore_savepoint(first.savepoint(tmp_path / "small")).push(7)
    assert out == [14]
    first.push(2**53 + 1)
    with pytest.raises(CheckpointError, match="9007199254740993") as raised:
        job(float)[0].restore_savepoint(first.savepoint(tmp_path / "large"))
    assert raised.value.code == "SAVEPOINT_KEY_REFUSED"


def restore_map(saved_key: Any, key: Any, current_key: Any) -> tuple[StateResolution, Any]:
    saved, current = (MapStateDescriptor("m", key_type, int) for key_type in (saved_key, current_key))
    driver = SavedStateDriver(saved, lambda handle: handle.put(key, 1))
    resolution, handle = driver.restore_as(current)
    return resolution, list(handle.keys())


@pytest.mark.parametrize(("key", "current"), [(7, float), (2**60, float), (("a", 2**53), tuple[str, float])])
def test_a_map_key_that_is_a_float_is_found(key: Any, current: Any) -> None:
    resolution, keys = restore_map(tuple[str, int] if isinstance(key, tuple) else int, key, current)
    assert (keys, resolution.checked) == ([key], True)


@pytest.mark.parametrize(("key", "current"), [(2**53 + 1, float), (("a", 2**53 + 1), tuple[str, float])])
def test_a_map_key_that_is_not_a_float_is_an_error(key: Any, current: Any) -> None:
    before = tuple[str, int] if isinstance(key, tuple) else int
    with pytest.raises(StateError, match="9007199254740993 is no float") as raised:
        restore_map(before, key, current)
    assert raised.value.code == "STATE_MIGRATION"
    saved, now = (describe_state(MapStateDescriptor("m", key_type, int)) for key_type in (before, current))
    assert differences_in_place(saved, now, type_information(int))  # a resumed job is rejected


def test_small_map_keys_are_not_checked() -> None:
    resolution, keys = restore_map(Types.INT(), 7, Types.DOUBLE())
    assert (keys, resolution.checked, resolution.migrate) == ([7], False, None)


class Rules(ps.KeyedProcessFunction):
    """Puts each element into a map state."""

    def __init__(self, rules: MapStateDescriptor) -> None:
        self._rules = rules

    def open(self, runtime_context: Any) -> None:
        self._map = runtime_context.get_map_state(self._rules)

    def process_element(self, value: int, ctx: Any) -> None:
        self._map.put(value, 1)


class BroadcastRules(ps.BroadcastProcessFunction):
    def __init__(self, rules: MapStateDescriptor) -> None:
        self._rules = rules

    def process_element(self, value: int, ctx: Any) -> None:
        pass

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self._rules).put(value, 1)


@pytest.mark.parametrize("scope", ["key", "broadcast"])
def test_map_keys_of_all_scopes_are_checked(tmp_path: Path, scope: str) -> None:
    def job(key_type: Any) -> Harness:
        rules = MapStateDescriptor("m", key_type, int)
        env = StreamExecutionEnvironment()
        numbers = env.from_source(PushSource(), source_name="n").uid("n")
        if scope == "broadcast":
            numbers.connect(numbers.broadcast(rules)).process(BroadcastRules(rules)).uid("op").print()
        else:
            numbers.key_by(lambda n: n % 2).process(Rules(rules)).uid("op").print()
        return Harness(env)

    first = job(int)
    first.push_all([2**53 + 1, 5])
    saved = first.savepoint(tmp_path / "saved")
    with pytest.raises(StateError, match="Map key 9007199254740993 does not fit"):
        job(float).restore_savepoint(saved)
    second = job(float)
    checked = check_restore(open_savepoint(saved), second.job.program)
    assert [result.failed for result in try_values(open_savepoint(saved), checked.changes).values()] == [1]


class Light(enum.Enum):
    RED = 1
    AMBER = 2
    GREEN = 3


class Swapped(enum.Enum):
    GREEN = 1
    AMBER = 2
    RED = 3


class Inserted(enum.Enum):
    OFF = 1
    RED = 2
    AMBER = 3
    GREEN = 4


class Recoloured(enum.Enum):
    CRIMSON = 1
    AMBER = 2
    GREEN = 3


class Reused(enum.Enum):
    """The value of RED, which was removed, is that of GREEN now."""

    GREEN = 1
    AMBER = 2


@pytest.mark.parametrize("after", [Swapped, Inserted])
def test_members_with_other_values_are_converted_by_name(after: Any) -> None:
    for member in Light:
        resolution, value = restore_value(Light, member, after)
        assert value is after[member.name]
        assert resolution.verdict == AFTER_MIGRATION
        assert f"RED was 1 and is {after.RED.value} now" in resolution.differences
        assert restore_value(dict[str, Light], {"a": member}, dict[str, after])[1] == {"a": value}


def test_a_renamed_member_keeps_its_value() -> None:
    resolution, value = restore_value(Light, Light.RED, Recoloured)
    assert value is Recoloured.CRIMSON
    assert resolution.verdict == AS_IS


def test_a_value_that_another_member_has_now_is_refused() -> None:
    assert "Light cannot be converted to Reused automatically" in value_rejection(Light, Reused)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class LevelNow(enum.IntEnum):
    HIGH = 1
    LOW = 2


def test_keys_that_are_members_with_other_values_are_rewritten() -> None:
    """Members that are numbers are encoded as numbers, others by name."""
    saved = replace(describe_key(type_information(Level)), name="LevelNow")
    comparison = compare_key_types(saved, type_information(LevelNow))
    assert comparison.convert is not None
    assert comparison.convert(encode_key(Level.LOW)[0]) is LevelNow.LOW
    by_name = replace(describe_key(type_information(Light)), name="Swapped")
    assert compare_key_types(by_name, type_information(Swapped)).convert is None


@dataclass
class Options:
    a: int | None
    b: list[int | None] | None
    c: str | int | None
    d: Count | None
    e: float


def test_none_is_shown_in_types() -> None:
    text = describe(type_information(Options)).text()
    assert text == "Options(a: int | None, b: list[int | None] | None, c: str | int | None, d: Count | None, e: float)"
    optional: Any = int | None
    assert describe(type_information(optional)).text() == "int | None"
