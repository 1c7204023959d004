"""Columnar windows behave like the window operator: results, order, timestamps and late records, also after a restore."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.functions.named_aggregates import NamedAggregates, avg_of, count, max_of, min_of, sum_of
from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EarlyFiringTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.example_numbers import examples
from tests.unit.runtime.columnar.jobs import Job, Mark, SessionDetails, Step, at

ASSIGNERS = [
    TumblingEventTimeWindows.of(10),
    TumblingEventTimeWindows.of(7, -3),
    SlidingEventTimeWindows.of(10, 5),
    SlidingEventTimeWindows.of(9, 6, 2),
    SlidingEventTimeWindows.of(5, 5),
    SlidingEventTimeWindows.of(12, 1),
]
AGGREGATES = [
    count(),
    sum_of("value"),
    min_of("value"),
    max_of(1),
    avg_of(lambda e: e.value),
    NamedAggregates(n=count(), total=sum_of("value"), least=min_of("other"), mean=avg_of("value")),
]

events = st.builds(
    at, st.sampled_from("abc"), st.integers(-15, 40), st.integers(-3, 9), st.sampled_from([0.5, -2.25, 8.0])
)
marks = st.builds(Mark, st.integers(-10, 60))


def scripts(item: Any) -> Any:
    """Batches of two splits with a non-decreasing clock, and the end of the input."""
    step = st.tuples(st.lists(item, max_size=8), st.lists(item, max_size=5), st.integers(0, 12))

    def make_steps(batches: list[Any]) -> list[Step]:
        clock, steps = 0, []
        for first, second, pace in batches:
            clock += pace
            steps.append(Step({"s0": first, "s1": second}, clock=clock))
        return [*steps, Step(clock=clock + 5, end=True)]

    return st.lists(step, min_size=1, max_size=6).map(make_steps)


@settings(max_examples=examples(30), deadline=None)
@given(
    assigner=st.sampled_from(ASSIGNERS),
    aggregate=st.sampled_from(AGGREGATES),
    steps=scripts(events),
    purging=st.booleans(),
    delay=st.sampled_from([0, 2, 9]),
    groups=st.sampled_from([1, 2, 5]),
    restore=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 3]))),
)
def test_windows_on_a_grid(
    assigner: Any, aggregate: Any, steps: Any, purging: bool, delay: int, groups: int, restore: Any
) -> None:
    trigger = PurgingTrigger.of(EventTimeTrigger.create()) if purging else None
    job = Job(assigner, aggregate, steps, trigger=trigger, delay=delay)
    restores = {} if restore is None else dict([restore])
    columnar = job.run(True, groups, restores)
    assert columnar.comparable() == job.run(False).comparable()
    assert columnar.state_entries == 0


@settings(max_examples=examples(20), deadline=None)
@given(assigner=st.sampled_from(ASSIGNERS), steps=scripts(st.one_of(events, marks)), groups=st.sampled_from([1, 3]))
def test_explicit_watermarks_of_one_split(assigner: Any, steps: Any, groups: int) -> None:
    for step in steps:
        step.splits.pop("s1", None)
    job = Job(assigner, sum_of("value"), steps, delay=None, known=("s0",))
    assert job.run(True, groups).comparable() == job.run(False).comparable()


@settings(max_examples=examples(40), deadline=None)
@given(
    gap=st.sampled_from([1, 3, 6]),
    aggregate=st.sampled_from(AGGREGATES),
    steps=scripts(events),
    delay=st.sampled_from([0, 2, 9, 30]),
    groups=st.sampled_from([1, 2, 5]),
    restore=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 3]))),
)
def test_sessions(gap: int, aggregate: Any, steps: Any, delay: int, groups: int, restore: Any) -> None:
    assigner = EventTimeSessionWindows.with_gap(gap)
    job = Job(assigner, aggregate, steps, delay=delay, function=SessionDetails())
    restores = {} if restore is None else dict([restore])
    columnar, elementwise = job.run(True, groups, restores), job.run(False)
    assert columnar.comparable() == elementwise.comparable()
    assert columnar.state_entries <= elementwise.state_entries


@pytest.mark.parametrize("trigger", [ContinuousEventTimeTrigger, EarlyFiringTrigger])
@settings(max_examples=examples(40), deadline=None)
@given(
    assigner=st.sampled_from([TumblingEventTimeWindows.of(10), TumblingEventTimeWindows.of(12, 5)]),
    interval=st.sampled_from([2, 3, 5, 10, 25]),
    aggregate=st.sampled_from(AGGREGATES),
    steps=scripts(events),
    delay=st.sampled_from([0, 2, 9, 50]),
    groups=st.sampled_from([1, 2, 5]),
    restore=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 3]))),
)
def test_early_and_final_results(
    trigger: Any, assigner: Any, interval: int, aggregate: Any, steps: Any, delay: int, groups: int, restore: Any
) -> None:
    job = Job(assigner, aggregate, steps, trigger=trigger.of(interval), delay=delay)
    restores = {} if restore is None else dict([restore])
    columnar = job.run(True, groups, restores)
    assert columnar.comparable() == job.run(False).comparable()
    assert columnar.state_entries == 0


@settings(max_examples=examples(25), deadline=None)
@given(
    assigner=st.sampled_from([TumblingProcessingTimeWindows.of(10), TumblingProcessingTimeWindows.of(4, 3)]),
    aggregate=st.sampled_from(AGGREGATES),
    steps=scripts(events),
    groups=st.sampled_from([1, 2, 5]),
    restore=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 3]))),
)
def test_processing_time_windows(assigner: Any, aggregate: Any, steps: Any, groups: int, restore: Any) -> None:
    job = Job(assigner, aggregate, steps)
    restores = {} if restore is None else dict([restore])
    columnar, elementwise = job.run(True, groups, restores), job.run(False)
    assert columnar.comparable() == elementwise.comparable()
    assert columnar.state_entries <= elementwise.state_entries


@settings(max_examples=examples(40), deadline=None)
@given(
    assigner=st.sampled_from([TumblingEventTimeWindows.of(5), TumblingEventTimeWindows.of(12, 5)]),
    lateness=st.sampled_from([0, 1, 4, 20]),
    late_output=st.booleans(),
    aggregate=st.sampled_from(AGGREGATES),
    steps=scripts(events),
    delay=st.sampled_from([0, 2, 9]),
    groups=st.sampled_from([1, 2, 5]),
    restore=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 3]))),
)
def test_late_elements(
    assigner: Any,
    lateness: int,
    late_output: bool,
    aggregate: Any,
    steps: Any,
    delay: int,
    groups: int,
    restore: Any,
) -> None:
    job = Job(assigner, aggregate, steps, delay=delay, lateness=lateness, late_output=late_output)
    restores = {} if restore is None else dict([restore])
    columnar, elementwise = job.run(True, groups, restores), job.run(False)
    assert columnar.comparable() == elementwise.comparable()
    assert columnar.state_entries <= elementwise.state_entries


@settings(max_examples=examples(40), deadline=None)
@given(
    assigner=st.sampled_from(
        [
            TumblingEventTimeWindows.of(10),
            TumblingEventTimeWindows.of(12, 5),
            TumblingProcessingTimeWindows.of(10),
            TumblingProcessingTimeWindows.of(4, 3),
        ]
    ),
    interval=st.sampled_from([2, 3, 5, 10, 25]),
    aggregate=st.sampled_from(AGGREGATES),
    steps=scripts(events),
    delay=st.sampled_from([0, 2, 9, 50]),
    groups=st.sampled_from([1, 2, 5]),
    restore=st.one_of(st.none(), st.tuples(st.integers(0, 5), st.sampled_from([1, 2, 3]))),
)
@example(  # processing time is already at the end of the window when its first element arrives
    assigner=TumblingEventTimeWindows.of(10),
    interval=2,
    aggregate=AGGREGATES[0],
    steps=[Step({"s0": [at("a", 0, 0, 0.5)]}, clock=9), Step({}, clock=14, end=True)],
    delay=0,
    groups=1,
    restore=None,
)
def test_early_results_in_processing_time(
    assigner: Any, interval: int, aggregate: Any, steps: Any, delay: int, groups: int, restore: Any
) -> None:
    job = Job(assigner, aggregate, steps, trigger=ContinuousProcessingTimeTrigger.of(interval), delay=delay)
    restores = {} if restore is None else dict([restore])
    columnar, elementwise = job.run(True, groups, restores), job.run(False)
    assert columnar.comparable() == elementwise.comparable()
    assert columnar.state_entries <= elementwise.state_entries


def test_early_firing_always_emits_a_final_result() -> None:
    """The elements of the last batch have no further early firing."""
    steps = [
        Step({"s0": [at("a", 1), at("a", 3)]}, clock=1000),
        Step({"s0": [at("a", 5)]}, clock=1004),
        Step({"s0": [at("a", 6)]}, clock=1005, end=True),
    ]
    for columnar in (True, False):
        outcome = Job(TumblingEventTimeWindows.of(10), count(), steps, trigger=EarlyFiringTrigger.of(4)).run(columnar)
        results = [[value[:4] for value, _ in batch] for batch in outcome.outputs]
        assert results == [[], [("a", 0, 10, 2)], [("a", 0, 10, 4)]]
        lost = Job(TumblingEventTimeWindows.of(10), count(), steps, trigger=ContinuousProcessingTimeTrigger.of(4))
        assert [[value[3] for value, _ in batch] for batch in lost.run(columnar).outputs] == [[], [2], []], (
            "as in Flink"
        )


@pytest.mark.parametrize("columnar", [True, False])
@pytest.mark.parametrize(
    ("assigner", "trigger", "results"),
    [
        (TumblingEventTimeWindows.of(86_400_000), EarlyFiringTrigger, [1, 10, 10]),
        (TumblingEventTimeWindows.of(86_400_000), ContinuousProcessingTimeTrigger, [1, 10, 0]),
        (TumblingProcessingTimeWindows.of(86_400_000), ContinuousProcessingTimeTrigger, [1, 10, 0]),
        (TumblingProcessingTimeWindows.of(60_000), ContinuousProcessingTimeTrigger, [1, 10, 0]),
    ],
)
def test_intervals_that_passed_while_the_job_was_down_are_one_firing(
    assigner: Any, trigger: Any, results: list[int], columnar: bool
) -> None:
    """Ten keys, one firing per second, one hour without a batch."""
    hour = 3600_000
    steps = [
        Step({"s0": [at("a", 1)]}, clock=500),
        Step({"s0": [at(key, 2) for key in "bcdefghij"]}, clock=1000),
        Step(clock=hour + 500),
        Step(clock=hour + 900),
        Step(clock=hour + 901, end=True),
    ]
    outcome = Job(assigner, count(), steps, trigger=trigger.of(1000)).run(columnar)
    counts = [len(batch) for batch in outcome.outputs]
    assert counts == [0, results[0], results[1], 0, results[2]]


@pytest.mark.parametrize("columnar", [True, False])
def test_the_next_early_result_after_a_pause_is_at_the_next_interval(columnar: bool) -> None:
    steps = [Step({"s0": [at("a", 1)]}, clock=500)]
    steps += [Step(clock=clock) for clock in (3600_500, 3600_999, 3601_000)]
    steps += [Step(clock=3601_001, end=True)]
    outcome = Job(TumblingEventTimeWindows.of(10), count(), steps, trigger=EarlyFiringTrigger.of(1000)).run(columnar)
    assert [len(batch) for batch in outcome.outputs] == [0, 1, 0, 1, 1]


@pytest.mark.parametrize("columnar", [True, False])
def test_an_element_in_the_last_millisecond_of_a_processing_time_window_is_emitted(columnar: bool) -> None:
    """The first interval after it is already in the next window."""
    steps = [Step({"s0": [at("a", 1)]}, clock=9), Step(clock=14), Step(clock=15, end=True)]
    trigger = ContinuousProcessingTimeTrigger.of(3)
    outcome = Job(TumblingProcessingTimeWindows.of(10), count(), steps, trigger=trigger).run(columnar)
    assert [[value[:4] for value, _ in batch] for batch in outcome.outputs] == [[], [("a", 0, 10, 1)], []]
