"""Explicit watermarks of a source count in addition to its strategy, whether a test pushes them or a source emits them."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.connectors import At, Mark, ScriptedSource, Step
from penstock.testing import Harness, PushSource
from penstock.windows import TumblingEventTimeWindows

ITEMS = [At("a", 3), Mark(9), At("b", 8), At("c", 12), Mark(19), Mark(15), At("d", 18), At("e", 21)]
# The windows [0, 10) and [10, 20) have ended when "b" and "d" arrive. The end of the input closes the last one.
EXPECTED = [("a", 9), ("c", 19), ("e", 29)]


class NoWatermarks(ps.WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None: ...

    def on_periodic_emit(self, output: Any) -> None: ...


class NoWatermarksPerBatch(NoWatermarks):
    per_batch = True


STRATEGIES = {
    "without a strategy": None,
    "none": ps.WatermarkStrategy.no_watermarks(),
    "idle": ps.WatermarkStrategy.no_watermarks().with_idleness(50),
    "bounded": ps.WatermarkStrategy.for_bounded_out_of_orderness(100),
    "generator of a batch": ps.WatermarkStrategy.for_generator(NoWatermarksPerBatch),
    "generator": ps.WatermarkStrategy.for_generator(NoWatermarks),
}


def windows(source: Any, strategy: ps.WatermarkStrategy | None, mapped: bool) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment()
    elements = env.from_source(source, None if mapped else strategy, "input")
    if mapped and strategy is not None:
        elements = elements.map(str).assign_timestamps_and_watermarks(strategy)
    totals = elements.key_by(lambda e: 0).window(TumblingEventTimeWindows.of(10)).reduce(lambda a, b: a + b)
    harness = Harness(env, parallelism=2, max_parallelism=8)
    return harness, harness.collect(totals)


def records(out: Any) -> list[tuple[str, int]]:
    return [(record.value, record.timestamp) for record in out.records]


@pytest.mark.parametrize("mapped", [False, True], ids=["of the source", "after a map"])
@pytest.mark.parametrize("strategy", [pytest.param(s, id=name) for name, s in STRATEGIES.items()])
def test_pushed_and_emitted_watermarks_are_equal(strategy: ps.WatermarkStrategy | None, mapped: bool) -> None:
    for batches in ([[item] for item in ITEMS], [ITEMS]):
        harness, pushed = windows(PushSource(["0"]), strategy, mapped)
        for batch in batches:
            harness.push_all(batch)
        harness.end()
        steps = [Step({"0": batch}) for batch in batches] + [Step(end=True)]
        harness, emitted = windows(ScriptedSource(steps, ("0",)), strategy, mapped)
        harness.run()
        assert records(pushed) == records(emitted) == EXPECTED
