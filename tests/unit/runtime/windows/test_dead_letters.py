"""Windows with `on_error="dead_letter"`: after a failed function, the trigger continues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from penstock import DEAD_LETTERS, StreamExecutionEnvironment, WatermarkStrategy
from penstock.functions import ProcessWindowFunction
from penstock.testing import Harness, PushSource
from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EarlyFiringTrigger,
    EventTimeSessionWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)

TUMBLING, SESSION = TumblingEventTimeWindows.of(100), EventTimeSessionWindows.with_gap(20)


class Count(ProcessWindowFunction[int, int, int, Any]):
    """Emits the number of elements. Fails if it is a given one."""

    def __init__(self, fails_for: int) -> None:
        self._fails_for = fails_for

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterator[int]:
        number = len(list(elements))
        if number == self._fails_for:
            raise ValueError(str(number))
        yield number


def run(assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any], fails_for: int) -> tuple[list[int], list[str]]:
    """Returns the results for elements at 0, 10, ... 90 in event and processing time, and the messages of dead letters."""
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource(), WatermarkStrategy.for_monotonous_timestamps()).key_by(lambda time: 0)
    counts = stream.window(assigner).trigger(trigger).process(Count(fails_for), on_error="dead_letter")
    harness = Harness(env)
    out, dead = harness.collect(counts), harness.side_output(DEAD_LETTERS)
    for time in range(0, 100, 10):
        with harness.batch():
            harness.set_time(time)
            harness.push(time, time)
    harness.end()
    return list(out), [letter.message for letter in dead]


@pytest.mark.parametrize("assigner", [TUMBLING, SESSION], ids=["tumbling", "session"])
@pytest.mark.parametrize(
    "trigger",
    [
        lambda: ContinuousEventTimeTrigger.of(10),
        lambda: ContinuousProcessingTimeTrigger.of(10),
        lambda: EarlyFiringTrigger.of(10),
    ],
    ids=["event", "processing", "early"],
)
def test_early_results_continue_after_one_that_fails(
    trigger: Callable[[], Trigger[Any, Any]], assigner: WindowAssigner[Any, Any]
) -> None:
    all_results, no_letters = run(assigner, trigger(), fails_for=0)
    assert no_letters == []
    assert 3 in all_results
    results, letters = run(assigner, trigger(), fails_for=3)
    assert (results, letters) == ([n for n in all_results if n != 3], ["3"] * all_results.count(3))


class BrokenTrigger(ContinuousEventTimeTrigger):
    """Fails for one timer."""

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        if time == 30:
            raise ValueError("thirty")
        return super().on_event_time(time, window, ctx)


def test_a_trigger_that_fails_is_reported_once() -> None:
    results, letters = run(TUMBLING, BrokenTrigger(10), fails_for=0)
    assert letters == ["thirty"]
    assert results[-1] == 10, "the window fires at its end"
