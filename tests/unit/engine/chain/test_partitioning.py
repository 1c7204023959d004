"""Partitionings send elements to the expected subtasks, and invalid plans are rejected."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.connectors import CollectSink
from penstock.engine.program.builder import build_program
from penstock.errors import PlanError, UserFunctionError
from penstock.testing import Harness
from tests.programs.partitioning import KINDS, Where, check, spread


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_elements_are_in_the_subtasks_of_their_partitioning(kind: str, parallelism: int) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    harness = Harness(env)
    out = harness.collect(spread(env, kind))
    harness.run()
    check(kind, list(out), parallelism)


def test_shuffle_is_deterministic() -> None:
    def once() -> list[object]:
        env = ps.StreamExecutionEnvironment().set_parallelism(3)
        harness = Harness(env)
        out = harness.collect(spread(env, "shuffle"))
        harness.run()
        return sorted(out)

    assert once() == once()


def test_a_partitioner_must_return_an_existing_subtask() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    harness = Harness(env)
    harness.collect(env.from_collection([1]).partition_custom(lambda key, n: 7, lambda n: n).process(Where()))
    with pytest.raises(UserFunctionError, match="subtask 7"):
        harness.run()


def test_an_operator_cannot_have_a_higher_parallelism_than_the_job() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    env.from_collection([1]).key_by(lambda n: n).reduce(max).set_parallelism(3).print()
    with pytest.raises(PlanError, match="Increase the parallelism of the job"):
        env.graph()


def test_two_operators_with_the_same_uid_are_rejected() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    stream = env.from_collection([1])
    stream.map(str).uid("a").print()
    stream.map(int).uid("a").print()
    with pytest.raises(PlanError, match="DUPLICATE_UID"):
        env.graph()


def test_a_job_without_a_sink_is_rejected() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    env.from_collection([1]).map(str)
    with pytest.raises(PlanError, match="NO_SINK"):
        env.graph()


def test_levels_and_a_source_with_several_readers() -> None:
    """Two branches and a union have one source and two levels."""
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    source = env.from_sequence(1, 10)
    sums = source.key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
    tops = source.key_by(lambda n: n % 3).reduce(max)
    sums.union(tops).key_by(lambda n: n).reduce(max).sink_to(CollectSink())
    source.map(str).sink_to(CollectSink())
    program = build_program(env.graph())
    assert len(program.sources) == 1
    assert [o.level for o in program.operators] == [1, 1, 2]
    assert program.operators[2].upstream_operators == [0, 1]


def test_uids_are_stable() -> None:
    def uids() -> list[str]:
        env = ps.StreamExecutionEnvironment().set_parallelism(2)
        env.from_sequence(1, 3).key_by(lambda n: n).reduce(max).key_by(lambda n: n).reduce(min).print()
        return [o.uid for o in build_program(env.graph()).operators]

    assert uids() == uids()
    assert len(set(uids())) == 2
