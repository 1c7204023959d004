"""Keys that cannot be rewritten: incompatible types, keys that would become equal, and keys that a function rejects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import (
    StreamExecutionEnvironment,
    Types,
)
from penstock.errors import CheckpointError
from penstock.savepoints import open_savepoint
from penstock.savepoints.evolution import INCOMPATIBLE
from penstock.savepoints.matching import match_savepoint
from penstock.savepoints.values import try_keys
from penstock.testing import Harness, PushSource
from tests.unit.runtime.state.evolution.key_changes import (
    BY_REGION,
    CHANGES,
    FIRST,
    OLD,
    Longer,
)
from tests.unit.runtime.state.evolution.keyed_jobs import Element, Everything, Keyed, job


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            Keyed(Types.INT(), lambda e: e[0]),
            Keyed(Types.STRING(), lambda e: str(e[0])),
            "INT cannot be converted to str automatically",
        ),
        (
            Keyed(float, lambda e: float(e[0])),
            Keyed(int, lambda e: e[0]),
            "float cannot be converted to int automatically",
        ),
        (Keyed(int, lambda e: e[0]), OLD, "int cannot be converted to Old automatically"),
        (OLD, Keyed(Longer, lambda e: Longer(e[0], e[1], "")), "note: was added without a default"),
        (Keyed(tuple[int], lambda e: e[:1]), Keyed(tuple[int, str], lambda e: e[:2]), "must not be None"),
        (
            CHANGES["a number that became text by a function"][1],
            Keyed(Types.STRING().evolved(version=3, migrate=lambda v, old: old), lambda e: f"user {e[0]}"),
            "",
        ),
    ],
)
def test_incompatible_keys(tmp_path: Path, before: Keyed, after: Keyed, expected: str) -> None:
    first = job("process", before)
    first.feed(FIRST, 0)
    saved = first.harness.savepoint(tmp_path / "saved")
    if not expected:  # a newer version than the program's
        before, after, expected = after, before, "was written by version 3"
        first = job("process", before)
        first.feed(FIRST, 0)
        saved = first.harness.savepoint(tmp_path / "newer")
    second = job("process", after)
    row = second.key_row(saved)
    assert row.verdict == INCOMPATIBLE
    assert any(expected in difference for difference in row.differences), row.differences
    assert "migrate" in row.todo
    with pytest.raises(CheckpointError, match=r"op: \(key\): ") as raised:
        second.harness.restore_savepoint(saved)
    assert raised.value.code == "SAVEPOINT_STATE_INCOMPATIBLE"


def test_keys_without_state_may_have_any_type(tmp_path: Path) -> None:
    saved = job("process", OLD).harness.savepoint(tmp_path / "saved")
    second = job("process", Keyed(int, lambda e: e[0]))
    assert [r for r in second.rows(saved) if r.state == "(key)"] == []
    second.harness.restore_savepoint(saved)


# -- two keys that become one, and keys that their function refuses


@pytest.mark.parametrize("parallelism", [1, 4])
@pytest.mark.parametrize("after", BY_REGION)
@pytest.mark.parametrize("kind", ["process", "sessions by columns", "patterns"])
def test_keys_that_become_equal_are_never_merged(tmp_path: Path, kind: str, after: Keyed, parallelism: int) -> None:
    first = job(kind, OLD)
    first.feed(FIRST, 0)
    saved = first.harness.savepoint(tmp_path / "saved")
    second = job(kind, after, parallelism)
    with pytest.raises(CheckpointError) as raised:
        second.harness.restore_savepoint(saved)
    assert raised.value.code == "SAVEPOINT_KEYS_COLLIDE"
    assert "of operator 'op' both become" in raised.value.text
    assert raised.value.text.count("Old(") == 2
    savepoint = open_savepoint(saved)
    checked = second.harness.job.program
    matched = match_savepoint(savepoint, checked)
    tried = try_keys(savepoint, matched.key_changes)["op"]
    assert (tried.failed, "both become" in tried.reasons[0]) == (1, True)


def test_equal_keys_in_different_states_are_found(tmp_path: Path) -> None:
    """One key has a value state and the other a list state, so their entries have different names."""

    class Either(Everything):
        def process_element(self, value: Element, ctx: Any) -> Any:
            if value[0]:
                self.value.update(value[2])
            else:
                self.list.add(value[2])
            return iter(())

    def create_harness(key: Keyed) -> Harness:
        env = StreamExecutionEnvironment()
        env.from_source(PushSource()).uid("source").key_by(key.of, key_type=key.type).process(Either()).uid(
            "op"
        ).print()
        return Harness(env)

    first = create_harness(OLD)
    first.push_all([(0, "north", 1), (1, "north", 2)])
    with pytest.raises(CheckpointError, match=r"Old\(0, 'north'\) and Old\(1, 'north'\).*both become 'north'"):
        create_harness(BY_REGION[0]).restore_savepoint(first.savepoint(tmp_path / "saved"))


@pytest.mark.parametrize(
    ("migrate", "expected"),
    [
        (lambda v, old: f"{1 // old['user']}", "ZeroDivisionError"),
        (lambda v, old: None if old["user"] == 0 else str(old), "Misfit: None is a NoneType, but a str was declared"),
        (lambda v, old: 7 if old["user"] == 0 else str(old), "Misfit: 7 is a int, but a str was declared"),
    ],
)
def test_a_key_that_its_migrate_function_rejects_is_named(tmp_path: Path, migrate: Any, expected: str) -> None:
    first = job("process", OLD)
    first.feed([(0, "north", 1)], 0)
    second = job("process", Keyed(Types.of(str).evolved(version=2, migrate=migrate), lambda e: ""))
    with pytest.raises(CheckpointError, match=r"Key Old\(0, 'north'\) of operator 'op' cannot be converted") as raised:
        second.harness.restore_savepoint(first.harness.savepoint(tmp_path / "saved"))
    assert raised.value.code == "SAVEPOINT_KEY_REFUSED"
    assert expected in raised.value.text
