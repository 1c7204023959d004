"""A repeated batch: services may return other answers, and only one attempt counts."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.errors import JobError
from penstock.testing import Collected, Harness, PushSource


class Counting(ps.AsyncFunction[str, tuple[str, int]]):
    """Returns the number of calls, so that every attempt gets other answers."""

    def __init__(self) -> None:
        self.calls = 0

    async def async_invoke(self, value: str) -> list[tuple[str, int]]:
        self.calls += 1
        return [(value, self.calls)]


class Total(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.total.update((self.total.value() or 0) + value[1])
        yield value[0], value[1], self.total.value()


def failing_once(materialized: bool) -> tuple[Harness, Collected]:
    """A job whose first batch fails after its last level."""
    env = ps.StreamExecutionEnvironment()
    answered = ps.AsyncDataStream.unordered_wait(env.from_source(PushSource()), Counting(), 5000)
    answers = answered.materialize() if materialized else answered
    harness = Harness(env)
    out = harness.collect(answers.key_by(lambda pair: pair[0]).process(Total()))

    def fail(level: int, slot: int) -> None:
        if level == (2 if materialized else 1):
            harness.job.after_slot = None
            raise JobError("TEST", "the machine is gone")

    harness.job.after_slot = fail
    with harness:
        with pytest.raises(JobError, match="the machine is gone"):
            harness.push_all(["a", "b"])
        harness.push_all(["a", "b"])
        harness.push_all(["a"])
    return harness, out


def test_only_the_answers_of_the_committed_attempt_count() -> None:
    harness, out = failing_once(materialized=False)
    assert out == [("a", 3, 3), ("b", 4, 4), ("a", 5, 8)]
    assert harness.metrics.get("async wait operator", "async.calls") == 3


def test_materialized_answers_are_those_of_the_first_attempt() -> None:
    _, out = failing_once(materialized=True)
    assert out == [("a", 1, 1), ("b", 2, 2), ("a", 5, 6)]
