"""Decreasing timestamps: watermarks do not decrease, and every dropped record is counted."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.testing import Harness, PushSource
from penstock.windows import TumblingEventTimeWindows

BACKWARDS = [("a", 100), ("a", 90), ("a", 250), ("a", 10), ("a", 260), ("a", 255), ("a", 5)]


def strategy(kind: str) -> ps.WatermarkStrategy:
    watermark_strategy: ps.WatermarkStrategy
    if kind == "monotonous":
        watermark_strategy = ps.WatermarkStrategy.for_monotonous_timestamps()
    else:
        watermark_strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_millis(int(kind)))
    return watermark_strategy.with_timestamp_assigner(lambda pair, _: pair[1])


@pytest.mark.parametrize("kind", ["monotonous", "0", "20", "1000"])
@pytest.mark.parametrize("batches", [1, 7])
def test_every_record_is_in_a_window_or_counted_as_late(kind: str, batches: int) -> None:
    env = ps.StreamExecutionEnvironment()
    pairs = env.from_source(PushSource(), strategy(kind), "backwards")
    late: ps.OutputTag[Any] = ps.OutputTag("late")
    counts = (
        pairs.key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(ps.Duration.of_millis(100)))
        .side_output_late_data(late)
        .count()
    )
    harness = Harness(env)
    out, too_late = harness.collect(counts), harness.collect(counts.get_side_output(late))
    marks = []
    size = -(-len(BACKWARDS) // batches)
    for start in range(0, len(BACKWARDS), size):
        harness.push_all(BACKWARDS[start : start + size])
        marks.append(harness.watermark())
    harness.end()
    assert marks == sorted(marks)
    assert sum(result.value for result in out) + len(too_late) == len(BACKWARDS)
    assert bool(too_late) is (kind != "1000")


def test_a_process_function_sees_every_record_with_its_own_timestamp() -> None:
    """Without a window no element is late; the function decides."""
    env = ps.StreamExecutionEnvironment()
    pairs = env.from_source(PushSource(), strategy("monotonous"), "backwards")

    class Stamps(ps.KeyedProcessFunction[str, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.timestamp()

    harness = Harness(env)
    out = harness.collect(pairs.key_by(lambda pair: pair[0]).process(Stamps()))
    for pair in BACKWARDS:
        harness.push(pair)
    assert out == [stamp for _, stamp in BACKWARDS]
