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


class Subtask(ps.KeyedProcessFunction):
    """Emits the index of its subtask and the parallelism of its operator."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self._subtask = (
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
        )

    def process_element(self, value: int, ctx: ps.KeyedProcessFunction.Context) -> list[tuple[int, int]]:
        return [self._subtask]


@pytest.mark.parametrize(("own", "expected"), [(1, 1), (None, 2), (4, 4)])
def test_the_parallelism_of_an_operator_may_be_lower_or_higher_than_that_of_the_job(
    own: int | None, expected: int
) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    default = env.from_sequence(1, 100).key_by(lambda n: n).process(Subtask())
    stream = env.from_sequence(1, 100).key_by(lambda n: n).process(Subtask())
    if own is not None:
        stream.set_parallelism(own)
    harness = Harness(env)
    out, beside = harness.collect(stream), harness.collect(default)
    harness.run()
    assert set(out) == {(index, expected) for index in range(expected)}
    assert set(beside) == {(0, 2), (1, 2)}


def test_the_highest_parallelism_needs_as_many_key_groups() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(2).set_max_parallelism(3)
    env.from_collection([1]).key_by(lambda n: n).reduce(max).set_parallelism(4).print()
    with pytest.raises(PlanError, match="MAX_PARALLELISM"):
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
