"""Changed key types: a job restored from state with the old keys equals a job that had the new keys from the start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    MapStateDescriptor,
    Row,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)
from penstock.functions import KeyedBroadcastProcessFunction
from penstock.savepoints import open_savepoint
from penstock.savepoints.evolution import AFTER_MIGRATION, AS_IS
from penstock.savepoints.loading import RestoreLayout
from penstock.savepoints.matching import match_savepoint
from penstock.testing import Harness, PushSource
from tests.unit.runtime.state.evolution.key_changes import (
    CHANGES,
    FIRST,
    OLD,
    OLD_ROW,
    SECOND,
    Old,
    Pair,
    assert_equal_state,
    fresh_job,
    restored_job,
)
from tests.unit.runtime.state.evolution.keyed_jobs import JOBS, Element, Job, Keyed, job, state_of
from tests.unit.runtime.state.evolution.test_jobs import ValueStore


@pytest.mark.parametrize("change", list(CHANGES))
def test_changes(tmp_path: Path, change: str) -> None:
    before, after, expected = CHANGES[change]
    restored = restored_job("process", before, after, tmp_path, parallelism=3)
    row = restored.key_row(str(tmp_path / "saved"))
    assert row.verdict == AFTER_MIGRATION
    assert any(expected in difference for difference in row.differences), row.differences
    assert_equal_state(restored, fresh_job("process", after, 3))


@pytest.mark.parametrize("parallelism", [1, 2, 5])
@pytest.mark.parametrize("kind", list(JOBS))
def test_kinds_of_state(tmp_path: Path, kind: str, parallelism: int) -> None:
    _, after, _ = CHANGES["another order"]
    groups = {1: None, 2: 77, 5: 512}[parallelism]
    restored = restored_job(kind, OLD, after, tmp_path, parallelism, groups)
    assert state_of(restored), "the job keeps something"
    assert_equal_state(restored, fresh_job(kind, after, parallelism, groups))


# -- what is as it was


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Keyed(Types.INT(), lambda e: e[0]), Keyed(Types.LONG(), lambda e: e[0]), "INT became LONG"),
        (Keyed(Types.INT(), lambda e: e[0]), Keyed(float, lambda e: float(e[0])), "INT became float"),
        (OLD_ROW, Keyed(Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()]), lambda e: Row(a=e[1], b=e[0])), ""),
        (Keyed(tuple[int, str], lambda e: e[:2]), Keyed(Pair, lambda e: Pair(e[0], e[1])), "became Pair"),
        (OLD, OLD, ""),
    ],
)
def test_keys_whose_encoding_stays_the_same_are_not_rewritten(
    tmp_path: Path, before: Keyed, after: Keyed, expected: str
) -> None:
    restored = restored_job("process", before, after, tmp_path, parallelism=3)
    row = restored.key_row(str(tmp_path / "saved"))
    assert (row.verdict, row.todo) == (AS_IS, "")
    assert any(expected in d for d in row.differences) or not (expected or row.differences)
    fresh = fresh_job("process", after, 3)
    assert restored.feed(SECOND, 12) == fresh.feed(SECOND, 12)


def test_operators_with_unchanged_keys_read_only_their_own_groups(tmp_path: Path) -> None:
    def loads(after: Keyed) -> list[tuple[bool, int]]:
        results = job("process", after, parallelism=2)
        savepoint, program = open_savepoint(str(tmp_path / "saved")), results.harness.job.program
        matched = match_savepoint(savepoint, program)
        plans = [plan for _, _, plan in RestoreLayout(savepoint, program, matched).plans()]
        return [
            (all(load.complete for f in p.files for load in f.loads), sum(len(f.loads) for f in p.files)) for p in plans
        ]

    first = job("process", OLD)
    first.feed(FIRST, 0)
    first.harness.savepoint(tmp_path / "saved")
    blocks = sum(file.blocks for file in open_savepoint(str(tmp_path / "saved")).manifest.files)
    (whole, few), (also_whole, others) = loads(OLD)
    assert (whole, also_whole, few + others) == (True, True, blocks)
    assert loads(CHANGES["another order"][1]) == [(False, blocks)] * 2


def test_state_is_saved_with_the_new_keys(tmp_path: Path) -> None:
    _, after, _ = CHANGES["a migrate function"]
    second = restored_job("process", OLD, after, tmp_path, parallelism=2)
    again = second.harness.savepoint(tmp_path / "again")
    third = job("process", after, 3)
    assert third.key_row(again).verdict == AS_IS
    third.harness.restore_savepoint(again)
    assert_equal_state(third, fresh_job("process", after, 3))


class StateReporter(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Emits the state of all keys on request, and keeps rules in broadcast state."""

    def open(self, runtime_context: Any) -> None:
        self._runtime = runtime_context
        self.stored = runtime_context.get_state(ValueStateDescriptor("stored", STORED[0]))

    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        self.stored.update(value[2])
        yield sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value, value)
        results: list[Any] = []
        ctx.apply_to_keyed_state(STORED[1], lambda key, state: results.append((key, state.value())))
        yield sorted(results, key=repr)


