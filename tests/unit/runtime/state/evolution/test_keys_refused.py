"""Keys that cannot be rewritten: by their types, because two would become one, or because a function refuses one."""

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
from penstock.savepoints.check import fit
from penstock.savepoints.evolution import INCOMPATIBLE
from penstock.savepoints.matching import match
from penstock.savepoints.values import try_keys
from penstock.testing import Harness, PushSource
from tests.evolution.key_changes import (
    BY_REGION,
    CHANGES,
    FIRST,
    OLD,
    Longer,
)
from tests.evolution.rekeyed import Element, Everything, Keyed, job


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            Keyed(Types.INT(), lambda e: e[0]),
            Keyed(Types.STRING(), lambda e: str(e[0])),
            "INT cannot become str by itself",
        ),
        (Keyed(float, lambda e: float(e[0])), Keyed(int, lambda e: e[0]), "float cannot become int by itself"),
        (Keyed(int, lambda e: e[0]), OLD, "int cannot become Old by itself"),
        (OLD, Keyed(Longer, lambda e: Longer(e[0], e[1], "")), "note: was added without a default"),
        (Keyed(tuple[int], lambda e: e[:1]), Keyed(tuple[int, str], lambda e: e[:2]), "must not be None"),
        (
            CHANGES["a number that became text by a function"][1],
            Keyed(Types.STRING().evolved(version=3, migrate=lambda v, old: old), lambda e: f"user {e[0]}"),
            "",
        ),
    ],
)
def test_incompatible_keys(tmp_path: Path, before: Keyed, after: Keyed, told: str) -> None:
    first = job("process", before)
    first.feed(FIRST, 0)
    saved = first.harness.savepoint(tmp_path / "saved")
    if not told:  # a newer version than the program's
        before, after, told = after, before, "was written by version 3"
        first = job("process", before)
        first.feed(FIRST, 0)
        saved = first.harness.savepoint(tmp_path / "newer")
    second = job("process", after)
    row = second.key_row(saved)
    assert row.verdict == INCOMPATIBLE
    assert any(told in difference for difference in row.differences), row.differences
    assert "migrate" in row.todo
    with pytest.raises(CheckpointError, match=r"op: \(key\): ") as raised:
        second.harness.restore_savepoint(saved)
    assert raised.value.code == "SAVEPOINT_STATE_INCOMPATIBLE"


def test_keys_that_kept_nothing_may_be_anything(tmp_path: Path) -> None:
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
    matched = match(savepoint.manifest, checked, saved)
    fit(savepoint.manifest, checked, matched, saved)
    tried = try_keys(savepoint, matched.keys)["op"]
    assert (tried.failed, "both become" in tried.reasons[0]) == (1, True)


def test_equal_keys_in_different_states_are_found(tmp_path: Path) -> None:
    """One key has a value and the other a list: no entry of theirs has the same name."""

    class Either(Everything):
        def process_element(self, value: Element, ctx: Any) -> Any:
            if value[0]:
                self.value.update(value[2])
            else:
                self.list.add(value[2])
            return iter(())

    def made(key: Keyed) -> Harness:
        env = StreamExecutionEnvironment()
        env.from_source(PushSource()).uid("source").key_by(key.of, key_type=key.type).process(Either()).uid(
            "op"
        ).print()
        return Harness(env)

    first = made(OLD)
    first.push_all([(0, "north", 1), (1, "north", 2)])
    with pytest.raises(CheckpointError, match=r"Old\(0, 'north'\) and Old\(1, 'north'\).*both become 'north'"):
        made(BY_REGION[0]).restore_savepoint(first.savepoint(tmp_path / "saved"))


@pytest.mark.parametrize(
    ("migrate", "told"),
    [
        (lambda v, old: f"{1 // old['user']}", "ZeroDivisionError"),
        (lambda v, old: None if old["user"] == 0 else str(old), "Misfit: None is a NoneType, and a str was declared"),
        (lambda v, old: 7 if old["user"] == 0 else str(old), "Misfit: 7 is a int, and a str was declared"),
    ],
)
def test_a_key_that_its_function_refuses_is_named(tmp_path: Path, migrate: Any, told: str) -> None:
    first = job("process", OLD)
    first.feed([(0, "north", 1)], 0)
    second = job("process", Keyed(Types.of(str).evolved(version=2, migrate=migrate), lambda e: ""))
    with pytest.raises(CheckpointError, match=r"Key Old\(0, 'north'\) of operator 'op' cannot become") as raised:
        second.harness.restore_savepoint(first.harness.savepoint(tmp_path / "saved"))
    assert raised.value.code == "SAVEPOINT_KEY_REFUSED"
    assert told in raised.value.text
