"""What slots and source tasks report of elements in and out, and what a program consists of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.engine.frames import Counted, decode_bundle
from penstock.engine.mapper import Mapper
from penstock.engine.program import build
from penstock.engine.reports import add_flows
from penstock.errors import UserFunctionError
from penstock.testing import Harness, PushSource

ODD = ps.OutputTag("odd")


class Twice(ps.KeyedProcessFunction):
    """Two elements of each even one; odd ones to the side; 13 is bad luck, once."""

    lucky = False

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if value == 13 and not Twice.lucky:
            Twice.lucky = True
            raise ValueError("bad luck")
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


def test_a_batch_that_failed_does_not_count() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    harness = Harness(env)
    harness.collect(pipeline(env))
    Twice.lucky = False
    with pytest.raises(UserFunctionError):
        harness.push_all([2, 4, 13])
    harness.push(2)
    assert flows(harness) == {"twice": (1, 2), "repeat": (2, 4)}


def test_a_source_task_counts_the_steps_behind_it() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    numbers = env.from_collection([-1, 2, 3]).filter(lambda n: n > 0).uid("positive")
    numbers.map(lambda n: n + 1).uid("next").print()
    numbers.process(Both()).uid("both").print()
    program = build(env.graph())
    source = program.sources[0].source
    mapper = Mapper(program, program.sources[0], 0)
    tasks = source.plan(source.initial(), source.latest(source.initial()), 1)
    for _ in range(2):  # a task that runs again counts anew
        frames = [f for t in tasks for _, _, blob in mapper.run(t, []) for f in decode_bundle(blob)]
        counted = [f for f in frames if isinstance(f, Counted)]
        assert [(c.count, c.flows) for c in counted] == [(3, {"positive": (3, 2), "next": (2, 2), "both": (2, 4)})]


class Both(ps.ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value
        yield ODD, value


def test_the_parts_of_a_program_in_their_order() -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    pipeline(env).print().name("result")
    assert build(env.graph()).parts() == [
        ("source", "numbers-1", "numbers"),
        ("step", "positive", "positive"),
        ("operator", "twice", "twice"),
        ("step", "repeat", "flat_map"),
        ("step", "odd", "map"),
        ("sink", "sink-1", "result"),
    ]
