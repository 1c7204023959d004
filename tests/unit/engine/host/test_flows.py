"""Counts of elements in and out in the reports of slots and source tasks, and the components of a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.engine.host.mapper import Mapper
from penstock.engine.host.reports import add_flows
from penstock.engine.program.builder import build_program
from penstock.engine.wire.frames import SourceTaskReport, decode_bundle
from penstock.errors import UserFunctionError
from penstock.testing import Harness, PushSource

ODD = ps.OutputTag("odd")


class Twice(ps.KeyedProcessFunction):
    """Emits two elements for an even one, and odd ones to a side output. Fails once at 13."""

    failed = False

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if value == 13 and not Twice.failed:
            Twice.failed = True
            raise ValueError("unlucky")
        if value % 2:
            yield ODD, value
        else:
            yield value
            yield -value


def pipeline(env: ps.StreamExecutionEnvironment) -> Any:
    numbers = env.from_source(PushSource(), None, "numbers").filter(lambda n: n > 0).name("positive").uid("positive")
    twice = numbers.key_by(lambda n: n).process(Twice()).name("twice").uid("twice")
    twice.get_side_output(ODD).map(str).uid("odd")
    return twice.flat_map(lambda n: [n] * abs(n)).uid("repeat")


def flows(harness: Harness) -> dict[str, tuple[int, int]]:
    total: dict[str, tuple[int, int]] = {}
    for report in harness.job.reports:
        add_flows(total, report.flows)
    return total


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_slot_counts_elements_in_and_out_per_batch(parallelism: int) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    harness = Harness(env)
    harness.collect(pipeline(env))
    odd = harness.side_output(ODD)
    harness.push_all([1, 2, 3, 4, -5])
    assert flows(harness) == {"twice": (4, 6), "repeat": (4, 12), "odd": (2, 2)}
    harness.push(6)
    assert flows(harness) == {"twice": (1, 2), "repeat": (2, 12)}
    assert sorted(odd) == [1, 3]


def test_a_failed_batch_is_not_reports() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    harness = Harness(env)
    harness.collect(pipeline(env))
    Twice.failed = False
    with pytest.raises(UserFunctionError):
        harness.push_all([2, 4, 13])
    harness.push(2)
    assert flows(harness) == {"twice": (1, 2), "repeat": (2, 4)}


def test_a_source_task_counts_its_chained_steps() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    numbers = env.from_collection([-1, 2, 3]).filter(lambda n: n > 0).uid("positive")
    numbers.map(lambda n: n + 1).uid("next").print()
    numbers.process(Both()).uid("both").print()
    program = build_program(env.graph())
    source = program.sources[0].source
    mapper = Mapper(program, program.sources[0], 0)
    tasks = source.plan(source.initial(), source.latest(source.initial()), 1)
    for _ in range(2):  # a repeated task starts at zero
        frames = [f for t in tasks for _, _, blob in mapper.run(t, []) for f in decode_bundle(blob)]
        reports = [f for f in frames if isinstance(f, SourceTaskReport)]
        assert [(c.records, c.flows) for c in reports] == [(3, {"positive": (3, 2), "next": (2, 2), "both": (2, 4)})]


class Both(ps.ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value
        yield ODD, value


def test_components_are_in_the_order_of_the_program() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    pipeline(env).print().name("result")
    assert build_program(env.graph()).components() == [
        ("source", "numbers-1", "numbers"),
        ("step", "positive", "positive"),
        ("operator", "twice", "twice"),
        ("step", "repeat", "flat_map"),
        ("step", "odd", "map"),
        ("sink", "sink-1", "result"),
    ]