RULES = MapStateDescriptor("rules", str, str)
STORED: list[Any] = [int, ValueStateDescriptor("stored", int)]


def test_broadcast_state_stays_and_apply_to_keyed_state_reaches_all_keys(tmp_path: Path) -> None:
    def create_job(key: Keyed, parallelism: int) -> tuple[Harness, Any]:
        env = StreamExecutionEnvironment()
        words = env.from_source(PushSource(), source_name="words").uid("words").key_by(key.of, key_type=key.type)
        broadcast_rules = env.from_source(PushSource(), source_name="rules").uid("rules").broadcast(RULES)
        out = words.connect(broadcast_rules).process(StateReporter()).uid("op")
        harness = Harness(env, parallelism=parallelism)
        return harness, harness.collect(out)

    first, _ = create_job(Keyed(tuple[int, str], lambda e: e[:2]), 2)
    first.push("rule", source="rules")
    for element in FIRST[:4]:
        first.push(element, source="words")
    second, out = create_job(OLD, 3)
    second.restore_savepoint(first.savepoint(tmp_path / "saved"))
    second.push("more", source="rules")
    results = sorted((pair for some in out for pair in some), key=repr)
    assert results == [(Old(e[0], e[1]), e[2]) for e in FIRST[:4]]
    second.push(FIRST[0], source="words")
    assert out[-1] == [("more", "more"), ("rule", "rule")]


def test_values_of_the_same_state_are_also_rewritten(tmp_path: Path) -> None:
    def create_job(key: Keyed, value_type: Any, parallelism: int) -> Job:
        def make(stream: Any) -> Any:
            function = ValueStore(ValueStateDescriptor("stored", value_type), lambda old, e: (old or 0) + e[2])
            return stream.key_by(key.of, key_type=key.type).process(function).uid("op")

        env = StreamExecutionEnvironment()
        out_of = make(env.from_source(PushSource()).uid("source"))
        harness = Harness(env, parallelism=parallelism)
        return Job(harness, harness.collect(out_of))

    first = create_job(OLD, int, 2)
    first.harness.push_all([(1, "a", 5), (2, "b", 6)])
    saved = first.harness.savepoint(tmp_path / "saved")
    second = create_job(CHANGES["another order"][1], float, 3)
    assert [(r.state, r.verdict) for r in second.rows(saved)] == [
        ("(key)", AFTER_MIGRATION),
        ("stored", AFTER_MIGRATION),
    ]
    second.harness.restore_savepoint(saved)
    second.harness.push_all([(1, "a", 1), (2, "b", 1)])
    assert [(v, type(v)) for v in second.out] == [(6.0, float), (7.0, float)]
