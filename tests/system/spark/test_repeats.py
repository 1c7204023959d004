"""Results that must not change when Spark repeats a batch: materialize, seeded randomness, cached state."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink, ScriptedSource, Step
from penstock.errors import UserFunctionError
from tests.system.spark.fails_once import LinesFailOnce
from tests.system.spark.processes import checkpoint_in, lines_of
from tests.system.spark.test_jobs import environment

pytestmark = pytest.mark.spark


class DrawAndRecord:
    """Draws a number from the system and records it on disk."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, value: str) -> tuple[str, float]:
        drawn = random.SystemRandom().random()
        with open(self._file, "a") as file:
            file.write(f"{drawn}\n")
        return value, drawn


def run_twice(tmp_path: Path, build: Any) -> None:
    """Runs a job whose first batch fails at the sink, then resumes it."""
    with pytest.raises(UserFunctionError, match="SINK_FAILED"):
        build(environment(tmp_path)).execute()
    build(environment(tmp_path, **{"execution.resume": checkpoint_in(tmp_path / "checkpoints")})).execute()


def test_a_repeated_batch_gets_the_same_materialized_elements(spark: SparkSession, tmp_path: Path) -> None:
    sink = LinesFailOnce(tmp_path / "out", tmp_path / "marker")

    def build(env: ps.StreamExecutionEnvironment) -> ps.StreamExecutionEnvironment:
        drawn = (
            env.from_source(ScriptedSource([Step({"s": ["a", "b"]})]))
            .map(DrawAndRecord(tmp_path / "drawn"))
            .materialize()
        )
        drawn.sink_to(sink)
        return env

    run_twice(tmp_path, build)
    first, second = (tmp_path / "drawn").read_text().split()[:2], (tmp_path / "drawn").read_text().split()[2:]
    assert len(second) == 2, "the batch ran twice"
    written = [line.split(",")[1].rstrip("]") for line in lines_of(tmp_path / "out")]
    assert sorted(written) == sorted(first)
    assert sorted(written) != sorted(second)


class SeededDraws(ps.KeyedProcessFunction):
    """Draws from the random generator of the context and records the results."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        drawn = f"{value} {ctx.random.random()} {ctx.random.random()} {ctx.uuid()} {ctx.uuid()}"
        with open(self._file, "a") as file:
            file.write(f"{drawn}\n")
        yield drawn


def test_seeded_randomness_is_the_same_in_a_repeated_batch_only(spark: SparkSession, tmp_path: Path) -> None:
    sink = LinesFailOnce(tmp_path / "out", tmp_path / "marker")

    def build(env: ps.StreamExecutionEnvironment) -> ps.StreamExecutionEnvironment:
        source = ScriptedSource([Step({"s": ["a", "b"]}), Step({"s": ["a"]})])
        env.from_source(source).key_by(lambda v: v).process(SeededDraws(tmp_path / "drawn")).sink_to(sink)
        return env

    run_twice(tmp_path, build)
    drawn = (tmp_path / "drawn").read_text().splitlines()
    assert sorted(drawn[:2]) == sorted(drawn[2:4]), "the first batch ran twice and drew the same"
    assert len(set(drawn)) == 3
    numbers = [word for line in set(drawn) for word in line.split()[1:]]
    assert len(set(numbers)) == len(numbers)
    assert all(uuid.UUID(word).version == 4 for word in numbers if "-" in word and "." not in word)


class AllStates(ps.KeyedProcessFunction):
    """State of several kinds, with values that are changed in place."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.value = runtime_context.get_state(ps.ValueStateDescriptor("value"))
        self.map = runtime_context.get_map_state(ps.MapStateDescriptor("map"))
        self.list = runtime_context.get_list_state(ps.ListStateDescriptor("list"))

    def process_element(self, number: int, ctx: Any) -> Iterator[Any]:
        seen = self.value.value()
        if seen is None:
            self.value.update([number])
        else:
            seen.append(number)  # in place, without update
        inner = self.map.get(number % 3)
        if inner is None:
            self.map.put(number % 3, {"n": 1})
        else:
            inner["n"] += 1
        self.list.add(number)
        counts = [(k, v["n"]) for k, v in self.map.items()]
        yield [ctx.get_current_key(), self.value.value(), counts, list(self.list.get())]


@pytest.mark.parametrize("backend", ["lmdb", "hashmap"])
def test_both_backends_have_the_same_results_for_values_changed_in_place(
    spark: SparkSession, tmp_path: Path, backend: str
) -> None:
    env = environment(tmp_path, **{"state.backend": backend})
    steps = [Step({"s": list(range(at, at + 7))}) for at in range(0, 70, 7)]
    env.from_source(ScriptedSource(steps)).key_by(lambda n: n % 5).process(AllStates()).sink_to(
        JsonLinesSink(tmp_path / "out")
    )
    env.execute()
    expected = []
    for number in range(70):
        mine = [n for n in range(number + 1) if n % 5 == number % 5]
        counts = [[r, len([n for n in mine if n % 3 == r])] for r in range(3) if any(n % 3 == r for n in mine)]
        expected.append(f"[{number % 5},{mine},{counts},{mine}]".replace(" ", ""))
    assert lines_of(tmp_path / "out") == sorted(expected)
